"""Second look: posterior intervals beside the confirmatory ones."""

from slowlab.report.second_look_item import second_look_figure_script

if __name__ == "__main__":
    second_look_figure_script("second_look")
