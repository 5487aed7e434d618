"""Primary tests with a linear mixed model."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("mixed_model")
