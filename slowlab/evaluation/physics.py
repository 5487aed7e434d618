"""Is the physics plausible? Levels and single-parameter effects beside published ones.

The published numbers belong to measured weather of one year; here they are compared with the mean
over generated years, so agreement is asked for in sign and size, not in digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from slowlab.canonical import loads_strict
from slowlab.config import ConfigModel, validate_config
from slowlab.evaluation.runner import YearRunner
from slowlab.evaluation.score import reference_recommendations, score_recommendations
from slowlab.evaluation.years import YearOutcome, YearRun, facility_run, single_crop_run
from slowlab.weather.pools import year_label
from slowlab.world.economics import CropStatement, LedgerTotals
from slowlab.world.policy import Policy
from slowlab.world.site import Site, YearLabel

_DATA = "published_physics.json"


class PublishedLevel(ConfigModel):
    """A level of the default site under one policy."""

    name: str = Field(description="Machine-readable name.")
    policy: str = Field(description="Name of the policy.")
    planting: str = Field(pattern="^(first|last|mean)$", description="Which planting.")
    quantity: str = Field(description="Margin or a total of the ledger.")
    unit: str = Field(description="Unit.")
    published: float = Field(description="The published number.")
    tolerance: float = Field(gt=0, description="Relative difference that is allowed.")


class PublishedEffect(ConfigModel):
    """Change of the January margin when some parameters change."""

    name: str = Field(description="What is changed.")
    parameters: dict[str, float] = Field(description="New values by GreenLight constant name.")
    published: float = Field(description="Published change, EUR/m2.")
    exempt: str = Field(default="", description="Why no verdict is given; empty where one is.")


class PublishedSites(ConfigModel):
    """Scores of the fixed reference on sites that can be drawn again."""

    partition: str = Field(description="Name of the partition.")
    sites: tuple[int, ...] = Field(description="Numbers of the sites.")
    published_mean: float = Field(description="Published mean score, EUR/m2.")
    published: tuple[float, ...] = Field(description="Published scores, EUR/m2.")
    low: float = Field(description="Lowest mean that is accepted, EUR/m2.")
    high: float = Field(description="Highest mean that is accepted, EUR/m2.")


class PublishedPhysics(ConfigModel):
    """All published numbers, with their source."""

    source: str = Field(description="Where the numbers come from.")
    policies: dict[str, Policy] = Field(description="Policies by name.")
    levels: tuple[PublishedLevel, ...] = Field(description="Levels.")
    effects: tuple[PublishedEffect, ...] = Field(description="Single-parameter effects.")
    effect_policy: str = Field(description="Policy of the effects.")
    effect_size_from_eur_m2: float = Field(description="Sizes are compared from here.")
    effect_size_factor: float = Field(gt=1, description="Largest ratio of sizes.")
    reference_sites: PublishedSites = Field(description="Fixed reference on sites.")


@dataclass(frozen=True)
class Comparison:
    """One number beside the published one.

    Attributes:
        name: what it is.
        unit: its unit.
        published: the published number.
        measured: mean over the years.
        error: standard error over the years; 0 for a single one.
        verdict: ``agrees``, ``differs`` or ``not judged``.
        rule: what agreement means.
    """

    name: str
    unit: str
    published: float
    measured: float
    error: float
    verdict: str
    rule: str


@dataclass(frozen=True)
class PhysicsReport:
    """The whole comparison.

    Attributes:
        source: of the published numbers.
        years: labels of the weather years of levels and effects.
        levels, effects: comparisons.
        reference: mean score of the fixed reference on the published sites.
        reference_scores: the scores, by number of the site.
    """

    source: str
    years: tuple[str, ...]
    levels: tuple[Comparison, ...]
    effects: tuple[Comparison, ...]
    reference: Comparison
    reference_scores: dict[int, float]

    @cached_property
    def failed(self) -> tuple[Comparison, ...]:
        """Everything that differs."""
        every = (*self.levels, *self.effects, self.reference)
        return tuple(item for item in every if item.verdict == "differs")

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "format": "slowlab-physics-check-1",
            "source": self.source,
            "years": list(self.years),
            "levels": [asdict(item) for item in self.levels],
            "effects": [asdict(item) for item in self.effects],
            "reference": asdict(self.reference),
            "reference_scores": {str(k): v for k, v in self.reference_scores.items()},
            "passed": not self.failed,
        }


def published_physics() -> PublishedPhysics:
    """The packaged numbers."""
    file = resources.files("slowlab.evaluation") / "data" / _DATA
    return validate_config(loads_strict(file.read_bytes()), PublishedPhysics, _DATA)


def check_physics(
    runner: YearRunner,
    parameters: Mapping[str, float],
    sites: Sequence[Site],
    *,
    years: int = 12,
    published: PublishedPhysics | None = None,
) -> PhysicsReport:
    """Compare levels, effects and the fixed reference with published numbers.

    Args:
        runner: simulates; prices and rules are its contract's.
        parameters: of the default site, by GreenLight constant name.
        sites: the sites of ``reference_sites``.
        years: generated weather years for levels and effects.
        published: the numbers; by default the packaged ones.

    Raises:
        PhysicsError: a run failed numerically, so there is nothing to compare.
    """
    published = published or published_physics()
    labels = [year_label("development", number) for number in range(years)]
    check = _Check(runner, published, dict(parameters), labels)
    return PhysicsReport(
        source=published.source,
        years=tuple(labels),
        levels=check.levels(),
        effects=check.effects(),
        **_reference(runner, published.reference_sites, sites),
    )


class PhysicsError(RuntimeError):
    """A run of the check failed numerically."""


@dataclass(frozen=True)
class _Check:
    """Runs of the default site."""

    runner: YearRunner
    published: PublishedPhysics
    parameters: dict[str, float]
    years: Sequence[YearLabel]

    def levels(self) -> tuple[Comparison, ...]:
        """Levels of the default site, each the mean over the years."""
        names = sorted({level.policy for level in self.published.levels})
        contract, found = self.runner.contract, {}
        for name in names:
            policy = self.published.policies[name]
            runs = [facility_run(contract, year, policy, self.parameters) for year in self.years]
            found[name] = self._outcomes(runs)
        return tuple(self._level(level, found[level.policy]) for level in self.published.levels)

    def effects(self) -> tuple[Comparison, ...]:
        """Effects of single parameters on the margin of the January crop."""
        published = self.published
        variants = [{}, *(effect.parameters for effect in published.effects)]
        policy = published.policies[published.effect_policy]
        contract = self.runner.contract
        runs = [
            single_crop_run(contract, year, policy, self.parameters | changed, 0)
            for changed in variants
            for year in self.years
        ]
        margins = [self._account(o.crops[0])[1].margin for o in self._outcomes(runs)]
        table = np.array(margins).reshape(len(variants), len(self.years))
        return tuple(
            self._effect(effect, table[number] - table[0])
            for number, effect in enumerate(published.effects, start=1)
        )

    def _outcomes(self, runs: Sequence[YearRun]) -> list[YearOutcome]:
        outcomes = self.runner.run(runs)
        failed = [outcome.failure for outcome in outcomes if outcome.failure is not None]
        if failed:
            raise PhysicsError(failed[0])
        return outcomes

    def _account(self, crop: Any) -> tuple[LedgerTotals, CropStatement]:
        economics = self.runner.contract.economics
        costs = economics.fixed_costs
        return crop.totals(costs), crop.statement(economics.default_prices, costs)

    def _level(self, level: PublishedLevel, outcomes: Sequence[YearOutcome]) -> Comparison:
        values = []
        for outcome in outcomes:
            crops = sorted(outcome.crops, key=lambda crop: crop.planted_day)
            chosen = {"first": crops[:1], "last": crops[-1:], "mean": crops}[level.planting]
            accounts = [self._account(crop) for crop in chosen]
            values.append(np.mean([_quantity(level.quantity, *account) for account in accounts]))
        measured, error = _mean_and_error(np.array(values))
        agrees = abs(measured - level.published) <= level.tolerance * abs(level.published)
        return Comparison(
            name=level.name,
            unit=level.unit,
            published=level.published,
            measured=measured,
            error=error,
            verdict="agrees" if agrees else "differs",
            rule=f"within {100 * level.tolerance:g} %",
        )

    def _effect(self, effect: PublishedEffect, changes: NDArray[np.float64]) -> Comparison:
        measured, error = _mean_and_error(changes)
        factor = self.published.effect_size_factor
        sized = abs(effect.published) > self.published.effect_size_from_eur_m2
        agrees = math.copysign(1.0, measured) == math.copysign(1.0, effect.published)
        if sized:
            agrees = agrees and 1.0 / factor <= abs(measured / effect.published) <= factor
        verdict = "agrees" if agrees else "differs"
        rule = f"sign, size within x{factor:g}" if sized else "sign"
        return Comparison(
            name=effect.name,
            unit="EUR/m2",
            published=effect.published,
            measured=measured,
            error=error,
            verdict="not judged" if effect.exempt else verdict,
            rule=effect.exempt or rule,
        )


def _quantity(name: str, totals: LedgerTotals, statement: CropStatement) -> float:
    return statement.margin if name == "margin_eur_m2" else getattr(totals, name)


def _mean_and_error(values: NDArray[np.float64]) -> tuple[float, float]:
    count = len(values)
    error = values.std(ddof=1) / math.sqrt(count) if count > 1 else 0.0
    return float(values.mean()), float(error)


def _reference(
    runner: YearRunner, published: PublishedSites, sites: Sequence[Site]
) -> dict[str, Any]:
    """Scores of the fixed reference on the published sites."""
    recommended = reference_recommendations(sites, runner.contract)
    _, table = score_recommendations(runner, {site.index: site for site in sites}, recommended)
    scores = table["score_eur_m2"].to_numpy()
    if not np.isfinite(scores).all():
        raise PhysicsError(str(table["reason"].max()))
    measured, error = _mean_and_error(scores)
    inside = published.low <= measured <= published.high
    comparison = Comparison(
        name=f"fixed reference, {published.partition} sites, mean score",
        unit="EUR/m2",
        published=published.published_mean,
        measured=measured,
        error=error,
        verdict="agrees" if inside else "differs",
        rule=f"from {published.low:g} to {published.high:g}",
    )
    by_site = dict(zip(table["site"].tolist(), scores.tolist(), strict=True))
    return {"reference": comparison, "reference_scores": by_site}
