"""The published primary tests within weather years."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("published_by_year")
