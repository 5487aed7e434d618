"""How much repeats differ, and where the spread lies."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("stability")
