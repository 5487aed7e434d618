"""Packets of finished campaigns, and readers that recommend a policy from somebody's packet."""
