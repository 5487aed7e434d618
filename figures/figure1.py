"""Figure 1: the example campaign, and every method less the baseline."""

from slowlab.report.paper_item import figure_script

if __name__ == "__main__":
    figure_script("figure1")
