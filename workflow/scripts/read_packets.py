"""Let one reader read all packets of a shard of sites."""

from pathlib import Path

from slowlab.plan.inputs import parse_setting
from slowlab.stages.materials import Materials
from slowlab.stages.readers import read_packets

materials = Materials.load(parse_setting(snakemake.params.setting))
source, target = Path(snakemake.input[0]), Path(snakemake.output[0])
read_packets(materials, snakemake.wildcards.reader, source, target)
