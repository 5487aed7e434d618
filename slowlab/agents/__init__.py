"""Language models as methods: client, prompts, harness, firewall, transcripts and stand-ins."""
