"""Checks of generated years against the targets, figure by figure.

Means over years are compared, with room for the error of a mean over few years. Of the annual
levels every single year must also lie within the range of the formal Cabauw years widened by twice
the stated spread between years.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowlab.weather.constants import GeneratorConstants
from slowlab.weather.statistics import MONTH_LENGTHS, YearStatistics
from slowlab.weather.targets import Targets

Array = NDArray[np.float64]

MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# Figure -> greatest deviation, relative to the target or absolute in its unit.
MONTHLY_RELATIVE = {
    "global_radiation_mean_mj_m2_day": 0.10,
    "global_radiation_sd_mj_m2_day": 0.20,
    "daily_mean_temperature_sd_c": 0.20,
}
MONTHLY_ABSOLUTE = {"air_temperature_mean_c": 1.0}
RESIDUAL_RELATIVE = {"temperature_sd_c": 0.20, "radiation_sd_mj_m2_day": 0.20}
RESIDUAL_ABSOLUTE = {
    "temperature_autocorrelation": 0.10,
    "radiation_autocorrelation": 0.10,
    "corr_temperature_radiation_winter_djf": 0.15,
    "corr_temperature_radiation_summer_jja": 0.15,
}


@dataclass(frozen=True)
class Gate:
    """One comparison: a figure, its target, what was measured, and what is allowed."""

    figure: str
    low: float
    high: float
    measured: float

    @property
    def passed(self) -> bool:
        """Whether the measured value lies between the limits."""
        return self.low <= self.measured <= self.high

    @property
    def margin(self) -> float:
        """Distance to the nearer limit as a share of half the permitted range; negative outside."""
        half = 0.5 * (self.high - self.low)
        return min(self.measured - self.low, self.high - self.measured) / half


def check_gates(
    years: Sequence[YearStatistics],
    targets: Targets,
    constants: GeneratorConstants,
    standard_errors: float = 2.0,
) -> list[Gate]:
    """All comparisons of a set of generated years.

    Args:
        years: descriptions of at least two years.
        targets: figures to be met.
        constants: of the generator, for the stated spread between years.
        standard_errors: by how many standard errors of a mean over the years the permitted range of
            monthly figures and daily residuals is widened; 0 for the bare limits.
    """
    return [
        *_annual_gates(years, targets, constants),
        *_monthly_gates(years, targets, standard_errors),
        *_residual_gates(years, targets, standard_errors),
    ]


def month_figures(years: Sequence[YearStatistics], name: str) -> Array:
    """Mean over years of a monthly figure, ``[12]``; root mean square for standard deviations."""
    values = np.array([year.monthly[name] for year in years])
    if "_sd_" in name:
        return np.sqrt((values**2).mean(axis=0))
    return values.mean(axis=0)


def _annual_gates(
    years: Sequence[YearStatistics], targets: Targets, constants: GeneratorConstants
) -> list[Gate]:
    gates = []
    for name, (low, high) in targets.annual_range.items():
        levels = np.array([year.annual[name] for year in years])
        spread = constants.stated_spread[name]
        error = 2.0 * spread / np.sqrt(len(levels))
        gates.append(Gate(f"{name}, mean of years", low - error, high + error, levels.mean()))
        limits = constants.annual_limits[name]
        gates.append(Gate(f"{name}, lowest year", *limits, levels.min()))
        gates.append(Gate(f"{name}, highest year", *limits, levels.max()))
        ratio = levels.std(ddof=1) / spread
        gates.append(Gate(f"{name}, spread of years / stated", 0.6, 1.4, ratio))
    return gates


def _standard_error(values: Array) -> Array:
    """Standard error of the mean over years, the first axis."""
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))


def _monthly_gates(
    years: Sequence[YearStatistics], targets: Targets, standard_errors: float
) -> list[Gate]:
    gates = []
    for name in (*MONTHLY_ABSOLUTE, *MONTHLY_RELATIVE):
        measured, wanted = month_figures(years, name), targets.monthly[name]
        error = standard_errors * _standard_error(np.array([year.monthly[name] for year in years]))
        for month in range(len(MONTH_LENGTHS)):
            room = MONTHLY_ABSOLUTE.get(name, MONTHLY_RELATIVE.get(name, 0.0) * wanted[month])
            room += error[month]
            low, high = wanted[month] - room, wanted[month] + room
            gates.append(Gate(f"{name}, {MONTH_NAMES[month]}", low, high, measured[month]))
    return gates


def _residual_gates(
    years: Sequence[YearStatistics], targets: Targets, standard_errors: float
) -> list[Gate]:
    """Spread, lag-1 autocorrelation and correlation of daily residuals."""
    gates = []
    for name in (*RESIDUAL_RELATIVE, *RESIDUAL_ABSOLUTE):
        values = np.array([year.residuals[name][0] for year in years])
        wanted = float(targets.residuals[name][0])
        room = RESIDUAL_ABSOLUTE.get(name, RESIDUAL_RELATIVE.get(name, 0.0) * wanted)
        room += standard_errors * float(_standard_error(values))
        low, high = wanted - room, wanted + room
        gates.append(Gate(f"daily residuals, {name}", low, high, float(values.mean())))
    return gates
