"""What is written of a simulation: a summary with its provenance, and the table as Parquet."""

from __future__ import annotations

import io
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from slowlab import __version__
from slowlab.canonical import canonical_sha256
from slowlab.config import config_sha256
from slowlab.greenlight.lanes import DEFAULT_PARAMETERS
from slowlab.world.compiled import default_parameters
from slowlab.world.drafts import draft_mark
from slowlab.world.economics import CropStatement, LedgerTotals
from slowlab.world.policy import policy_sha256
from slowlab.world.simulation import CropRecord, Simulation
from slowlab.world.simulation_table import COLUMNS

_FORMAT = 1


def summarise(simulation: Simulation) -> dict[str, Any]:
    """Everything about a run but its table, as plain data for JSON.

    It holds no time, no path and no name of a machine, so the same run gives the same bytes.
    """
    pairs = zip(simulation.crops, simulation.standby, strict=True)
    return {
        "format": _FORMAT,
        "mode": simulation.mode,
        "draft": bool(draft_mark(simulation.simulator.contract, simulation.simulator.sensors)),
        "mean_margin_eur_m2": simulation.mean_margin,
        "crops": [_crop(crop, standby) for crop, standby in pairs],
        "simulated_days": simulation.days,
        "notes": list(simulation.notes),
        "inputs": describe_inputs(simulation),
        "provenance": _provenance(simulation),
        "columns": {
            name: {"unit": unit, "meaning": meaning} for name, (unit, meaning) in COLUMNS.items()
        },
    }


def describe_inputs(simulation: Simulation) -> dict[str, Any]:
    """Everything that was chosen for the run."""
    contract, options = simulation.simulator.contract, simulation.options
    stepper = simulation.simulator.stepper
    given = DEFAULT_PARAMETERS | default_parameters(contract) | dict(options.parameters)
    return {
        "policy": simulation.policy.model_dump(),
        "weather": {
            "source": simulation.weather.source,
            "sha256": simulation.weather.sha256,
            "start": simulation.weather.start,
            "days": simulation.weather.n_days,
        },
        "plantings": [item.model_dump(mode="json") for item in simulation.plantings],
        "parameters": {name: np.asarray(value).tolist() for name, value in given.items()},
        "noise_seed": options.noise_seed,
        "collapse_rule": options.collapse or contract.collapse.rule.value,
        "prices": (options.prices or contract.economics.default_prices).model_dump(),
        "precision": stepper.precision,
        "substeps": stepper.settings.scheme.substeps,
    }


def run_sha256(simulation: Simulation) -> str:
    """Identity of a run: all that was chosen, with contract and sensors, but not the code."""
    contract, sensors = simulation.simulator.contract, simulation.simulator.sensors
    identity = [simulation.mode, config_sha256(contract), config_sha256(sensors)]
    return canonical_sha256([*identity, describe_inputs(simulation)])


def parquet_bytes(table: pd.DataFrame) -> bytes:
    """The table as a Parquet file; every column carries its unit and meaning."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = pa.Table.from_pandas(table, preserve_index=False)
    fields = [
        field.with_metadata({"unit": COLUMNS[field.name][0], "meaning": COLUMNS[field.name][1]})
        for field in arrow.schema
    ]
    arrow = arrow.cast(pa.schema(fields, arrow.schema.metadata))
    numbers = [name for name in table if table[name].dtype.kind == "f"]
    others = [name for name in table if table[name].dtype.kind != "f"]
    buffer = io.BytesIO()
    pq.write_table(
        arrow,
        buffer,
        compression="zstd",
        use_dictionary=others,
        use_byte_stream_split=numbers,
    )
    return buffer.getvalue()


def _crop(crop: CropRecord, standby: LedgerTotals) -> dict[str, Any]:
    return {
        "compartment": crop.compartment,
        "planted_day": crop.planted_day,
        "ended_day": crop.ended_day,
        "ending": crop.ending.value,
        "lit_pole_ticks": crop.lit_pole_ticks,
        "totals": asdict(crop.totals),
        "account_eur_m2": _account(crop.statement),
        "standby_totals": asdict(standby),
    }


def _account(statement: CropStatement) -> dict[str, float]:
    return {**asdict(statement), "costs": statement.costs, "margin": statement.margin}


def _provenance(simulation: Simulation) -> dict[str, Any]:
    """Where everything came from."""
    contract, sensors = simulation.simulator.contract, simulation.simulator.sensors
    return {
        "run_sha256": run_sha256(simulation),
        "slowlab_version": __version__,
        "contract": {"id": contract.id, "sha256": config_sha256(contract)},
        "sensors": {"id": sensors.id, "sha256": config_sha256(sensors)},
        "policy_sha256": policy_sha256(simulation.policy, contract.id),
        "weather": dict(simulation.weather.provenance),
        "build": dict(simulation.simulator.stepper.build),
    }
