"""Write the gates of the second look, and fail where one is missed; everything else is kept."""

from pathlib import Path

from slowlab.analysis.second_look_file import missed_gates, read_second_look, require_gates
from slowlab.io import atomic_write_text
from slowlab.prereg.job import locked_job

with locked_job([snakemake.input.look], snakemake.output):
    look = read_second_look(snakemake.input.look)
    if missed_gates(look):
        for path in map(Path, snakemake.params.shown):  # of an earlier run whose gates held
            path.unlink(missing_ok=True)
    atomic_write_text(snakemake.output[0], "\n".join(require_gates(look)) + "\n")
