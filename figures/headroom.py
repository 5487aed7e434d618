"""Headroom: the best policy known, and what each method reaches of it."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("headroom")
