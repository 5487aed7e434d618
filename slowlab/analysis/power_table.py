"""How many sites a smallest effect of interest asks for: the rule behind the size of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowlab.analysis.power import minimum_detectable_difference, paired_t_power, sites_needed
from slowlab.analysis.samples import round_result

SESOI_SHARES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
"""Effects of the table, in units of the declared SESOI."""


def power_table(
    sds: Mapping[str, Mapping[str, float]],
    sesoi: float,
    sites: Sequence[int],
    level: float,
    power: float,
) -> list[dict[str, Any]]:
    """One row for each source, test and effect.

    Args:
        sds: deviations of site differences by source and test, EUR/m2, above 0.
        sesoi: declared smallest effect size of interest, EUR/m2.
        sites: numbers of sites at which power is stated.
        level: two-sided level of a test.
        power: power asked for.

    Returns:
        ``source``, ``test``, ``sd``, ``effect`` (EUR/m2), ``sites_needed``, and for each number of
        sites its ``power`` and ``minimum_detectable`` (EUR/m2), in ``at``.
    """
    return [
        {
            "source": source,
            "test": test,
            "sd": round_result(sd),
            "effect": round_result(share * sesoi),
            "sites_needed": sites_needed(share * sesoi, sd, level, power),
            "at": [_at(count, share * sesoi, sd, level, power) for count in sites],
        }
        for source, tests in sds.items()
        for test, sd in tests.items()
        for share in SESOI_SHARES
    ]


def _at(sites: int, effect: float, sd: float, level: float, power: float) -> dict[str, Any]:
    return {
        "sites": sites,
        "power": round_result(paired_t_power(effect, sd, sites, level)),
        "minimum_detectable": round_result(minimum_detectable_difference(sd, sites, level, power)),
    }


def power_curves(
    sds: Mapping[str, float], effect: float, sites: Sequence[int], level: float
) -> dict[str, list[float]]:
    """Power against the number of sites, by test.

    Args:
        sds: deviations of site differences by test, EUR/m2, above 0.
        effect: true mean difference, EUR/m2.
        sites: numbers of sites, each at least 2.
        level: two-sided level of a test.
    """
    return {
        test: [round_result(paired_t_power(effect, sd, count, level)) for count in sites]
        for test, sd in sds.items()
    }
