"""Scores and differences by scoring year."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("by_year")
