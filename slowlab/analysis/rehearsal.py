"""A rehearsal of the confirmatory analysis: how often it errs, and how often it finds effects.

The declared tests are run with their own seeds and adjustments on scores from which every effect
was scrambled away, and on simulated scores into which effects were planted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowlab.analysis.equivalence import Verdict, equivalence_test
from slowlab.analysis.families import AnalysisSpec, ContrastSpec, FamilySpec
from slowlab.analysis.multiplicity import adjust
from slowlab.analysis.paired import Differences
from slowlab.analysis.power import paired_t_power
from slowlab.analysis.rehearsal_coverage import coverage_of_intervals, share_with_interval
from slowlab.analysis.rehearsal_flips import many_sign_flips
from slowlab.analysis.rehearsal_planting import ScoreModel, plant, score_model, simulate_scores
from slowlab.analysis.rehearsal_scramble import (
    LABELS,
    SIGNS,
    ScoreGrid,
    Stack,
    is_made_of,
    scramble_labels,
    scramble_signs,
)
from slowlab.analysis.samples import Array, exact_sample, round_result

PLANTED_SHARES = (0.0, 0.5, 1.0, 1.5, 2.0)
"""Planted effects, in units of the declared SESOI; without one, it is the size that is measured."""

SIMULATED = "simulated"
"""Simulated scores without effects, beside the two ways to scramble."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class RehearsalPlan:
    """How much is rehearsed and what must come out.

    Attributes:
        rehearsals: analyses of each kind.
        flips: sign patterns of a test where every rehearsal needs sums of its own. Where signs are
            scrambled all rehearsals share their sums, and the analysis's own number is used.
        sites: sites of simulated studies.
        largest_familywise_error: gate for the first family, for each way without effects.
        largest_power_shortfall: gate for stated power less what can be meant by the share of
            planted effects found.
    """

    rehearsals: int
    flips: int
    sites: int
    largest_familywise_error: float
    largest_power_shortfall: float


def raw_p_values(spec: AnalysisSpec, family: FamilySpec, stack: Stack, flips: int) -> Array:
    """``[rehearsal, test]`` sign-flip p-values; NaN for tests that the stack lacks.

    Args:
        spec: holds the base seed.
        family: the tests.
        stack: ``[rehearsal, site]`` differences by test.
        flips: sign patterns of a test.
    """
    rehearsals = len(next(iter(stack.values())))
    p = np.full((rehearsals, len(family.tests)), np.nan)
    for place, test in enumerate(family.tests):
        if test.name in stack:
            seed = family.seed(spec.base_seed, place)
            p[:, place] = many_sign_flips(stack[test.name], seed, flips)
    return p


def findings(spec: AnalysisSpec, family: FamilySpec, p: Array) -> Bools:
    """``[rehearsal, test]`` whether the adjusted p-value lies below the level.

    Args:
        spec: holds the level.
        family: holds the adjustment.
        p: ``[rehearsal, test]`` raw p-values.
    """
    rows = [adjust(row, family.adjustment, family.size_rule) < spec.alpha for row in p]
    return np.array(rows, dtype=bool).reshape(p.shape)


def size_under_signs(
    spec: AnalysisSpec, differences: Mapping[str, Differences], rehearsals: int
) -> dict[str, Any]:
    """How often anything is found where signs are scrambled, by family.

    Args:
        spec: the declared families.
        differences: site-level values by name of the test; a test that is absent has none.
        rehearsals: number of rehearsals.
    """
    tests = [test for test in _tests(spec) if test.name in differences]
    stack = scramble_signs(tests, differences, spec.base_seed, rehearsals)
    return _sizes(spec, stack, spec.flips)


def size_under_labels(
    spec: AnalysisSpec, grid: ScoreGrid, rehearsals: int, flips: int
) -> dict[str, Any]:
    """How often anything is found where labels are scrambled, by family.

    Tests whose differences are computed elsewhere, as those of readers, have no labels to scramble.

    Args:
        spec: the declared families.
        grid: scores of all cells.
        rehearsals: number of rehearsals.
        flips: sign patterns of a test.
    """
    tests = [test for test in _tests(spec) if is_made_of(test, grid.cells)]
    return _sizes(spec, scramble_labels(grid, tests, spec.base_seed, rehearsals), flips)


def size_without_effects(
    spec: AnalysisSpec, model: ScoreModel, scores: Array, flips: int
) -> dict[str, Any]:
    """How often anything of the first family is found in simulated scores without effects.

    Args:
        spec: the declared families.
        model: behind the scores.
        scores: ``[rehearsal, site, cell]`` simulated scores.
        flips: sign patterns of a test.
    """
    stack = plant(model, scores, np.zeros(len(model.tests)))
    return _sizes(spec, stack, flips)


def planted_effects(
    spec: AnalysisSpec, model: ScoreModel, scores: Array, flips: int
) -> list[dict[str, Any]]:
    """How often planted effects are found, by effect and test of the first family.

    All tests of the family have the effect. ``stated`` is the power of the paired t-test at the
    family's first step, ``found_first_step`` the share found at that level, with its interval, and
    ``found`` the share after the adjustment.

    Args:
        spec: the declared families.
        model: behind the scores.
        scores: ``[rehearsal, site, cell]`` simulated scores without effects.
        flips: sign patterns of a test.

    Raises:
        ValueError: the effects of the tests cannot be chosen freely.
    """
    rows = []
    for share in PLANTED_SHARES:
        effect = share * spec.sesoi_eur_m2
        stack = plant(model, scores, np.full(len(model.tests), effect))
        rows += _planted_rows(spec, model, stack, effect, flips)
    return rows


def gates(
    plan: RehearsalPlan,
    spec: AnalysisSpec,
    sizes: Mapping[str, Mapping[str, Any]],
    planted: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Each gate with its limit, what was measured, and whether it holds.

    A share that is found is compared with the stated power by the upper bound of its interval.
    The bounds hold together for all tests and effects, so that many of them raise no false alarm.

    With few sites no pattern of signs is rare enough for a finding, and a family-wise error of 0
    says nothing; ``can_be_missed`` is false there.

    Args:
        plan: the limits.
        spec: the declared families; all bounds hold together at its level of confidence.
        sizes: outcome of each way without effects, the first family first.
        planted: rows of :func:`planted_effects`.
    """
    found = [
        _gate(
            f"family-wise error, {way}",
            plan.largest_familywise_error,
            size["families"][0]["share"],
            can_be_missed=2.0 ** (1 - size["sites"]) < spec.families[0].power_alpha(spec.alpha),
        )
        for way, size in sizes.items()
    ]
    rows = [row for row in planted if row["effect"]]
    each = 1.0 - (1.0 - spec.confidence) / max(1, len(rows))
    shortfalls = [
        row["stated"] - share_with_interval(row["hits"], row["rehearsals"], each)["high"]
        for row in rows
    ]
    worst = round_result(max(0.0, max(shortfalls, default=0.0)))
    return [*found, _gate("shortfall of power", plan.largest_power_shortfall, worst)]


def rehearse(
    spec: AnalysisSpec,
    differences: Mapping[str, Differences],
    grid: ScoreGrid,
    plan: RehearsalPlan,
) -> dict[str, Any]:
    """Rehearse the declared analysis.

    Tests whose differences are all equal have no spread to simulate. They are scrambled with the
    others, but no effect is planted in them.

    Args:
        spec: the declared families and numbers.
        differences: site-level values of the tests of a finished study.
        grid: scores of its cells.
        plan: how much is rehearsed and what must come out.

    Returns:
        ``size`` by way without effects, ``planted`` rows, ``coverage`` of the intervals, which has
        no gate, and ``gates``; plain data.

    Raises:
        ValueError: the first family has no differences, or too few scores to simulate from.
    """
    first = [
        test
        for test in spec.families[0].tests
        if is_made_of(test, grid.cells) and _vary(differences.get(test.name))
    ]
    if not first:
        raise ValueError(f"family {spec.families[0].name} has no differences to rehearse with")
    model = score_model(grid, first)
    scores = simulate_scores(model, plan.sites, spec.base_seed, plan.rehearsals)
    sizes = {
        SIGNS: size_under_signs(spec, differences, plan.rehearsals),
        LABELS: size_under_labels(spec, grid, plan.rehearsals, plan.flips),
        SIMULATED: size_without_effects(spec, model, scores, plan.flips),
    }
    planted = planted_effects(spec, model, scores, plan.flips)
    found = gates(plan, spec, sizes, planted)
    coverage = coverage_of_intervals(spec, model, scores)
    return {"size": sizes, "planted": planted, "coverage": coverage, "gates": found}


def _tests(spec: AnalysisSpec) -> list[ContrastSpec]:
    return [test for family in spec.families for test in family.tests]


def _vary(found: Differences | None) -> bool:
    """Whether a test has differences that are not all equal."""
    return found is not None and len(found.sites) > 0 and not exact_sample(found.values).all_equal


def _sizes(spec: AnalysisSpec, stack: Stack, flips: int) -> dict[str, Any]:
    return {
        "flips": flips,
        "sites": max(sample.shape[1] for sample in stack.values()),
        "families": [
            _family_size(spec, family, stack, flips)
            for family in spec.families
            if any(test.name in stack for test in family.tests)
        ],
    }


def _family_size(
    spec: AnalysisSpec, family: FamilySpec, stack: Stack, flips: int
) -> dict[str, Any]:
    p = raw_p_values(spec, family, stack, flips)
    found = findings(spec, family, p).any(axis=1)
    rejected = (p < spec.alpha).mean(axis=0)
    return {
        "name": family.name,
        "adjustment": family.adjustment.value,
        **share_with_interval(int(found.sum()), len(found), spec.confidence),
        "tests": {
            test.name: round_result(share) if test.name in stack else None
            for test, share in zip(family.tests, rejected, strict=True)
        },
    }


def _planted_rows(
    spec: AnalysisSpec, model: ScoreModel, stack: Stack, effect: float, flips: int
) -> list[dict[str, Any]]:
    family = spec.families[0]
    level = family.power_alpha(spec.alpha)
    p = raw_p_values(spec, family, stack, flips)
    adjusted = findings(spec, family, p)
    places = {test.name: place for place, test in enumerate(family.tests)}
    rows = []
    for name, sd in zip(model.tests, model.sds.tolist(), strict=True):
        rehearsals, sites = stack[name].shape
        early = int((p[:, places[name]] < level).sum())
        shown = share_with_interval(early, rehearsals, spec.confidence)
        rows.append(
            {
                "test": name,
                "effect": round_result(effect),
                "sd": round_result(sd),
                "sites": sites,
                "stated": round_result(paired_t_power(effect, sd, sites, level)),
                "rehearsals": rehearsals,
                "hits": early,
                "found_first_step": shown["share"],
                "low": shown["low"],
                "high": shown["high"],
                "found": round_result(adjusted[:, places[name]].mean()),
                **_verdict_shares(spec, stack[name]),
            }
        )
    return rows


def _verdict_shares(spec: AnalysisSpec, samples: Array) -> dict[str, float]:
    """How often a test shows an effect beyond the SESOI, or within it."""
    verdicts = [
        equivalence_test(sample, spec.sesoi_eur_m2, alpha=spec.alpha).verdict for sample in samples
    ]
    return {
        verdict.value: round_result(verdicts.count(verdict) / len(verdicts))
        for verdict in (Verdict.BEYOND, Verdict.EQUIVALENT)
    }


def _gate(
    name: str, limit: float, measured: float, *, can_be_missed: bool = True
) -> dict[str, Any]:
    return {
        "name": name,
        "limit": limit,
        "measured": measured,
        "holds": measured <= limit,
        "can_be_missed": can_be_missed,
    }
