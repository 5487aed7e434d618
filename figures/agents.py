"""What the campaigns of language models used, and how they went."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("agents")
