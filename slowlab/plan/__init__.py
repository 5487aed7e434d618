"""From a study's configuration to its work items, shards and paths; nothing is run here."""
