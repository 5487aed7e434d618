"""Table 4: the example campaign step by step, with the reasons that were given."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("table4")
