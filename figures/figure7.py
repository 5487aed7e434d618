"""Figure 7: campaigns of up to four methods on the first site."""

from slowlab.report.paper_item import figure_script

if __name__ == "__main__":
    figure_script("figure7")
