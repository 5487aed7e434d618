"""Small tables of scores for tests."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pandas as pd

YEARS = ("2003", "2007", "2011")
PLANTINGS = (0, 182)
DAY_EFFECT = {0: -3.0, 182: 3.0}


def score_table(
    effects: Mapping[tuple[str, str], float],
    sites: int = 6,
    repeats: Mapping[tuple[str, str], int] | None = None,
    noise: float = 1.0,
    seed: int = 0,
) -> pd.DataFrame:
    """Scores of ``site + effect + noise``, by recommendation, year and planting."""
    rng = np.random.default_rng(seed)
    rows = []
    for (method, feedback), effect in effects.items():
        count = (repeats or {}).get((method, feedback), 2)
        for site, repeat in itertools.product(range(sites), range(count)):
            shift = noise * rng.normal()
            rows += [
                {
                    "site": site,
                    "method": method,
                    "feedback": feedback,
                    "repeat": repeat,
                    "year": year,
                    "planting_day": day,
                    "status": "scored",
                    "margin_eur_m2": 30.0 + site + effect + shift + DAY_EFFECT[day],
                }
                for year, day in itertools.product(YEARS, PLANTINGS)
            ]
    return pd.DataFrame(rows)


def rows_of(table: pd.DataFrame, **values) -> pd.Series:
    """Which rows have all these values."""
    chosen = pd.Series(True, index=table.index)
    for name, value in values.items():
        chosen &= table[name] == value
    return chosen
