"""Second look: the study among differences that its model draws."""

from slowlab.report.second_look_item import second_look_figure_script

if __name__ == "__main__":
    second_look_figure_script("second_look_checks")
