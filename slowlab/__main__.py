"""``python -m slowlab``: the command line."""

from slowlab.cli import app

app()
