"""Heat, light, CO2 and harvest per crop in scoring runs."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("resources")
