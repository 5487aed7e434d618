"""Best-known policy of every site: a search in the simulator that no method may make.

Candidates are screened in one selection year without noise, all sites in the same lanes. Finalists
run as in scoring in further selection years, where the winner is chosen. Its score comes from the
scoring years, which took no part in the choice, so it is not too good by selection; the difference
between both is reported as optimism.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowlab.evaluation.runner import YearRunner
from slowlab.evaluation.search import (
    SearchSettings,
    cold_corner,
    propose,
    space_filling,
)
from slowlab.evaluation.years import YearRun, scoring_run, screening_run, year_margin
from slowlab.world.policy import Policy, encode, to_unit
from slowlab.world.site import Site, SiteError, YearLabel, evaluation_draws, stream

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OracleSettings:
    """How a best-known policy is found.

    Attributes:
        search: the screening.
        finalists: policies of a site that reach the selection years, beside those that must.
        selection_years: years in which finalists are compared; one more is used for screening.
        distinct: least distance between finalists, in units of the box.
    """

    search: SearchSettings = field(default_factory=SearchSettings)
    finalists: int = 3
    selection_years: int = 2
    distinct: float = 0.1

    def plain(self) -> dict[str, Any]:
        """For provenance."""
        return {
            "search": self.search.plain(),
            "finalists": self.finalists,
            "selection_years": self.selection_years,
            "distinct": self.distinct,
        }


@dataclass(frozen=True)
class SiteOptimum:
    """Best-known policy of one site.

    Attributes:
        site: number of the site.
        policy: the winner.
        screened: policies that were screened.
        finalists: the finalists.
        selection: their mean year scores in the selection years, ``[finalists]``, EUR/m2.
        reference_selection: the same for the fixed reference.
        screening_year, selection_years: labels of the years used.
    """

    site: int
    policy: Policy
    screened: int
    finalists: tuple[Policy, ...]
    selection: Array
    reference_selection: float
    screening_year: YearLabel
    selection_years: tuple[YearLabel, ...]

    @property
    def selection_score(self) -> float:
        """Mean year score of the winner where it was chosen, EUR/m2."""
        return float(self.selection.max())

    @property
    def selection_gain(self) -> float:
        """The same, above the fixed reference."""
        return self.selection_score - self.reference_selection

    def optimism(self, scoring_gain: float) -> float:
        """What selection flattered: gain over the reference where chosen minus where scored."""
        return self.selection_gain - scoring_gain


def find_optima(
    runner: YearRunner,
    sites: Sequence[Site],
    settings: OracleSettings,
    *,
    candidates: Mapping[int, Sequence[Policy]] | None = None,
    finalists: Mapping[int, Sequence[Policy]] | None = None,
    seeds: Sequence[int] | None = None,
) -> list[SiteOptimum]:
    """Search every site for its best policy, all sites in the same lanes.

    Args:
        runner: simulates; its contract holds bounds and rules.
        sites: private sites; each needs one spare year more than ``settings.selection_years``. One
            may stand there again, with another seed.
        settings: what is spent.
        candidates: policies to be screened with the others, by site, e.g. those a method tried.
        finalists: policies that reach the selection years in any case, by site.
        seeds: of the searches, one for each of ``sites``; that of the settings by default.

    Raises:
        SiteError: a site has too few spare years, or a run of it failed numerically.
    """
    searches = [
        _SiteSearch(runner, site, settings, (candidates or {}).get(site.index, ()), seed)
        for site, seed in zip(sites, seeds or [settings.search.seed] * len(sites), strict=True)
    ]
    _screen(runner, searches, [search.first_policies() for search in searches])
    for search in searches:
        search.require_results()
    for number in range(settings.search.rounds):
        _screen(runner, searches, [search.next_policies(number) for search in searches])
    chosen = [search.finalists((finalists or {}).get(search.site.index, ())) for search in searches]
    return _select(runner, searches, chosen)


@dataclass
class _SiteSearch:
    """Screening of one site."""

    runner: YearRunner
    site: Site
    settings: OracleSettings
    given: Sequence[Policy]
    seed: int
    policies: list[Policy] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        needed = 1 + self.settings.selection_years
        if len(self.site.spare_years) < needed:
            raise SiteError(
                f"site {self.site.partition} {self.site.index} has {len(self.site.spare_years)} "
                f"spare years; a search needs {needed}"
            )

    def require_results(self) -> None:
        """Refuse to go on from fewer than two policies."""
        if len(self.policies) < 2:
            raise SiteError(
                f"site {self.site.partition} {self.site.index}: nearly every screening run failed"
            )

    @property
    def selection_years(self) -> tuple[YearLabel, ...]:
        return self.site.spare_years[1 : 1 + self.settings.selection_years]

    def first_policies(self) -> list[Policy]:
        """Given policies, the fixed reference, the cold corner and space-filling ones."""
        contract, search = self.runner.contract, self.settings.search
        fixed = [contract.fixed_reference, cold_corner(contract.policy)]
        filling = space_filling(search.sobol, contract.policy, self.seed)
        return list(dict.fromkeys([*self.given, *fixed, *filling]))

    def next_policies(self, number: int) -> list[Policy]:
        """Proposals of one round."""
        contract, search = self.runner.contract, self.settings.search
        name = f"{contract.id}|oracle"
        return propose(
            self.policies,
            np.array(self.values),
            count=search.population,
            number=number,
            bounds=contract.policy,
            settings=search,
            rng=stream(name, self.seed, self.site.index, f"{self.site.partition}/round{number}"),
        )

    def runs(self, policies: Sequence[Policy]) -> list[YearRun]:
        """Screening runs of policies."""
        draw = evaluation_draws(self.site, self.site.spare_years[0])
        return [screening_run(self.runner.contract, draw, policy) for policy in policies]

    def finalists(self, certain: Sequence[Policy]) -> list[Policy]:
        """The best screened policies that differ from each other, then the certain ones."""
        bounds = self.runner.contract.policy
        unit = to_unit(encode(self.policies), bounds)
        chosen: list[int] = []
        for k in np.argsort(-np.array(self.values), kind="stable").tolist():
            gaps = np.linalg.norm(unit[chosen] - unit[k], axis=1)
            if len(chosen) < self.settings.finalists and not (gaps < self.settings.distinct).any():
                chosen.append(k)
        return list(dict.fromkeys([*(self.policies[k] for k in chosen), *certain]))


def _screen(
    runner: YearRunner, searches: Sequence[_SiteSearch], proposals: Sequence[list[Policy]]
) -> None:
    """Simulate the proposals of all sites together and give every site its results."""
    runs = [search.runs(policies) for search, policies in zip(searches, proposals, strict=True)]
    outcomes = iter(runner.run([run for group in runs for run in group]))
    contract = runner.contract
    for search, policies in zip(searches, proposals, strict=True):
        for policy in policies:
            outcome = next(outcomes)
            if outcome.failure is None:
                margin = year_margin(
                    outcome,
                    contract.evaluation.plantings,
                    search.site.prices,
                    contract.economics.fixed_costs,
                )
                search.policies.append(policy)
                search.values.append(margin)


def _select(
    runner: YearRunner, searches: Sequence[_SiteSearch], chosen: Sequence[list[Policy]]
) -> list[SiteOptimum]:
    """Compare finalists, and the fixed reference, in the selection years."""
    reference = runner.contract.fixed_reference
    groups = [list(dict.fromkeys([*policies, reference])) for policies in chosen]
    scores = mean_scores(
        runner,
        [(s.site, s.selection_years, group) for s, group in zip(searches, groups, strict=True)],
    )
    optima = []
    for search, policies, values in zip(searches, groups, scores, strict=True):
        selection = np.array([values[policy] for policy in policies])
        optima.append(
            SiteOptimum(
                site=search.site.index,
                policy=policies[int(np.argmax(selection))],
                screened=len(search.policies),
                finalists=tuple(policies),
                selection=selection,
                reference_selection=values[reference],
                screening_year=search.site.spare_years[0],
                selection_years=search.selection_years,
            )
        )
    return optima


def mean_scores(
    runner: YearRunner,
    requests: Sequence[tuple[Site, Sequence[YearLabel], Sequence[Policy]]],
) -> list[dict[Policy, float]]:
    """Mean year scores of policies on sites, all simulated together as in scoring.

    Args:
        runner: simulates.
        requests: site, years of the site and policies.

    Returns:
        For each request the mean score of every policy, EUR/m2 per crop.

    Raises:
        SiteError: a run failed numerically, so that there is no score.
    """
    contract = runner.contract
    runs = [
        scoring_run(contract, site, year, policy)
        for site, years, policies in requests
        for policy in policies
        for year in years
    ]
    outcomes = iter(runner.run(runs))
    scores = []
    for site, years, policies in requests:
        found = {}
        for policy in policies:
            results = [next(outcomes) for _ in years]
            failed = next((r.failure for r in results if r.failure is not None), None)
            if failed is not None:
                raise SiteError(f"site {site.partition} {site.index} has no score: {failed}")
            margins = [
                year_margin(
                    result,
                    contract.evaluation.plantings,
                    site.prices,
                    contract.economics.fixed_costs,
                )
                for result in results
            ]
            found[policy] = float(np.mean(margins))
        scores.append(found)
    return scores
