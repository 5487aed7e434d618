"""What k attempts on a site are worth."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("attempts")
