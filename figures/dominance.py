"""Which method beats which other one, and how often."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("dominance")
