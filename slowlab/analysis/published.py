"""The published results, for showing beside our own.

Source: the SlowLab paper (see ``CITATION.cff``) and its repository; ``published.json`` names the
file of each block. Cite the paper wherever one of these numbers is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from slowlab.analysis.published_schema import Estimate, PublishedResults
from slowlab.canonical import loads_strict
from slowlab.config import validate_config

FILE = "published.json"


class Version(StrEnum):
    """Which of the two published analyses."""

    CORRECTED = "corrected"
    ORIGINAL = "original"


@cache
def load_published() -> PublishedResults:
    """The packaged results, checked against their schema.

    Raises:
        ConfigError: the packaged file does not fit its schema.
    """
    return parse_published(loads_strict((files("slowlab.analysis") / FILE).read_bytes()))


def parse_published(content: Mapping[str, Any]) -> PublishedResults:
    """Check plain data against the schema of the published results.

    Raises:
        ConfigError: names the key that does not fit.
    """
    return validate_config(dict(content), PublishedResults, FILE)


def primary_tests(version: Version) -> dict[str, Estimate]:
    """The seven primary tests by name, in their order."""
    return dict(getattr(load_published().table3_primary, version.value).tests)


def secondary_tests(version: Version) -> dict[str, Estimate]:
    """The 17 secondary tests by name: 13 of scores, then the pooled gains of four readers."""
    published = load_published()
    tests = getattr(published.table3_secondary, version.value).tests
    swaps = getattr(published.e3_reader_swap, version.value).pooled_over_sites
    return {**tests, **{f"E3_{reader}_gain": estimate for reader, estimate in swaps.items()}}


def published_table() -> pd.DataFrame:
    """All primary and secondary tests of both analyses.

    Returns:
        One row a test and version, with ``version``, ``family``, ``test``, ``n_sites``,
        ``estimate``, ``ci_low``, ``ci_high``, ``sd``, ``p``, ``p_adjusted`` (Holm over the 7
        primaries, Benjamini-Hochberg over the 17 secondaries) and ``minimum_detectable``; columns
        that our own results have too bear the same names. ``sd`` and ``minimum_detectable`` are
        missing for readers.
    """
    rows = [
        {"version": version.value, "family": family, "test": name, **_columns(estimate)}
        for version in Version
        for family, tests in (
            ("primary", primary_tests(version)),
            ("secondary", secondary_tests(version)),
        )
        for name, estimate in tests.items()
    ]
    return pd.DataFrame(rows).astype({"sd": "float64", "minimum_detectable": "float64"})


def _columns(estimate: Estimate) -> dict[str, Any]:
    joint = estimate.p_bh_joint17
    return {
        "n_sites": estimate.n,
        "estimate": estimate.mean,
        "ci_low": estimate.ci95_bca[0],
        "ci_high": estimate.ci95_bca[1],
        "sd": estimate.sd,
        "p": estimate.p_sign_flip,
        "p_adjusted": estimate.p_adjusted if joint is None else joint,
        "minimum_detectable": estimate.mde_80pct,
    }
