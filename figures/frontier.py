"""Cost and score of all methods."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("frontier")
