"""Named, disjoint pools of synthetic years.

A year is called by its label, ``POOL-INDEX`` or ``PARTITION/POOL-INDEX``, for example
``development-003`` or ``rehearsal/campaign-011``. Its seed is a hash of the generator's version and
the label, so different labels never share a year, and any number of years can be asked for.
"""

from __future__ import annotations

import re
from functools import lru_cache

from slowlab.weather.constants import default_constants
from slowlab.weather.generator import generate_year
from slowlab.weather.series import WeatherYear
from slowlab.weather.streams import integer_from_text

POOLS = ("development", "campaign", "evaluation")
_PARTITION = re.compile(r"[a-z][a-z0-9_]*")
_LABEL = re.compile(r"(?:(?P<partition>[^/]*)/)?(?P<pool>[a-z]+)-(?P<index>[0-9]{3,6})")
_CACHED_YEARS = 32


def year_label(pool: str, index: int, partition: str = "") -> str:
    """Label of a synthetic year.

    Args:
        pool: one of :data:`POOLS`.
        index: number of the year in its pool, 0 to 999999.
        partition: a further name that sets a whole set of pools apart; none by default.

    Raises:
        ValueError: unknown pool, index out of range, or a partition that is not a lower-case name.
    """
    if pool not in POOLS:
        raise ValueError(f"unknown weather pool {pool!r}; there are {', '.join(POOLS)}")
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < 1_000_000:
        raise ValueError(f"index {index!r} of a weather year is not an integer from 0 to 999999")
    if partition and not _PARTITION.fullmatch(partition):
        raise ValueError(f"partition {partition!r} is not a lower-case name")
    prefix = f"{partition}/" if partition else ""
    return f"{prefix}{pool}-{index:03d}"


def year_seed(label: str) -> int:
    """Seed of the year called ``label``, a 63-bit integer."""
    return integer_from_text(f"slowlab-weather-pool|{default_constants().version}|{label}")


def pool_year(pool: str, index: int, partition: str = "") -> WeatherYear:
    """The synthetic year ``index`` of a pool; arguments and errors as for :func:`year_label`."""
    return _cached_year(year_label(pool, index, partition))


def year_from_label(label: str) -> WeatherYear:
    """The synthetic year called ``label``.

    Raises:
        ValueError: the label is not one that :func:`year_label` gives.
    """
    found = _LABEL.fullmatch(label)
    if found is None:
        raise ValueError(f"{label!r} is not the label of a synthetic year, e.g. development-003")
    index = int(found["index"])
    if year_label(found["pool"], index, found["partition"] or "") != label:
        raise ValueError(f"{label!r} is not written as the label of a synthetic year")
    return _cached_year(label)


@lru_cache(maxsize=_CACHED_YEARS)
def _cached_year(label: str) -> WeatherYear:
    return generate_year(year_seed(label), label=label)
