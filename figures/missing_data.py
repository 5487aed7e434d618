"""Tests under both rules for missing repeats."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("missing_data")
