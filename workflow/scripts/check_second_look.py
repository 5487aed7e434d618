"""Write the gates of the second look, and fail where one is missed; everything else is kept."""

from slowlab.analysis.second_look_file import read_second_look, require_gates
from slowlab.io import atomic_write_text
from slowlab.prereg.job import locked_job

with locked_job([snakemake.input.look], snakemake.output):
    lines = require_gates(read_second_look(snakemake.input.look))
    atomic_write_text(snakemake.output[0], "\n".join(lines) + "\n")
