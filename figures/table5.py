"""Table 5: the environment and the basis of its ranges."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("table5")
