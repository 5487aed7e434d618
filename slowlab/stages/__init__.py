"""The stages of a study, one module each: what the scripts of the workflow call."""
