"""Write the gates of a rehearsal, and fail where one is missed; the rehearsal itself is kept."""

from slowlab.analysis.rehearsal_file import read_rehearsal, require_gates
from slowlab.io import atomic_write_text
from slowlab.prereg.job import locked_job

with locked_job(snakemake.input, snakemake.output):
    lines = require_gates(read_rehearsal(snakemake.input.rehearsal))
    atomic_write_text(snakemake.output[0], "\n".join(lines) + "\n")
