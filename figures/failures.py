"""Failure classes of campaigns, with the evidence of the first of each."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("failures")
