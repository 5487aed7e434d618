"""Print the gates of a rehearsal, and fail where one is missed; the rehearsal is kept."""

from slowlab.analysis.rehearsal_file import read_rehearsal, require_gates
from slowlab.prereg.job import locked_job

with locked_job(snakemake.input, snakemake.output):
    print("\n".join(require_gates(read_rehearsal(snakemake.input.rehearsal))))
