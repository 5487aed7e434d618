"""Figure 4: full less endpoint feedback, one row a method."""

from slowlab.report.paper_item import figure_script

if __name__ == "__main__":
    figure_script("figure4")
