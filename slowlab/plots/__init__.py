"""Drawing: one style for all figures, and the figures themselves."""
