"""Campaigns: the executor, its views and history, and the record of what happened."""
