"""The world of a campaign: contract, policies, sites, sensors, economics and the public task."""
