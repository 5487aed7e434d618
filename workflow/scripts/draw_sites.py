"""Draw the sites of a study and write what is public about them."""

from pathlib import Path

from slowlab.plan.inputs import parse_setting
from slowlab.prereg.job import locked_job
from slowlab.stages.materials import Materials
from slowlab.stages.sites import draw_sites

materials = Materials.load(parse_setting(snakemake.params.setting))
with locked_job(snakemake.input, snakemake.output):
    draw_sites(materials, list(snakemake.params.sites), Path(snakemake.output[0]))
