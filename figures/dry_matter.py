"""Primary tests under other dry-matter fractions of the fruit."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("dry_matter")
