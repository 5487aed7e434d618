"""Scores with other side walls: the same policies, years and noise, one hidden value replaced.

The exchange of side walls with the neighbouring compartments is the least supported number of the
facility. No campaign is run again, so this asks how far scores depend on it, not what methods would
have done. Source: SlowLab, boundary sensitivity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pandas as pd

from slowlab.evaluation.recommendations import Recommendation, resolve
from slowlab.evaluation.runner import YearRunner
from slowlab.evaluation.score import ScoreStatus, score_recommendations
from slowlab.evaluation.tables import Column, TableSchema
from slowlab.evaluation.years import scoring_run
from slowlab.world.site import Site

PARAMETER = "ueff"
"""The model constant of the side-wall exchange, W/m2 wall/K."""

SIDE_WALL_SCHEMA = TableSchema(
    MappingProxyType(
        {
            "site": Column("integer", "-", "number of the site in its partition", low=0),
            "method": Column("text", "-", "name of the method"),
            "feedback": Column("text", "-", "feedback condition; none without a campaign"),
            "repeat": Column("integer", "-", "number of the repeat", low=0),
            "exchange_w_m2_k": Column("number", "W/m2 wall/K", "exchange of side walls", low=0),
            "status": Column("text", "-", "whether there is a score", allowed=tuple(ScoreStatus)),
            "reason": Column("text", "-", "why there is none; empty where there is one"),
            "score_eur_m2": Column("number", "EUR/m2", "mean over the years", nullable=True),
        }
    ),
    key=("site", "method", "feedback", "repeat", "exchange_w_m2_k"),
)
"""One row for each recommendation and exchange."""


def with_side_wall(site: Site, exchange_w_m2_k: float) -> Site:
    """The site with this exchange of all side walls, in every compartment and year.

    The value may lie outside what a site draws; what was drawn, weather and noise stay. The model's
    own bounds still hold where the site is simulated.

    Args:
        site: as drawn; it does not change.
        exchange_w_m2_k: W/m2 of wall and K.
    """
    value = {PARAMETER: float(exchange_w_m2_k)}
    years = tuple(
        year.model_copy(update={"parameters": tuple(row | value for row in year.parameters)})
        for year in site.years
    )
    parameters = tuple(row | value for row in site.parameters)
    return site.model_copy(update={"parameters": parameters, "years": years})


def score_with_side_walls(
    runner: YearRunner,
    sites: Mapping[int, Site],
    recommendations: Sequence[Recommendation],
    exchanges_w_m2_k: Sequence[float],
) -> pd.DataFrame:
    """Score recommendations in their sites' scoring years, once for each exchange.

    Args:
        runner: simulates.
        sites: private sites by number.
        recommendations: as received, each campaign once.
        exchanges_w_m2_k: exchanges of all side walls, W/m2 wall/K.

    Returns:
        The table of :data:`SIDE_WALL_SCHEMA`, in an order that does not depend on that of the
        recommendations.

    Raises:
        RecommendationError: a campaign is listed twice.
        KeyError: a site that was not given.
        LaneParameterError: an exchange outside the model's bounds.
        WeatherError: a scoring year cannot be had.
    """
    changed = {
        value: {number: with_side_wall(site, value) for number, site in sites.items()}
        for value in exchanges_w_m2_k
    }
    _simulate_together(runner, changed, recommendations)
    rows = []
    for value, group in changed.items():
        _, table = score_recommendations(runner, group, recommendations)
        known = table[[name for name in SIDE_WALL_SCHEMA.columns if name in table]]
        known = known.astype({"score_eur_m2": "object"}).where(known.notna(), None)
        rows += [row | {"exchange_w_m2_k": value} for row in known.to_dict("records")]
    return SIDE_WALL_SCHEMA.table(rows)


def _simulate_together(
    runner: YearRunner,
    sites: Mapping[float, Mapping[int, Site]],
    recommendations: Sequence[Recommendation],
) -> None:
    """Run everything at once, so that no batch of lanes is left half full between exchanges."""
    resolved = [resolve(item, runner.contract) for item in recommendations]
    runner.run(
        [
            scoring_run(runner.contract, group[item.recommendation.site], year, item.policy)
            for group in sites.values()
            for item in resolved
            if item.policy is not None
            for year in group[item.recommendation.site].evaluation_years
        ]
    )
