"""Scores between the policy without experiments and the best one known."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("anchored")
