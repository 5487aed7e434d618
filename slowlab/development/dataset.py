"""Development runs as two tables: one row a crop, and one row for each age at which it is seen.

Readings are taken from histories by :mod:`slowlab.tools.process_features`, the code that a deployed
prediction uses too.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from slowlab.campaign.history import History, SeenCrop
from slowlab.development.collect import read_runs
from slowlab.io import atomic_write_bytes
from slowlab.tools.errors import ToolError
from slowlab.tools.predictor import margin_of
from slowlab.tools.process_features import TOTALS, CropReadings, UnitSeries, crop_readings
from slowlab.world.policy import POLICY_FIELDS, EncodedPolicies, Policy, decode

Array = NDArray[np.float64]

COMPLETED = "completed"
_TOTAL_COLUMNS = {name: f"final_{name}" for name in TOTALS}
_SO_FAR_COLUMNS = {name: f"so_far_{name}" for name in TOTALS}


@dataclass(frozen=True)
class ProcessData:
    """Crops and what was read of them.

    Attributes:
        crops: one row each: ``site``, ``run``, ``layout``, ``unit``, ``run_index``, ``start_day``,
            the policy fields, ``completed``, ``margin_eur_m2``, ``final_*`` and what a unit of
            every total is worth, ``worth_*``, with ``worth_nothing`` for the fixed part.
        examples: one row for each crop and age: ``crop`` (row of ``crops``), ``age`` as asked for,
            ``age_days``, ``canopy``, ``so_far_*``.
    """

    crops: pd.DataFrame
    examples: pd.DataFrame

    def policies(self, rows: Sequence[int] | Array) -> list[Policy]:
        """Policies of some crops."""
        values = self.crops.loc[rows, list(POLICY_FIELDS)].to_numpy(np.float64)
        return decode(EncodedPolicies(POLICY_FIELDS, values))

    def readings(self, rows: Sequence[int] | Array) -> list[CropReadings]:
        """Readings of some examples."""
        wanted = self.examples.loc[rows]
        columns = [wanted[_SO_FAR_COLUMNS[name]].tolist() for name in TOTALS]
        totals = [dict(zip(TOTALS, row, strict=True)) for row in zip(*columns, strict=True)]
        ages, canopies = wanted["age_days"].tolist(), wanted["canopy"].tolist()
        return [CropReadings(*row) for row in zip(ages, canopies, totals, strict=True)]

    def finals(self, crops: Sequence[int] | Array) -> Array:
        """Final totals, ``[n, 4]``."""
        return self.crops.loc[crops, list(_TOTAL_COLUMNS.values())].to_numpy(np.float64)

    def margins_of(self, crops: Sequence[int] | Array, totals: Array) -> Array:
        """Margins that crops would have with other totals, at their own prices, ``[n]``."""
        rows = self.crops.loc[crops]
        worth = rows[[f"worth_{name}" for name in TOTALS]].to_numpy(np.float64)
        return rows["worth_nothing"].to_numpy(np.float64) + (worth * totals).sum(axis=1)

    def select(self, keep: NDArray[np.bool_]) -> ProcessData:
        """Some of the crops and their examples; row numbers stay."""
        crops = self.crops[keep]
        return ProcessData(crops, self.examples[self.examples["crop"].isin(crops.index)])


def read_process_data(paths: Iterable[str | Path], ages: Sequence[int]) -> ProcessData:
    """The tables of run files.

    Args:
        paths: files of :func:`slowlab.development.collect.write_runs`.
        ages: whole days after planting at which crops are seen.

    Raises:
        CollectError: a file of another format.
    """
    return history_data((item for path in paths for item in read_runs(path)), ages)


def history_data(
    runs: Iterable[tuple[Mapping[str, Any], History]], ages: Sequence[int]
) -> ProcessData:
    """The tables of runs: what is known of each (``site``, ``run``, ``layout``) and its history."""
    crops: list[dict[str, Any]] = []
    examples: list[dict[str, Any]] = []
    for record, history in runs:
        for crop, rows in _crops_of(record, history, ages):
            examples += [{"crop": len(crops), **row} for row in rows]
            crops.append(crop)
    return ProcessData(pd.DataFrame(crops), pd.DataFrame(examples))


def age_grid(min_age: int, crop_days: int, step: int) -> list[int]:
    """Ages at which crops are seen, d."""
    return list(range(min_age, crop_days, step))


def _crops_of(
    record: Mapping[str, Any], history: History, ages: Sequence[int]
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Closed crops of a run, each with its examples."""
    units = {crop.unit: UnitSeries(history, crop.unit) for crop in history.crops()}
    for crop in history.crops():
        if crop.totals is None:
            continue
        yield _crop_row(record, history, crop), _examples(units[crop.unit], crop, ages)


def _crop_row(record: Mapping[str, Any], history: History, crop: SeenCrop) -> dict[str, Any]:
    totals = crop.totals
    assert totals is not None
    finals = (totals.harvest_kg_m2, totals.heat_kwh_m2, totals.light_kwh_m2, totals.co2_kg_m2)
    prices, days = history.task["prices"], history.task["calendar"]["crop_days"]
    nothing = margin_of(dict.fromkeys(TOTALS, 0.0), prices, days)
    worth = {
        f"worth_{name}": margin_of({**dict.fromkeys(TOTALS, 0.0), name: 1.0}, prices, days)
        - nothing
        for name in TOTALS
    }
    return {
        "site": record["site"],
        "run": record["run"],
        "layout": record["layout"],
        "unit": crop.unit,
        "run_index": crop.run_index,
        "start_day": crop.start_day,
        **{name: getattr(crop.policy, name) for name in POLICY_FIELDS},
        "completed": crop.reason == COMPLETED,
        "margin_eur_m2": totals.margin_eur_m2,
        **dict(zip(_TOTAL_COLUMNS.values(), finals, strict=True)),
        **worth,
        "worth_nothing": nothing,
    }


def _examples(series: UnitSeries, crop: SeenCrop, ages: Sequence[int]) -> list[dict[str, Any]]:
    """Readings of one crop at every age; an age without readings is left out."""
    rows = []
    for age in ages if crop.reason == COMPLETED else ():
        try:
            found = crop_readings(series, crop.start_day, before_day=crop.start_day + age)
        except ToolError:
            continue
        if found.feature_set == "all":
            so_far = {_SO_FAR_COLUMNS[name]: found.so_far[name] for name in TOTALS}
            rows.append({"age": age, "age_days": found.age_days, "canopy": found.canopy, **so_far})
    return rows


def write_table(path: str | Path, table: pd.DataFrame) -> Path:
    """Write a table as Parquet in one step."""
    buffer = io.BytesIO()
    table.to_parquet(buffer)
    return atomic_write_bytes(path, buffer.getvalue())


def load_process_data(folder: str | Path) -> ProcessData:
    """The tables ``crops.parquet`` and ``examples.parquet`` of a folder."""
    folder = Path(folder)
    return ProcessData(
        pd.read_parquet(folder / "crops.parquet"), pd.read_parquet(folder / "examples.parquet")
    )
