"""Figure 6: how a language model is asked, checked and recorded, with counts of the study."""

from slowlab.report.paper_item import figure_script

if __name__ == "__main__":
    figure_script("figure6")
