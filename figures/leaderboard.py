"""Leaderboard: mean score of all attempts, and the best of k beside it."""

from slowlab.report.paper_item import table_script

if __name__ == "__main__":
    table_script("leaderboard")
