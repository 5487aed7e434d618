"""The published mean scores and tests, corrected and first analysis."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("published")
