"""How campaigns used time and evidence, and how that goes with their gain."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("conduct")
