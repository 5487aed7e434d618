"""The results of declared families: one row for each test, with all that is reported of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from slowlab.analysis.bca import Interval, IntervalKind, bca_interval
from slowlab.analysis.equivalence import (
    EquivalenceTest,
    Verdict,
    equivalence_test,
    read_interval,
)
from slowlab.analysis.families import AnalysisSpec, ContrastSpec, FamilySpec
from slowlab.analysis.multiplicity import adjust
from slowlab.analysis.paired import Cell, Differences, contrast
from slowlab.analysis.power import minimum_detectable_difference, paired_t_power
from slowlab.analysis.samples import exact_sample, round_result, sample_fault
from slowlab.analysis.signflip import FlipKind, SignFlipTest, sign_flip_test
from slowlab.evaluation.tables import Column, TableSchema


class TestStatus(StrEnum):
    """What became of a declared test.

    Attributes:
        TESTED: there is a p-value.
        NO_DATA: no site has a difference, or the cells were not run.
        UNDEFINED: the data allow no p-value; ``reason`` says why.
    """

    __test__ = False  # not for pytest

    TESTED = "tested"
    NO_DATA = "no_data"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class ContrastResult:
    """Statistics of one test before adjustment.

    Attributes:
        name: name of the test.
        seed: seed of its flips and resamples.
        differences: the site-level values.
        flips: the sign-flip test.
        interval: the BCa interval of the mean.
        equivalence: the tests against the SESOI.
        sd: standard deviation of the values; None below two values or without spread.
    """

    name: str
    seed: int
    differences: Differences
    flips: SignFlipTest
    interval: Interval
    equivalence: EquivalenceTest
    sd: float | None

    @property
    def status(self) -> TestStatus:
        """What became of the test."""
        if not self.differences.sites:
            return TestStatus.NO_DATA
        return TestStatus.UNDEFINED if self.flips.p is None else TestStatus.TESTED


_NUMBER, _TEXT, _COUNT = "number", "text", "integer"
RESULT_SCHEMA = TableSchema(
    MappingProxyType(
        {
            "family": Column(_TEXT, "-", "family of the test"),
            "test": Column(_TEXT, "-", "name of the test"),
            "place": Column(_COUNT, "-", "place of the test in all families, from 0", low=0),
            "status": Column(_TEXT, "-", "what became of it", allowed=tuple(TestStatus)),
            "reason": Column(_TEXT, "-", "why something is undefined; empty if nothing is"),
            "n_sites": Column(_COUNT, "-", "sites with a difference", low=0),
            "n_excluded": Column(_COUNT, "-", "sites left out", low=0),
            "excluded": Column(_TEXT, "-", "reasons and their counts, as `run_failed: 2`"),
            "estimate": Column(_NUMBER, "EUR/m2", "mean difference", nullable=True),
            "sd": Column(_NUMBER, "EUR/m2", "deviation between sites", nullable=True),
            "ci_low": Column(_NUMBER, "EUR/m2", "lower bound", nullable=True),
            "ci_high": Column(_NUMBER, "EUR/m2", "upper bound", nullable=True),
            "ci_kind": Column(_TEXT, "-", "kind of interval", allowed=tuple(IntervalKind)),
            "p": Column(_NUMBER, "-", "sign-flip p-value", nullable=True, low=0),
            "p_kind": Column(_TEXT, "-", "how flips were made", allowed=tuple(FlipKind)),
            "p_adjusted": Column(_NUMBER, "-", "adjusted p-value", nullable=True, low=0),
            "adjustment": Column(_TEXT, "-", "kind of adjustment"),
            "family_size": Column(_COUNT, "-", "tests declared", low=0),
            "significant": Column(
                _TEXT, "-", "adjusted p below alpha", allowed=("yes", "no", "undefined")
            ),
            "verdict": Column(_TEXT, "-", "tests against the SESOI", allowed=tuple(Verdict)),
            "p_equivalent": Column(_NUMBER, "-", "raw p of TOST", nullable=True, low=0),
            "p_equivalent_adjusted": Column(_NUMBER, "-", "adjusted", nullable=True, low=0),
            "p_beyond": Column(_NUMBER, "-", "raw p, minimum effect", nullable=True, low=0),
            "interval_reading": Column(
                _TEXT, "-", "interval against the SESOI", allowed=tuple(Verdict)
            ),
            "minimum_detectable": Column(
                _NUMBER, "EUR/m2", "difference found with the declared power", nullable=True
            ),
            "power_at_sesoi": Column(_NUMBER, "-", "power for the SESOI", nullable=True, low=0),
            "seed": Column(_COUNT, "-", "seed of flips and resamples", low=0),
        }
    ),
    key=("place",),
)
"""One row for each declared test. Levels: see :class:`slowlab.analysis.families.AnalysisSpec`."""


def analyse_differences(
    name: str, differences: Differences, seed: int, spec: AnalysisSpec
) -> ContrastResult:
    """All statistics of one test.

    Args:
        name: name of the test.
        differences: the site-level values.
        seed: seed of its flips and resamples.
        spec: numbers of the study.
    """
    values = differences.values
    usable = sample_fault(values) is None and len(values) > 1
    sample = exact_sample(values) if usable else None
    return ContrastResult(
        name=name,
        seed=seed,
        differences=differences,
        flips=sign_flip_test(values, seed, flips=spec.flips),
        interval=bca_interval(values, seed, level=spec.confidence, resamples=spec.resamples),
        equivalence=equivalence_test(values, spec.sesoi_eur_m2, alpha=spec.alpha),
        sd=None if sample is None or sample.all_equal else sample.sd,
    )


def declared_differences(
    test: ContrastSpec, cells: Mapping[tuple[str, str], Cell], spec: AnalysisSpec
) -> Differences:
    """Site-level values of a declared test; none at all where a cell was never run.

    Args:
        test: names the cells.
        cells: cells by method and feedback mode.
        spec: holds the rule for repeats.
    """
    keys = [ref.key for ref in (*test.plus, *test.minus)]
    if not keys or any(key not in cells for key in keys):
        return Differences((), np.empty(0))
    plus, minus = ([cells[ref.key] for ref in refs] for refs in (test.plus, test.minus))
    return contrast(plus, minus, spec.repeat_rule)


def family_results(
    spec: AnalysisSpec,
    cells: Mapping[tuple[str, str], Cell],
    differences: Mapping[str, Differences] | None = None,
) -> tuple[pd.DataFrame, dict[str, ContrastResult]]:
    """Compute every declared test and adjust within families.

    Args:
        spec: the declared families and numbers.
        cells: cells by method and feedback mode; those that no test names are ignored.
        differences: values of tests that are computed elsewhere, by name of the test.

    Returns:
        The table of :data:`RESULT_SCHEMA`, one row a test in the declared order, and the results
        behind it by name of the test, with the site-level values.

    Raises:
        ValueError: differences are given for a test that is not declared or that names cells.
    """
    given = dict(differences or {})
    open_tests = {t.name for family in spec.families for t in family.tests if not t.plus + t.minus}
    if not set(given) <= open_tests:
        raise ValueError(f"not declared for given differences: {sorted(set(given) - open_tests)}")
    rows, results = [], {}
    for family in spec.families:
        found = []
        for place, test in enumerate(family.tests):
            values = given.get(test.name)
            if values is None:
                values = declared_differences(test, cells, spec)
            seed = family.seed(spec.base_seed, place)
            found.append(analyse_differences(test.name, values, seed, spec))
        rows += _family_rows(spec, family, found)
        results |= {result.name: result for result in found}
    for place, row in enumerate(rows):
        row["place"] = place
    return RESULT_SCHEMA.table(rows), results


def _family_rows(
    spec: AnalysisSpec, family: FamilySpec, found: Sequence[ContrastResult]
) -> list[dict[str, Any]]:
    adjusted = adjust([r.flips.p for r in found], family.adjustment, family.size_rule)
    tost = [r.equivalence.p_equivalent for r in found]
    adjusted_tost = adjust(tost, family.adjustment, family.size_rule)
    rows = []
    for result, p, p_equivalent in zip(found, adjusted, adjusted_tost, strict=True):
        known = "yes" if p < spec.alpha else "no"
        rows.append(
            {
                "family": family.name,
                "adjustment": family.adjustment.value,
                "family_size": len(family.tests),
                "p_adjusted": p,
                "p_equivalent_adjusted": p_equivalent,
                "significant": "undefined" if np.isnan(p) else known,
                **_test_columns(spec, result),
                **_power_columns(spec, family, result),
            }
        )
    return rows


def _test_columns(spec: AnalysisSpec, result: ContrastResult) -> dict[str, Any]:
    counts = result.differences.exclusion_counts()
    reason = result.flips.reason or result.interval.reason
    return {
        "test": result.name,
        "status": result.status.value,
        "reason": "" if reason is None else reason.value,
        "n_sites": len(result.differences.sites),
        "n_excluded": len(result.differences.excluded),
        "excluded": ", ".join(f"{why}: {count}" for why, count in sorted(counts.items())),
        "estimate": result.interval.mean,
        "sd": result.sd,
        "ci_low": result.interval.low,
        "ci_high": result.interval.high,
        "ci_kind": result.interval.kind.value,
        "p": result.flips.p,
        "p_kind": result.flips.kind.value,
        "verdict": result.equivalence.verdict.value,
        "p_equivalent": result.equivalence.p_equivalent,
        "p_beyond": result.equivalence.p_beyond,
        "interval_reading": read_interval(result.interval, spec.sesoi_eur_m2).value,
        "seed": result.seed,
    }


def _power_columns(
    spec: AnalysisSpec, family: FamilySpec, result: ContrastResult
) -> dict[str, float | None]:
    if result.sd is None:
        return {"minimum_detectable": None, "power_at_sesoi": None}
    n, alpha = len(result.differences.sites), family.power_alpha(spec.alpha)
    detectable = minimum_detectable_difference(result.sd, n, alpha, spec.power)
    power = paired_t_power(spec.sesoi_eur_m2, result.sd, n, alpha)
    return {"minimum_detectable": round_result(detectable), "power_at_sesoi": round_result(power)}
