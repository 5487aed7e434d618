"""Let one reader read all packets of a shard of sites."""

from pathlib import Path

from slowlab.agents.books import Caps
from slowlab.plan.inputs import parse_reader, parse_setting
from slowlab.prereg.job import locked_job
from slowlab.stages.materials import Materials
from slowlab.stages.model_readings import read_with_model
from slowlab.stages.readers import read_packets

parameters = snakemake.params
materials, entry = Materials.load(parse_setting(parameters.setting)), parse_reader(parameters.entry)
source, target = Path(snakemake.input[0]), Path(snakemake.output[0])
with locked_job(snakemake.input, snakemake.output):
    if entry.model is None:
        read_packets(materials, entry, source, target)
    else:
        read_with_model(
            materials,
            entry,
            source,
            target,
            transcripts=Path(parameters.transcripts) / "readings" / entry.name,
            purse=Path(parameters.purse),
            spending=Caps.model_validate_json(snakemake.resources.spending),
        )
