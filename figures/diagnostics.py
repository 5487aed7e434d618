"""What campaigns did with what they could see."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("diagnostics")
