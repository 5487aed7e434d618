"""Figure that compares generated years with their targets.

The functions draw into a given figure or axes, in whatever style is active, and save nothing.
Colours are those of Okabe and Ito, which all forms of colour blindness keep apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slowlab.weather.constants import GeneratorConstants
from slowlab.weather.gates import MONTH_NAMES
from slowlab.weather.series import WeatherYear
from slowlab.weather.statistics import (
    CURVE_DRIVERS,
    CURVE_MONTHS,
    EXCEEDED_PCT,
    YearStatistics,
    autocorrelation,
    daily_means,
    describe_year,
    diurnal_cycles,
    duration_curve,
    seasonal_residuals,
)
from slowlab.weather.targets import Targets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

BLUE, VERMILLION, BLACK = "#0072B2", "#D55E00", "#000000"
FIGURE_IN = (7.2, 8.3)
_LAGS = np.arange(1, 8)
_ANNUAL_LABELS = {
    "air_temperature_mean_c": "temperature",
    "dew_point_mean_c": "dew point",
    "wind_10m_mean_m_s": "wind",
    "global_radiation_sum_mj_m2": "radiation",
    "longwave_mean_w_m2": "longwave",
}


@dataclass(frozen=True)
class ComparedYears:
    """What the figure shows of a set of years.

    Attributes:
        source: name of the set, e.g. "30 synthetic years, development-000 to development-029".
        descriptions: figures of each year.
        diurnal: ``[years, 2, 24]`` by driver.
        duration: ``[years, 24]`` by driver.
        lags: ``[years, 7]`` autocorrelation of daily residuals by driver.
    """

    source: str
    descriptions: Sequence[YearStatistics]
    diurnal: dict[str, Array]
    duration: dict[str, Array]
    lags: dict[str, Array]


def compare_years(years: Sequence[WeatherYear], source: str) -> ComparedYears:
    """Compute what the figure shows of ``years``."""
    return ComparedYears(
        source=source,
        descriptions=[describe_year(year) for year in years],
        diurnal={
            name: np.stack([diurnal_cycles(y, name) for y in years]) for name in CURVE_DRIVERS
        },
        duration={
            name: np.stack([duration_curve(y, name) for y in years]) for name in CURVE_DRIVERS
        },
        lags={name: np.stack([_residual_lags(y, name) for y in years]) for name in CURVE_DRIVERS},
    )


def draw_comparison(
    figure: Figure, compared: ComparedYears, targets: Targets, constants: GeneratorConstants
) -> None:
    """Draw twelve panels into an empty figure of about :data:`FIGURE_IN` inches.

    Args:
        figure: an empty figure.
        compared: the years.
        targets: what they are compared with.
        constants: of the generator, for the stated spread between years.
    """
    axes = figure.subplots(4, 3)
    draw_monthly(axes[0, 0], compared, targets, "air_temperature_mean_c", absolute=1.0)
    draw_monthly(axes[0, 1], compared, targets, "global_radiation_mean_mj_m2_day", 0.1)
    draw_monthly(axes[0, 2], compared, targets, "wind_mean_m_s")
    draw_monthly(axes[1, 0], compared, targets, "daily_mean_temperature_sd_c", 0.2)
    draw_monthly(axes[1, 1], compared, targets, "global_radiation_sd_mj_m2_day", 0.2)
    draw_annual(axes[1, 2], compared, targets, constants)
    wanted = ("temperature_autocorrelation", "radiation_autocorrelation")
    for at, (driver, name) in enumerate(zip(CURVE_DRIVERS, wanted, strict=True)):
        draw_lags(axes[2, at], compared.lags[driver], targets.residuals[name])
        draw_diurnal(axes[3, at], compared.diurnal[driver], targets.diurnal[driver], driver)
        draw_duration(axes[2 + at, 2], compared.duration[driver], targets.duration[driver], driver)
    _add_titles(axes)
    _add_legend(figure, compared, targets)


def draw_monthly(
    axes: Axes,
    compared: ComparedYears,
    targets: Targets,
    name: str,
    relative: float = 0.0,
    absolute: float = 0.0,
) -> None:
    """A monthly figure: band and mean of the years, target with its tolerance."""
    months = np.arange(12)
    values = np.array([year.monthly[name] for year in compared.descriptions])
    _draw_band(axes, months, values, BLUE)
    wanted = targets.monthly[name]
    room = absolute + relative * wanted
    _draw_target(axes, months, wanted, room if np.any(room > 0) else None)
    axes.set_xticks(months, [month[0] for month in MONTH_NAMES])
    axes.set_xlim(-0.6, 11.6)


def draw_annual(
    axes: Axes, compared: ComparedYears, targets: Targets, constants: GeneratorConstants
) -> None:
    """Annual levels of each year against the Cabauw range, in stated standard deviations."""
    for row, (name, label) in enumerate(_ANNUAL_LABELS.items()):
        low, high = targets.annual_range[name]
        middle, spread = 0.5 * (low + high), constants.stated_spread[name]
        levels = np.array([year.annual[name] for year in compared.descriptions])
        axes.plot((levels - middle) / spread, np.full(len(levels), row), "|", color=BLUE, ms=6)
        half = 0.5 * (high - low) / spread
        axes.errorbar(0.0, row + 0.3, xerr=half, color=BLACK, capsize=1.5, lw=1.2, capthick=0.8)
        axes.text(-0.03, row, label, ha="right", va="center", transform=axes.get_yaxis_transform())
    axes.set_yticks([])
    axes.set_ylim(len(_ANNUAL_LABELS) - 0.4, -0.5)
    axes.set_xlim(-3.4, 3.4)
    axes.set_xlabel("distance from the middle of the\nCabauw years, stated sd of years")


def draw_lags(axes: Axes, lags: Array, wanted: Array) -> None:
    """Autocorrelation of daily residuals; the tolerance holds for a lag of one day."""
    _draw_band(axes, _LAGS, lags, BLUE)
    at = np.array([1, 2, 3, 7])[: len(wanted)]
    _draw_target(axes, at[:1], wanted[:1], np.array([0.1]))
    _draw_target(axes, at[1:], wanted[1:], None)
    axes.axhline(0.0, color=BLACK, lw=0.5)
    axes.set_xticks(_LAGS)
    axes.set_xlabel("lag, days")


def draw_diurnal(axes: Axes, cycles: Array, wanted: Array, driver: str) -> None:
    """Mean diurnal cycle in January and July."""
    hours = np.arange(24) + 0.5
    for at, color in enumerate((BLUE, VERMILLION)):
        _draw_band(axes, hours, cycles[:, at], color)
        axes.plot(hours[::2], wanted[at][::2], "o", color=BLACK, ms=2.2, zorder=5)
        top = np.quantile(cycles[:, at], 0.9, axis=0)
        place = _label_place(top, at, driver)
        label = MONTH_NAMES[CURVE_MONTHS[at]]
        axes.annotate(label, place, (0, 3), textcoords="offset points", color=color)
    axes.set_xticks(np.arange(0, 25, 6))
    axes.set_xlabel("local time (UTC+1), h")


def _label_place(top: Array, at: int, driver: str) -> tuple[float, float]:
    """A free spot for the name of the month beside its curve."""
    if driver == CURVE_DRIVERS[0]:
        return 1.0, float(top[:6].max())
    return (11.4, float(top.max())) if at == 0 else (17.2, 0.7 * float(top.max()))


def draw_duration(axes: Axes, curves: Array, wanted: Array, driver: str) -> None:
    """Duration curve: hourly value against the share of the year in which it is exceeded."""
    shown = (100.0 if driver == CURVE_DRIVERS[0] else 50.0) >= EXCEEDED_PCT
    _draw_band(axes, EXCEEDED_PCT[shown], curves[:, shown], BLUE)
    axes.plot(EXCEEDED_PCT[shown], wanted[shown], "o", color=BLACK, ms=2.2, zorder=5)
    axes.set_xlabel("exceeded in % of the hours")


def _residual_lags(year: WeatherYear, driver: str) -> Array:
    residuals = seasonal_residuals(daily_means(year, driver))
    return np.array([autocorrelation(residuals, int(lag)) for lag in _LAGS])


def _draw_band(axes: Axes, x: Array, values: Array, color: str) -> None:
    """Middle 80 % of the years as a band, their mean as a line."""
    low, high = np.quantile(values, [0.1, 0.9], axis=0)
    axes.fill_between(x, low, high, color=color, alpha=0.22, lw=0)
    axes.plot(x, values.mean(axis=0), color=color)


def _draw_target(axes: Axes, x: Array, wanted: Array, room: Array | float | None) -> None:
    if room is None:
        axes.plot(x, wanted, "o", color=BLACK, ms=2.6, zorder=5)
    else:
        axes.errorbar(
            x, wanted, yerr=room, fmt="o", color=BLACK, ms=2.6, lw=0.7, capsize=1.5, zorder=5
        )


def _add_titles(axes: NDArray) -> None:
    titles = (
        ("Temperature, monthly mean", "°C"),
        ("Radiation, monthly mean", "MJ m$^{-2}$ d$^{-1}$"),
        ("Wind, monthly mean", "m s$^{-1}$ at 10 m"),
        ("Temperature, spread of days", "sd of days, K"),
        ("Radiation, spread of days", "sd of days, MJ m$^{-2}$"),
        ("Annual levels (bar: Cabauw)", ""),
        ("Temperature, memory", "autocorrelation"),
        ("Radiation, memory", "autocorrelation"),
        ("Temperature, duration", "°C, hourly"),
        ("Temperature, mean day", "°C"),
        ("Radiation, mean day", "W m$^{-2}$"),
        ("Radiation, duration", "W m$^{-2}$, hourly"),
    )
    for letter, panel, (title, unit) in zip("abcdefghijkl", axes.ravel(), titles, strict=True):
        panel.set_title(f"{letter}  {title}", loc="left")
        panel.set_ylabel(unit)


def _add_legend(figure: Figure, compared: ComparedYears, targets: Targets) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Line2D([], [], color=BLUE, label="mean of the years"),
        Patch(color=BLUE, alpha=0.22, lw=0, label="middle 80 % of the years"),
        Line2D([], [], color=BLUE, marker="|", ls="", ms=6, label="one year"),
        Line2D([], [], color=BLACK, marker="o", ls="", ms=2.6, label="target (bar: tolerance)"),
    ]
    figure.suptitle(compared.source, x=0.01, y=0.995, ha="left", fontsize=8, fontweight="bold")
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.0, 0.983), ncols=4)
    note = f"Targets: SEL year at the level of Cabauw. {targets.source}."
    figure.text(0.01, 0.004, _wrapped(note), fontsize=5.5, va="bottom")
    figure.tight_layout(rect=(0.0, 0.035, 1.0, 0.962), h_pad=0.6, w_pad=0.8)


def _wrapped(text: str, width: int = 150) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width))
