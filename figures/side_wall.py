"""Scores with other side walls, and whether the order of methods depends on them."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("side_wall")
