"""Tests that differ under the other rule for repeats."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("sensitivity_repeats")
