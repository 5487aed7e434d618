"""Sample the Bayesian second look of a finished study; its gates are checked elsewhere."""

from pathlib import Path

from slowlab.analysis.second_look_file import write_draws, write_second_look
from slowlab.prereg.declaration import load_declaration
from slowlab.prereg.job import locked_job
from slowlab.report.second_look import second_look_of

made = snakemake.output
with locked_job(snakemake.input, made) as lock:
    declaration = load_declaration(Path(snakemake.input.declaration).parents[1])
    look, tree = second_look_of(Path(snakemake.input.numbers), declaration, lock)
    write_draws(made.draws, tree)
    write_second_look(made.look, look)
