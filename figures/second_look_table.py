"""Second look: posterior means, intervals and probabilities of the first family."""

from slowlab.report.second_look_item import second_look_table_script

if __name__ == "__main__":
    second_look_table_script()
