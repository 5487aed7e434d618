"""Table 1: related benchmarks as the paper compares them, and this study beside them."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("table1")
