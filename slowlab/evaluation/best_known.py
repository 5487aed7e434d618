"""The best policy known of each site as a table, with its score and the error of its headroom.

The policy comes from :mod:`slowlab.evaluation.oracle` and is scored in the site's scoring years as
every recommendation is; none of these years took part in the search. Sites that are searched twice
say how far one search falls beside another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

from slowlab.evaluation.oracle import OracleSettings, SiteOptimum, find_optima
from slowlab.evaluation.recommendations import Recommendation
from slowlab.evaluation.runner import YearRunner
from slowlab.evaluation.score import (
    FIXED_REFERENCE,
    NO_FEEDBACK,
    ScoreStatus,
    reference_recommendations,
    score_recommendations,
)
from slowlab.evaluation.search import cold_corner
from slowlab.evaluation.tables import Column, TableSchema
from slowlab.world.contract import Contract
from slowlab.world.policy import POLICY_FIELDS, Policy
from slowlab.world.site import Site, SiteError

BEST_KNOWN = "best_known"
FOUND, MISSING = "found", "missing"
FIRST, SECOND = 0, 1
"""Numbers of the searches of a site."""
CAMPAIGN, DEVELOPMENT, FIXED, SEARCHED = "campaign", "development", "fixed", "search"
"""Where a winner comes from: a campaign on its site recommended it, the development sites suggested
it, it is the fixed reference or the cold corner, or the search proposed it. The common policy is
suggested by development sites, although a method recommends it too."""


def _number(unit: str, meaning: str) -> Column:
    return Column("number", unit, meaning, nullable=True)


_FOUND: dict[str, Column] = {
    "status": Column(
        "text", "-", "whether there is a policy with a score", allowed=(FOUND, MISSING)
    ),
    "reason": Column("text", "-", "why there is none; empty where there is one"),
    "score_eur_m2": _number("EUR/m2", "mean over the scoring years"),
    "reference_score_eur_m2": _number("EUR/m2", "the fixed reference in the same years"),
    "selection_gain_eur_m2": _number("EUR/m2", "above the fixed reference where it was chosen"),
    "optimism_eur_m2": _number("EUR/m2", "that gain less the one in the scoring years"),
    "origin": Column(
        "text",
        "-",
        "where the policy comes from; empty where there is none",
        allowed=("", CAMPAIGN, DEVELOPMENT, FIXED, SEARCHED),
    ),
    "given": Column("integer", "-", "policies that campaigns recommended on the site", low=0),
    "screened": Column("integer", "-", "policies that were screened", low=0),
    "finalists": Column("integer", "-", "of these, compared in the selection years", low=0),
    "screening_year": Column("text", "-", "weather year of the screening"),
    "selection_years": Column("text", "-", "weather years of the choice, with spaces between"),
    **{name: _number("-", "the policy") for name in POLICY_FIELDS},
}
_SITE = Column("integer", "-", "number of the site in its partition", low=0)

SEARCH_SCHEMA = TableSchema(
    MappingProxyType(
        {
            "site": _SITE,
            "search": Column("integer", "-", "0 for the first search, 1 for the second", low=0),
            **_FOUND,
        }
    ),
    key=("site", "search"),
)
"""One row for each search of a site."""

BEST_KNOWN_SCHEMA = TableSchema(
    MappingProxyType(
        {
            "site": _SITE,
            **_FOUND,
            "second_score_eur_m2": _number("EUR/m2", "the winner of a second search, if any"),
            "evaluation_error_eur_m2": Column(
                "number", "EUR/m2", "error of a difference of two scores by the years", low=0
            ),
            "search_error_eur_m2": Column("number", "EUR/m2", "error of one search", low=0),
            "error_eur_m2": Column(
                "number", "EUR/m2", "error of its headroom, both together", low=0
            ),
        }
    ),
    key=("site",),
)
"""One row for each site: what its first search found, and the errors."""


@dataclass(frozen=True)
class Suggested:
    """What the development sites suggest.

    Attributes:
        common: the best single policy; it reaches the selection years on every site.
        portfolio: policies of which one does well on every site; may be empty.
    """

    common: Policy
    portfolio: tuple[Policy, ...] = ()


@dataclass(frozen=True)
class Searched:
    """One search and what it found.

    Attributes:
        site: the site.
        number: :data:`FIRST` or :data:`SECOND`.
        optimum: None where a run failed numerically.
        reason: why there is none.
    """

    site: Site
    number: int
    optimum: SiteOptimum | None
    reason: str = ""


def search_sites(
    runner: YearRunner,
    sites: Sequence[Site],
    again: Iterable[int],
    settings: OracleSettings,
    suggested: Suggested,
    recommended: Mapping[int, Sequence[Policy]],
) -> pd.DataFrame:
    """Search sites, some of them twice, and score the winners.

    Args:
        runner: simulates.
        sites: private sites, each once.
        again: numbers of those that are searched a second time, with the next seed.
        settings: what a search spends.
        suggested: by the development sites.
        recommended: policies that campaigns on a site recommended, by site; in any order.

    Returns:
        The table of :data:`SEARCH_SCHEMA`. A site's row does not depend on which others there are.

    Raises:
        SiteError: a site has too few spare years.
    """
    twice = set(again)
    wanted = [(site, FIRST) for site in sites]
    wanted += [(site, SECOND) for site in sites if site.index in twice]
    given = {site.index: _distinct(recommended.get(site.index, ())) for site in sites}
    search = _Search(runner, settings, suggested, given)
    found = search.all(wanted)
    scores = _scores(runner, sites, found)
    return SEARCH_SCHEMA.table([search.row(item, scores) for item in found])


def best_known_table(searches: pd.DataFrame, one_year_sd_eur_m2: float, years: int) -> pd.DataFrame:
    """First searches with the errors of their headroom.

    The headroom of a site is the difference of two scores over ``years`` scoring years. Its error
    has two independent parts: the years, ``sd / sqrt(years)`` with the standard deviation of a
    paired difference in one year; and the search, ``sqrt(mean(d^2) / 2)``, where d is the second
    search less the first in the same scoring years: the standard deviation of one of two equal
    searches. The error is the root of the sum of their squares. What both searches miss is unknown
    and not in it.

    Args:
        searches: of all sites, as in :data:`SEARCH_SCHEMA`.
        one_year_sd_eur_m2: deviation of a paired difference in one year, from the frozen
            ``evaluation_error`` artifact, EUR/m2.
        years: scoring years of a site.

    Returns:
        The table of :data:`BEST_KNOWN_SCHEMA`.

    Raises:
        ValueError: no site has two searches with a score, so that the search error is unknown.
    """
    first = searches[searches["search"] == FIRST].drop(columns="search")
    second = searches[searches["search"] == SECOND].set_index("site")["score_eur_m2"]
    other = first["site"].map(second).astype("float64")
    repeats = (other - first["score_eur_m2"]).dropna().to_numpy()
    if not len(repeats):
        raise ValueError("no site was searched twice with a score: the search error is unknown")
    by_years = one_year_sd_eur_m2 / math.sqrt(years)
    by_search = math.sqrt(math.fsum(repeats**2) / len(repeats) / 2.0)
    errors = {
        "evaluation_error_eur_m2": by_years,
        "search_error_eur_m2": by_search,
        "error_eur_m2": math.hypot(by_years, by_search),
    }
    rows = first.assign(second_score_eur_m2=other, **errors).to_dict("records")
    return BEST_KNOWN_SCHEMA.table(rows)


@dataclass(frozen=True)
class _Search:
    """Searches of some sites."""

    runner: YearRunner
    settings: OracleSettings
    suggested: Suggested
    given: Mapping[int, Sequence[Policy]]

    def all(self, wanted: Sequence[tuple[Site, int]]) -> list[Searched]:
        """All searches in the same lanes; one by one where a run of any of them failed."""
        for site, _ in wanted:
            self._require_years(site)
        try:
            return list(self._together(wanted))
        except SiteError:
            return [self._alone(site, number) for site, number in wanted]

    def _alone(self, site: Site, number: int) -> Searched:
        try:
            (found,) = self._together([(site, number)])
        except SiteError as error:
            return Searched(site, number, None, str(error))
        return found

    def _together(self, wanted: Sequence[tuple[Site, int]]) -> Iterator[Searched]:
        common, portfolio = self.suggested.common, self.suggested.portfolio
        sites = [site for site, _ in wanted]
        optima = find_optima(
            self.runner,
            sites,
            self.settings,
            candidates={s.index: [*self.given[s.index], common, *portfolio] for s in sites},
            finalists={site.index: [common] for site in sites},
            seeds=[self.settings.search.seed + number for _, number in wanted],
        )
        for (site, number), optimum in zip(wanted, optima, strict=True):
            yield Searched(site, number, optimum)

    def _require_years(self, site: Site) -> None:
        needed = 1 + self.settings.selection_years
        if len(site.spare_years) < needed:
            raise SiteError(
                f"site {site.partition} {site.index} has {len(site.spare_years)} spare years; "
                f"selection_years must be below that, not {self.settings.selection_years}"
            )

    def row(self, item: Searched, scores: Mapping[tuple[int, str], Any]) -> dict[str, Any]:
        """One row of the table."""
        optimum, given = item.optimum, self.given[item.site.index]
        mine = scores.get((item.site.index, f"{BEST_KNOWN}_{item.number}"), _UNSCORED)
        base = scores[item.site.index, FIXED_REFERENCE]
        reason = item.reason or mine["reason"] or base["reason"]
        known = optimum is not None and not reason
        gain = mine["score_eur_m2"] - base["score_eur_m2"] if known else None
        return {
            "site": item.site.index,
            "search": item.number,
            "status": FOUND if known else MISSING,
            "reason": reason,
            "score_eur_m2": mine["score_eur_m2"] if known else None,
            "reference_score_eur_m2": base["score_eur_m2"] if known else None,
            "selection_gain_eur_m2": optimum.selection_gain if known else None,
            "optimism_eur_m2": optimum.optimism(gain) if known else None,
            "origin": self._origin(optimum.policy, given) if known else "",
            "given": len(given),
            "screened": 0 if optimum is None else optimum.screened,
            "finalists": 0 if optimum is None else len(optimum.finalists),
            "screening_year": str(item.site.spare_years[0]),
            "selection_years": " ".join(
                map(str, item.site.spare_years[1 : 1 + self.settings.selection_years])
            ),
            **(optimum.policy.model_dump() if known else dict.fromkeys(POLICY_FIELDS)),
        }

    def _origin(self, policy: Policy, given: Sequence[Policy]) -> str:
        """Where a winner comes from; who knew it without an experiment comes first."""
        contract: Contract = self.runner.contract
        fixed = (contract.fixed_reference, cold_corner(contract.policy))
        known = {
            DEVELOPMENT: (self.suggested.common, *self.suggested.portfolio),
            FIXED: fixed,
            CAMPAIGN: given,
        }
        return next((origin for origin, listed in known.items() if policy in listed), SEARCHED)


_UNSCORED: Mapping[str, Any] = {"score_eur_m2": None, "reason": ""}


def _scores(
    runner: YearRunner, sites: Sequence[Site], found: Sequence[Searched]
) -> dict[tuple[int, str], dict[str, Any]]:
    """Score and reason of winners and of the fixed reference, by site and name."""
    wanted = reference_recommendations(sites, runner.contract)
    wanted += [
        Recommendation(
            site=item.site.index,
            method=f"{BEST_KNOWN}_{item.number}",
            feedback=NO_FEEDBACK,
            policy=item.optimum.policy.model_dump(),
        )
        for item in found
        if item.optimum is not None
    ]
    _, table = score_recommendations(runner, {site.index: site for site in sites}, wanted)
    return {
        (row["site"], row["method"]): {
            "score_eur_m2": row["score_eur_m2"],
            "reason": "" if row["status"] == ScoreStatus.SCORED else row["reason"],
        }
        for row in table.to_dict("records")
    }


def _distinct(policies: Sequence[Policy]) -> list[Policy]:
    """Each policy once, in an order that does not depend on that of the campaigns."""
    return sorted(set(policies), key=lambda policy: [getattr(policy, n) for n in POLICY_FIELDS])
