"""Figure 3: less the baseline, gain over the reference, heat and light."""

from slowlab.report.paper_item import figure_script

if __name__ == "__main__":
    figure_script("figure3")
