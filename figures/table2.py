"""Table 2: mean scores by method and feedback, published ones beside them."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("table2")
