"""Preregistration: what is declared and locked before the confirmatory scores exist."""
