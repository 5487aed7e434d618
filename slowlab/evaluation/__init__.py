"""Private scores of recommendations, best-known policies, and what experiments are worth."""
