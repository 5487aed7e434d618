"""Everything that a study's tables hold of one planned campaign, in one place."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from slowlab.analysis.measure_spec import MeasureSpec
from slowlab.analysis.paired import Cell, site_means
from slowlab.analysis.scores import CellKey
from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_inputs import AnalysisInputs
from slowlab.world.contract import Contract

type Name = tuple[int, str, str, int]
"""Site, method, feedback and repeat."""

KEY = ["site", "method", "feedback", "repeat"]


@dataclass(frozen=True, eq=False)
class CampaignFacts:
    """One planned campaign.

    Attributes:
        name: which one.
        campaign: its row among the campaigns; None where there is none.
        agent: its row among those of language models; None for a numerical method.
        crops: its crops, by planting day, compartment and number.
        reads: its reads, in their order.
        steps: its steps, in their order; empty where they were not kept.
        score: score of its recommendation, EUR/m2; None where it is missing.
        missing: why it is; empty where it is not.
        gain: score over that of the policy without experiments on the site; None without both.
        wave_tolerance_days: crops planted this close together belong together.
        most_share: from this share on, wasted answers or idle compartments explain a failure.
    """

    name: Name
    campaign: Mapping[str, Any] | None
    agent: Mapping[str, Any] | None
    crops: pd.DataFrame
    reads: pd.DataFrame
    steps: pd.DataFrame
    score: float | None
    missing: str
    gain: float | None
    wave_tolerance_days: float = MeasureSpec().wave_tolerance_days
    most_share: float = MeasureSpec().most_share

    def count(self, column: str) -> int:
        """A count from the campaign's row, or that of its language model; 0 without the row."""
        for row in (self.campaign, self.agent):
            if row is not None and column in row:
                return int(row[column])
        return 0

    def word(self, column: str) -> str:
        """A word from the campaign's row; empty without the row."""
        return "" if self.campaign is None else str(self.campaign[column])


def campaign_facts(
    inputs: AnalysisInputs, cells: Mapping[CellKey, Cell]
) -> dict[Name, CampaignFacts]:
    """All planned campaigns of a study by name, in its order of methods, conditions and sites."""
    study = inputs.study
    tables = _Tables(inputs)
    reference = _reference(inputs, cells)
    planned = (
        (site, item.name, mode, repeat)
        for item, mode in itertools.product(study.experimenting, study.feedback)
        for site, repeat in itertools.product(study.sites, range(study.repeats))
    )
    return {name: _facts(name, tables, cells[name[1], name[2]], reference) for name in planned}


def idle_days(facts: CampaignFacts, contract: Contract) -> float:
    """Days on which compartments neither held a crop nor were cleaned after one, summed."""
    calendar = contract.calendar
    end = float(calendar.campaign_days)
    starts, ends = (facts.crops[name].to_numpy(np.float64) for name in ("start_day", "end_day"))
    busy = np.minimum(ends + calendar.cleanup_days, end) - starts
    return contract.facility.compartments * end - float(busy.sum())


def idle_share(facts: CampaignFacts, contract: Contract) -> float:
    """Idle days as a share of all days of all compartments."""
    whole = contract.facility.compartments * contract.calendar.campaign_days
    return idle_days(facts, contract) / whole


class _Tables:
    """The tables by campaign, each in an order that does not depend on that of its rows."""

    def __init__(self, inputs: AnalysisInputs) -> None:
        self.measures = spec_of(inputs).measures
        self.campaigns = _rows(inputs.campaigns)
        self.agents = {} if inputs.agents is None else _rows(inputs.agents)
        self.crops = _Parts(inputs.crops, ["start_day", "unit", "run_index"])
        self.reads = _Parts(inputs.reads, ["exchange"])
        steps = pd.DataFrame(columns=KEY) if inputs.steps is None else inputs.steps
        self.steps = _Parts(steps, ["sequence"] if len(steps) else [])


class _Parts:
    """Rows of a table by campaign."""

    def __init__(self, table: pd.DataFrame, order: list[str]) -> None:
        self._none = table.iloc[:0]
        ordered = table.sort_values([*KEY, *order]) if len(table) else table
        self._parts = dict(iter(ordered.groupby(KEY, sort=True))) if len(table) else {}

    def __getitem__(self, name: Name) -> pd.DataFrame:
        return self._parts.get(name, self._none)


def _rows(table: pd.DataFrame) -> dict[Name, Mapping[str, Any]]:
    return {tuple(row[key] for key in KEY): row for row in table.to_dict("records")}


def _reference(inputs: AnalysisInputs, cells: Mapping[CellKey, Cell]) -> dict[int, float]:
    """Known scores of the policy without experiments, by site."""
    study = inputs.study
    cell = cells.get(study.main_cell(study.reference))
    if cell is None:
        return {}
    means, _ = site_means(cell, inputs.repeat_rule)
    found = zip(cell.sites, means.tolist(), strict=True)
    return {site: mean for site, mean in found if np.isfinite(mean)}


def _facts(
    name: Name, tables: _Tables, cell: Cell, reference: Mapping[int, float]
) -> CampaignFacts:
    site, _, _, repeat = name
    row = cell.sites.index(site)
    reason = cell.missing[row][repeat]
    score = None if reason else float(cell.scores[row, repeat])
    gain = None if score is None or site not in reference else score - reference[site]
    return CampaignFacts(
        name=name,
        campaign=tables.campaigns.get(name),
        agent=tables.agents.get(name),
        crops=tables.crops[name],
        reads=tables.reads[name],
        steps=tables.steps[name],
        score=score,
        missing="" if reason is None else reason.value,
        gain=gain,
        wave_tolerance_days=tables.measures.wave_tolerance_days,
        most_share=tables.measures.most_share,
    )
