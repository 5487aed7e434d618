"""Draw and tabulate a rehearsal."""

from pathlib import Path

from slowlab.analysis.rehearsal_file import markdown_document, read_rehearsal, sites_table
from slowlab.analysis.study_tables import csv_text
from slowlab.io import atomic_write_text
from slowlab.plots.rehearsal_plot import write_rehearsal_figure
from slowlab.prereg.job import locked_job

made = snakemake.output
with locked_job(snakemake.input, snakemake.output):
    rehearsal = read_rehearsal(snakemake.input.rehearsal)
    write_rehearsal_figure(rehearsal, [Path(made.svg), Path(made.png)])
    atomic_write_text(made.markdown, markdown_document(rehearsal))
    atomic_write_text(made.csv, csv_text(sites_table(rehearsal)))
