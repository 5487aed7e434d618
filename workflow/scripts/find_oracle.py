"""Search for the best policy of the sites of a shard."""

import json
from pathlib import Path

from slowlab.config import validate_config
from slowlab.plan.inputs import parse_setting
from slowlab.plan.known_best import OracleSearch
from slowlab.prereg.job import locked_job
from slowlab.stages.materials import Materials
from slowlab.stages.oracle import find_oracle

parameters = snakemake.params
setting = parse_setting(parameters.setting)
with locked_job(snakemake.input, snakemake.output):
    find_oracle(
        Materials.load(setting),
        search=validate_config(json.loads(parameters.search), OracleSearch, "oracle.search"),
        sites=parameters.sites,
        again=parameters.again,
        files=[Path(path) for path in snakemake.input.recommendations],
        runs=Path(parameters.runs),
        target=Path(snakemake.output[0]),
    )
