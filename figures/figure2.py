"""Figure 2: what happens in every campaign, step by step."""

from slowlab.report.paper_item import figure_script

if __name__ == "__main__":
    figure_script("figure2")
