"""Figure 5: gains of readers over the methods that collected the evidence."""

from slowlab.report.paper_item import figure_script

if __name__ == "__main__":
    figure_script("figure5")
