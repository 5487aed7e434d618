"""SYNTHETIC tables of best-known policies and of scores with other side walls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from slowlab.analysis.study_inputs import AnalysisInputs
from slowlab.evaluation.best_known import BEST_KNOWN_SCHEMA, FOUND, MISSING, SEARCHED
from slowlab.evaluation.side_wall import SIDE_WALL_SCHEMA
from slowlab.world.policy import POLICY_FIELDS


def oracle_table(
    scores: Mapping[int, float | None],
    *,
    error: float = 0.1,
    second: Mapping[int, float] | None = None,
    optimism: float = 0.5,
) -> pd.DataFrame:
    """Best-known policies with these scores; None for a site whose search failed."""
    return BEST_KNOWN_SCHEMA.table(
        [
            {
                "site": site,
                "status": MISSING if score is None else FOUND,
                "reason": "synthetic failure" if score is None else "",
                "score_eur_m2": score,
                "reference_score_eur_m2": None if score is None else score - 5.0,
                "selection_gain_eur_m2": None if score is None else 5.0 + optimism,
                "optimism_eur_m2": None if score is None else optimism,
                "origin": "" if score is None else SEARCHED,
                "given": 4,
                "screened": 20,
                "finalists": 3,
                "screening_year": "spare-0",
                "selection_years": "spare-1 spare-2",
                **dict.fromkeys(POLICY_FIELDS, None if score is None else 1.0),
                "second_score_eur_m2": (second or {}).get(site),
                "evaluation_error_eur_m2": error,
                "search_error_eur_m2": 0.0,
                "error_eur_m2": error,
            }
            for site, score in scores.items()
        ]
    )


def side_wall_table(
    inputs: AnalysisInputs,
    methods: Sequence[tuple[str, str]],
    changed: Callable[[int, str, float], float | None],
    exchanges: Sequence[float] = (0.0, 4.0),
) -> pd.DataFrame:
    """Scores of repeat 0 plus a change that depends on site, method and exchange."""
    rows: list[dict[str, Any]] = []
    for row in inputs.sites.to_dict("records"):
        if (row["method"], row["feedback"]) not in methods or row["repeat"]:
            continue
        for value in exchanges:
            change = changed(row["site"], row["method"], value)
            rows.append(
                {
                    **{name: row[name] for name in ("site", "method", "feedback", "repeat")},
                    "exchange_w_m2_k": value,
                    "status": "run_failed" if change is None else "scored",
                    "reason": "synthetic failure" if change is None else "",
                    "score_eur_m2": None if change is None else row["score_eur_m2"] + change,
                }
            )
    return SIDE_WALL_SCHEMA.table(rows)
