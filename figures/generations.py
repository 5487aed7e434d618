"""Language models less their predecessors."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("generations")
