"""The report of a study as one page."""
