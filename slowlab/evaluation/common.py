"""What can be known without experiments on a site: the best single policy, and one by prices.

All development sites are searched together for policies that do well on average. Prices act on
nothing in a compartment and are drawn apart from everything hidden, so the totals of those runs say
what every policy would earn, on average over sites, at any prices: the best single policy is the
best at the sites' own prices, the rule by prices takes the best at the prices of a new site.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowlab import __version__
from slowlab.config import config_sha256
from slowlab.evaluation.runner import YearRunner
from slowlab.evaluation.search import SearchSettings, cold_corner, propose, space_filling
from slowlab.evaluation.years import YearOutcome, screening_run
from slowlab.world.contract import Contract
from slowlab.world.economics import FixedCosts, LedgerTotals, Prices, crop_statement
from slowlab.world.policy import Policy
from slowlab.world.site import Site, SiteError, evaluation_draws, stream

Array = NDArray[np.float64]

TOTALS = tuple(item.name for item in fields(LedgerTotals))
_PRICE_NODES = 4


@dataclass(frozen=True)
class PolicyArchive:
    """Policies with what a mean crop used and gave under them, without prices.

    Attributes:
        policies: n policies.
        totals: ``[n, 6]``, mean over development sites and plantings, in the order of ``TOTALS``.
        own_margin: ``[n]``, mean margin over the sites at their own prices, EUR/m2 per crop.
        own_margin_se: ``[n]``, its standard error over sites, EUR/m2.
        costs: the contract's fixed costs.
    """

    policies: tuple[Policy, ...]
    totals: Array
    own_margin: Array
    own_margin_se: Array
    costs: FixedCosts

    @property
    def common(self) -> int:
        """Number of the best single policy."""
        return int(np.argmax(self.own_margin))

    def margins_at(self, prices: Prices) -> Array:
        """Mean margins over sites, ``[n]``, if all sites had these prices, EUR/m2 per crop."""
        return np.array([_margin(row, prices, self.costs) for row in self.totals])

    def best_at(self, prices: Prices) -> Policy:
        """The rule by prices: the policy with the best mean over development sites."""
        return self.policies[int(np.argmax(self.margins_at(prices)))]


@dataclass(frozen=True)
class CommonPolicy:
    """Result of a search on development sites, with everything that is needed to repeat it.

    Attributes:
        archive: all policies tried.
        portfolio: policies, best first, of which at least one does well on every site.
        provenance: plain data: contract, distribution, sites, settings, build.
    """

    archive: PolicyArchive
    portfolio: tuple[Policy, ...]
    provenance: dict[str, Any]

    @property
    def policy(self) -> Policy:
        """The best single policy for all development sites."""
        return self.archive.policies[self.archive.common]


def search_common(
    runner: YearRunner, sites: Sequence[Site], settings: SearchSettings, *, portfolio: int = 12
) -> CommonPolicy:
    """Search for policies that do well on average over sites, at their own and at other prices.

    Every policy runs on every site, without noise, in the site's first spare year.

    Args:
        runner: simulates; its contract holds bounds and rules.
        sites: development sites, each with a spare year.
        settings: what is spent; half of ``population`` goes to the sites' own prices, the rest to
            prices that differ much.
        portfolio: size of the portfolio.

    Raises:
        SiteError: a site has no spare year, or a run of it failed numerically.
    """
    contract = runner.contract
    fixed = [*contract.evaluation.candidates.values(), cold_corner(contract.policy)]
    filling = space_filling(settings.sobol, contract.policy, settings.seed)
    policies = list(dict.fromkeys([*fixed, *filling]))
    totals = _run_everywhere(runner, sites, policies)
    for number in range(settings.rounds):
        archive = _archive(contract, sites, policies, totals)
        fresh = _next_policies(contract, sites, archive, settings, number)
        totals = np.concatenate([totals, _run_everywhere(runner, sites, fresh)])
        policies += fresh
    own = _own_margins(contract, sites, totals)
    chosen = greedy_portfolio(own, portfolio)
    return CommonPolicy(
        archive=_archive(contract, sites, policies, totals),
        portfolio=tuple(policies[k] for k in chosen),
        provenance=_provenance(runner, sites, settings),
    )


def _run_everywhere(runner: YearRunner, sites: Sequence[Site], policies: Sequence[Policy]) -> Array:
    """Mean totals of a crop for every policy and site, ``[policies, sites, 6]``."""
    contract = runner.contract
    for site in sites:
        if not site.spare_years:
            raise SiteError(f"site {site.partition} {site.index} has no spare year to search in")
    draws = [evaluation_draws(site, site.spare_years[0]) for site in sites]
    runs = [screening_run(contract, draw, policy) for policy in policies for draw in draws]
    outcomes = runner.run(runs)
    rows = [mean_totals(outcome, contract) for outcome in outcomes]
    return np.array(rows).reshape(len(policies), len(sites), len(TOTALS))


def mean_totals(outcome: YearOutcome, contract: Contract) -> Array:
    """Mean over the plantings of the mean totals of their crops, ``[6]``.

    Raises:
        SiteError: the run failed, so there is nothing to average.
    """
    if outcome.failure is not None:
        raise SiteError(f"a run of the search failed: {outcome.failure}")
    costs, means = contract.economics.fixed_costs, []
    for planting in contract.evaluation.plantings:
        crops = [crop for crop in outcome.crops if crop.planted_day == planting.day]
        means.append(np.mean([astuple(crop.totals(costs)) for crop in crops], axis=0))
    return np.mean(means, axis=0)


def _own_margins(contract: Contract, sites: Sequence[Site], totals: Array) -> Array:
    """Margins at the sites' own prices, ``[policies, sites]``."""
    costs = contract.economics.fixed_costs
    return np.array(
        [
            [_margin(row, site.prices, costs) for row, site in zip(rows, sites, strict=True)]
            for rows in totals
        ]
    )


def _margin(totals: Array, prices: Prices, costs: FixedCosts) -> float:
    named = dict(zip(TOTALS, totals.tolist(), strict=True))
    return crop_statement(LedgerTotals(**named), prices, costs).margin


def _archive(
    contract: Contract, sites: Sequence[Site], policies: Sequence[Policy], totals: Array
) -> PolicyArchive:
    own = _own_margins(contract, sites, totals)
    spread = own.std(axis=1, ddof=1) if len(sites) > 1 else np.zeros(len(own))
    return PolicyArchive(
        policies=tuple(policies),
        totals=totals.mean(axis=1),
        own_margin=own.mean(axis=1),
        own_margin_se=spread / np.sqrt(len(sites)),
        costs=contract.economics.fixed_costs,
    )


def _next_policies(
    contract: Contract,
    sites: Sequence[Site],
    archive: PolicyArchive,
    settings: SearchSettings,
    number: int,
) -> list[Policy]:
    """Proposals of one round: for the sites' own prices, and for prices that differ much."""
    nodes = spread_prices([site.prices for site in sites], _PRICE_NODES)
    objectives = [archive.own_margin, *(archive.margins_at(prices) for prices in nodes)]
    own = settings.population // 2 if nodes else settings.population
    share = -(-(settings.population - own) // max(len(nodes), 1))
    proposals: list[Policy] = []
    for part, values in enumerate(objectives):
        proposals += propose(
            archive.policies,
            values,
            count=share if part else own,
            number=number,
            bounds=contract.policy,
            settings=settings,
            rng=stream(f"{contract.id}|common", settings.seed, number, f"objective{part}"),
        )
    return list(dict.fromkeys(proposals))


def spread_prices(prices: Sequence[Prices], count: int) -> list[Prices]:
    """Prices of a list that lie far from its middle and from each other, on a log scale."""
    points = np.log([np.maximum(list(item.model_dump().values()), 1e-6) for item in prices])
    gaps = np.linalg.norm(points - points.mean(axis=0), axis=1)
    chosen: list[int] = []
    while len(chosen) < min(count, len(prices)) and gaps.max() > 0:
        chosen.append(int(np.argmax(gaps)))
        gaps = np.minimum(gaps, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return [prices[k] for k in chosen]


def greedy_portfolio(margins: Array, count: int) -> list[int]:
    """Policies of which the best on each site is good on average, ``margins [policies, sites]``."""
    best = np.full(margins.shape[1], -np.inf)
    chosen: list[int] = []
    while len(chosen) < min(count, len(margins)):
        gain = np.maximum(margins, best).mean(axis=1)
        gain[chosen] = -np.inf
        chosen.append(int(np.argmax(gain)))
        best = np.maximum(best, margins[chosen[-1]])
    return chosen


def _provenance(
    runner: YearRunner, sites: Sequence[Site], settings: SearchSettings
) -> dict[str, Any]:
    contract, sensors = runner.contract, runner.sensors
    return {
        "slowlab_version": __version__,
        "contract": {"id": contract.id, "sha256": config_sha256(contract), "draft": contract.draft},
        "sensors": {"id": sensors.id, "sha256": config_sha256(sensors)},
        "distribution": sites[0].distribution_id,
        "partition": sites[0].partition,
        "sites": [site.index for site in sites],
        "weather": {"source": runner.source.name, "years": [str(s.spare_years[0]) for s in sites]},
        "search": settings.plain(),
        "build": dict(runner.simulator.stepper.build),
    }
