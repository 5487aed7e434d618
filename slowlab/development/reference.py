"""Which policy is the fixed reference, and how exact a score of three years is.

Source: SlowLab, fixed policy; evaluation error study.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from slowlab.evaluation.runner import YearRunner
from slowlab.evaluation.years import YearOutcome, scoring_run, year_margin
from slowlab.world.contract import Contract
from slowlab.world.site import Site, YearLabel


@dataclass(frozen=True)
class CandidateScore:
    """A candidate for the fixed reference.

    Attributes:
        name: as the contract calls it.
        mean_eur_m2: mean score over sites, each over its scoring years.
        se_eur_m2: its standard error over sites.
        energy_kwh_m2: heat and lamp electricity of a mean crop, which decides ties.
    """

    name: str
    mean_eur_m2: float
    se_eur_m2: float
    energy_kwh_m2: float


@dataclass(frozen=True)
class ErrorStudy:
    """How scores differ between years.

    Attributes:
        sites, years: size of the study.
        score_sd_eur_m2: SD between years of a policy's score on a site.
        difference_sd_one_year_eur_m2: the same of the difference of two policies.
        difference_sd_three_years_eur_m2: the same of a mean over three years.
        share_of_between_site_variance: squared, that error over the variance of the true
            differences between sites, for every pair of policies.
    """

    sites: int
    years: int
    score_sd_eur_m2: float
    difference_sd_one_year_eur_m2: float
    difference_sd_three_years_eur_m2: float
    share_of_between_site_variance: dict[str, float]


def score_candidates(runner: YearRunner, sites: Sequence[Site], years: int) -> pd.DataFrame:
    """Year scores of the contract's candidates.

    Args:
        runner: simulates.
        sites: development sites with spare years.
        years: years of each site: its scoring years, then spare ones.

    Returns:
        One row for each site, candidate and year: ``site``, ``candidate``, ``year``, ``scoring``
        (whether it is a scoring year), ``score_eur_m2`` and ``energy_kwh_m2``.

    Raises:
        ValueError: a site has too few years, or a run failed numerically.
    """
    contract = runner.contract
    rows, runs = [], []
    for site in sites:
        for name, policy in contract.evaluation.candidates.items():
            for year in _years(site, years):
                scoring = year in site.evaluation_years
                rows.append(
                    {"site": site.index, "candidate": name, "year": str(year), "scoring": scoring}
                )
                runs.append(scoring_run(contract, site, year, policy))
    by_number = {site.index: site for site in sites}
    for row, outcome in zip(rows, runner.run(runs), strict=True):
        row.update(_year_row(contract, by_number[row["site"]], outcome))
    return pd.DataFrame(rows)


def _years(site: Site, count: int) -> list[YearLabel]:
    found = [*site.evaluation_years, *site.spare_years][:count]
    if len(found) < count:
        raise ValueError(f"site {site.index} has {len(found)} years, not {count}")
    return found


def _year_row(contract: Contract, site: Site, outcome: YearOutcome) -> dict[str, float]:
    costs = contract.economics.fixed_costs
    margin = year_margin(outcome, contract.evaluation.plantings, site.prices, costs)
    totals = [crop.totals(costs) for crop in outcome.crops]
    energy = [item.heat_kwh_m2 + item.light_kwh_m2 for item in totals]
    return {"score_eur_m2": margin, "energy_kwh_m2": float(np.mean(energy))}


def rank_candidates(scores: pd.DataFrame) -> list[CandidateScore]:
    """The candidates, best first, by scoring years only; ties go to the lower use of energy."""
    found = []
    for name, rows in scores[scores["scoring"]].groupby("candidate"):
        by_site = rows.groupby("site")["score_eur_m2"].mean()
        error = float(by_site.std() / np.sqrt(len(by_site)))
        energy = float(rows["energy_kwh_m2"].mean())
        found.append(CandidateScore(str(name), float(by_site.mean()), error, energy))
    return sorted(found, key=lambda item: (-item.mean_eur_m2, item.energy_kwh_m2))


def study_error(scores: pd.DataFrame) -> ErrorStudy:
    """Spread of scores and of their differences between years."""
    table = scores.pivot(index=["site", "year"], columns="candidate", values="score_eur_m2")
    pairs = {f"{a} - {b}": table[a] - table[b] for a, b in combinations(sorted(table), 2)}
    one_year = {name: _within_variance(values) for name, values in pairs.items()}
    variance = float(np.mean(list(one_year.values())))
    years = len(table) // table.index.get_level_values("site").nunique()
    return ErrorStudy(
        sites=table.index.get_level_values("site").nunique(),
        years=years,
        score_sd_eur_m2=float(np.sqrt(np.mean([_within_variance(table[c]) for c in table]))),
        difference_sd_one_year_eur_m2=float(np.sqrt(variance)),
        difference_sd_three_years_eur_m2=float(np.sqrt(variance / 3.0)),
        share_of_between_site_variance={
            name: (one_year[name] / 3.0) / _between_variance(values, one_year[name] / years)
            for name, values in pairs.items()
        },
    )


def _within_variance(values: pd.Series) -> float:
    """Mean over sites of the variance between years."""
    return float(values.groupby("site").var().mean())


def _between_variance(values: pd.Series, error_variance: float) -> float:
    """Variance of site means, without what their errors add; at least the latter."""
    return max(float(values.groupby("site").mean().var()) - error_variance, error_variance)


def reference_content(contract: Contract, ranked: Sequence[CandidateScore]) -> dict[str, Any]:
    """The content of the artifact ``fixed_reference``.

    Raises:
        OtherReferenceError: the contract names another candidate than the one that won.
    """
    winner = ranked[0]
    if contract.evaluation.candidates[winner.name] != contract.fixed_reference:
        raise OtherReferenceError(
            f"the contract's fixed reference is {contract.evaluation.fixed_reference}, but "
            f"{winner.name} scores best on the development sites ({winner.mean_eur_m2:.2f} EUR/m2)"
        )
    candidates = contract.evaluation.candidates
    return {
        "policy": candidates[winner.name].model_dump(),
        "candidates": [
            {
                "name": item.name,
                "policy": candidates[item.name].model_dump(),
                "mean_score_eur_m2": round(item.mean_eur_m2, 6),
                "standard_error_eur_m2": round(item.se_eur_m2, 6),
                "energy_kwh_m2": round(item.energy_kwh_m2, 6),
            }
            for item in ranked
        ],
    }


class OtherReferenceError(ValueError):
    """The selection and the contract disagree; the contract must be looked at by a person."""
