"""Write a readable page for every transcript of the study."""

from pathlib import Path

from slowlab.agents.page import write_pages
from slowlab.prereg.job import locked_job

folder = Path(snakemake.params.transcripts)
files = sorted(folder.rglob("*.transcript.jsonl"))
with locked_job(snakemake.input, snakemake.output):
    write_pages([path for path in files if ".initial." not in path.name], Path(snakemake.output[0]))
