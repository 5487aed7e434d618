"""Scores of a study between two anchors: the policy without experiments and the best one known.

Without a search for the best policy of each site there is no upper anchor, and no other policy is
put in its place: the scores are then missing and say why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from slowlab.analysis.headroom import best_known_cell
from slowlab.analysis.measure_tables import anchored_table
from slowlab.analysis.measures import AnchorFault
from slowlab.analysis.paired import Cell, site_means
from slowlab.analysis.samples import exact_mean
from slowlab.analysis.scores import CellKey
from slowlab.analysis.study_inputs import AnalysisInputs
from slowlab.analysis.study_scores import number
from slowlab.evaluation.tables import Column, TableSchema

ORACLE_SCHEMA = TableSchema(
    MappingProxyType(
        {
            "site": Column("integer", "-", "number of the site in its partition", low=0),
            "score_eur_m2": Column("number", "EUR/m2", "score of the best policy known"),
            "error_eur_m2": Column(
                "number", "EUR/m2", "error of its headroom over another policy", low=0
            ),
        }
    ),
    key=("site",),
)
"""One row a site: the best policy known, scored as every recommendation is. A table of the oracle
may have more columns and sites without a score; they are left out."""


class Unanchored(StrEnum):
    """Why a site has no anchored score.

    Attributes:
        NO_ORACLE: the study has no table of best-known policies.
        NO_ORACLE_HERE: the table has no row for the site.
        NO_SCORE: the method has no complete score there.
        NO_REFERENCE: the policy without experiments has none.
        NO_BASELINE: the numerical baseline has none; of the mid-anchored score only.
        NO_HEADROOM: the anchors are not further apart than the evaluation error.
    """

    NO_ORACLE = "no_oracle"
    NO_ORACLE_HERE = "no_oracle_here"
    NO_SCORE = "no_score"
    NO_REFERENCE = "no_reference"
    NO_BASELINE = "no_baseline"
    NO_HEADROOM = "no_headroom"


def anchored_numbers(inputs: AnalysisInputs, cells: Mapping[CellKey, Cell]) -> dict[str, Any]:
    """Anchored scores of every method under each of its conditions.

    Args:
        inputs: the study; its ``oracle`` has at least the columns of :data:`ORACLE_SCHEMA`.
        cells: scores by method and condition.

    Returns:
        The names of the anchors and, by method and condition, site values and their means; what is
        missing has a reason, see :class:`Unanchored`. Under ``best_known`` the same of the best
        policies known themselves, which score 1 by construction; None without them.

    Raises:
        TableError: the table of best-known policies does not fit its schema.
    """
    study = inputs.study
    anchors = _Anchors(inputs, cells)
    best = best_known_cell(inputs)
    frame = anchored_table(
        [*(cells[key] for key in study.cells()), *([] if best is None else [best])],
        anchors.reference,
        anchors.baseline,
        anchors.oracle,
        anchors.errors,
        inputs.repeat_rule,
    )
    parts = dict(iter(frame.groupby("cell", sort=False)))
    table: dict[str, Any] = {item.name: {} for item in study.methods}
    for method, mode in study.cells():
        table[method][mode] = _cell(parts[f"{method}/{mode}"], anchors)
    return {
        "oracle": inputs.oracle is not None,
        "reference": study.reference,
        "baseline": study.baseline,
        "methods": table,
        "best_known": None if best is None or not best.sites else _cell(parts[best.name], anchors),
    }


class _Anchors:
    """The three anchors by site, EUR/m2, and why one is missing."""

    def __init__(self, inputs: AnalysisInputs, cells: Mapping[CellKey, Cell]) -> None:
        study, self.sought = inputs.study, inputs.oracle is not None
        self.reference = self._means(inputs, cells.get(study.main_cell(study.reference)))
        self.baseline = self._means(inputs, cells.get(study.main_cell(study.baseline)))
        known = [] if inputs.oracle is None else _with_scores(inputs.oracle)
        checked = ORACLE_SCHEMA.table(known)
        self.oracle = dict(zip(checked["site"], checked["score_eur_m2"], strict=True))
        self.errors = dict(zip(checked["site"], checked["error_eur_m2"], strict=True))

    @staticmethod
    def _means(inputs: AnalysisInputs, cell: Cell | None) -> dict[int, float]:
        """Known means by site; a study without full feedback has no such cell."""
        if cell is None:
            return {}
        means, _ = site_means(cell, inputs.repeat_rule)
        found = zip(cell.sites, means.tolist(), strict=True)
        return {site: mean for site, mean in found if np.isfinite(mean)}

    def reason(self, site: int, fault: str, scored: bool, *, middle: bool) -> str:
        """Why a site has no score; empty where it has one.

        Args:
            site: its number.
            fault: what the measure said.
            scored: whether the method has a score there.
            middle: whether the baseline is an anchor too.
        """
        if fault != AnchorFault.MISSING:
            return Unanchored.NO_HEADROOM.value if fault else ""
        rules = {
            Unanchored.NO_ORACLE: not self.sought,
            Unanchored.NO_ORACLE_HERE: site not in self.oracle,
            Unanchored.NO_SCORE: not scored,
            Unanchored.NO_REFERENCE: site not in self.reference,
            Unanchored.NO_BASELINE: middle,
        }
        return next(reason.value for reason, holds in rules.items() if holds)


def _with_scores(oracle: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of sites with a score, in the columns that are used here."""
    columns = [name for name in ORACLE_SCHEMA.columns if name in oracle]
    return oracle[columns].dropna(subset=["score_eur_m2"]).to_dict("records")


def _cell(rows: pd.DataFrame, anchors: _Anchors) -> dict[str, Any]:
    """One method under one condition."""
    listed = rows.sort_values("site").to_dict("records")
    scored = [bool(np.isfinite(row["score_eur_m2"])) for row in listed]
    reasons, mid_reasons = (
        [
            anchors.reason(row["site"], row[fault], known, middle=fault == "mid_fault")
            for row, known in zip(listed, scored, strict=True)
        ]
        for fault in ("fault", "mid_fault")
    )
    values = {
        name: [number(row[name]) for row in listed]
        for name in ("anchored", "clipped", "mid_anchored")
    }
    return {
        **{f"mean_{name}": _mean(found) for name, found in values.items()},
        "n_sites": sum(not reason for reason in reasons),
        "mid_n_sites": sum(not reason for reason in mid_reasons),
        "missing": dict(sorted(Counter(reason for reason in reasons if reason).items())),
        "mid_missing": dict(sorted(Counter(reason for reason in mid_reasons if reason).items())),
        "sites": [row["site"] for row in listed],
        **values,
        "reasons": reasons,
        "mid_reasons": mid_reasons,
    }


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return number(exact_mean(np.array(known))) if known else None
