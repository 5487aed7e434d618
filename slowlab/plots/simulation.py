"""The picture of a simulation: climate, crop, resources and commands over time."""

from __future__ import annotations

import textwrap
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import DateFormatter, DayLocator, MonthLocator
from matplotlib.figure import Figure

from slowlab.plots.style import (
    BLACK,
    BLUE,
    DOUBLE_COLUMN_IN,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY_BLUE,
    VERMILLION,
    figure_style,
    new_figure,
)
from slowlab.world.policy import Policy
from slowlab.world.simulation import CropEnding, Simulation
from slowlab.world.simulation_table import daily_table

_HEIGHT_IN = 7.8
# Left, right, bottom and top of each panel's axes, as shares of the figure.
_PLACES = {
    "a": (0.1, 0.48, 0.555, 0.91),
    "b": (0.595, 0.975, 0.555, 0.91),
    "c": (0.1, 0.48, 0.115, 0.475),
    "d": (0.595, 0.975, 0.115, 0.475),
}
_CAPTION_CHARS = 132
_FEW_DAYS = 3
_NOON = pd.Timedelta(hours=12)
_DAY = pd.Timedelta(days=1)
_TIGHT = {"borderaxespad": 0, "columnspacing": 0.9, "handlelength": 1.8, "handletextpad": 0.5}
_BAND_ALPHA = 0.3
_ENDINGS = {
    CropEnding.COMPLETED: "completed",
    CropEnding.STOPPED: "stopped",
    CropEnding.TEMPERATURE_SAFETY: "stopped: air outside the safe range",
    CropEnding.COLLAPSED: "stopped: crop collapsed",
    CropEnding.DEADLINE: "cut at the end of the campaign",
    CropEnding.WEATHER_END: "cut where the weather series ends",
    CropEnding.NUMERICAL_FAILURE: "lost: the integration failed",
}
_COMMANDS = (
    ("heating_command", "Heating", VERMILLION),
    ("vent_command", "Vents", SKY_BLUE),
    ("screen_command", "Screen", PURPLE),
    ("lamp_command", "Lamps", ORANGE),
    ("co2_command", "CO$_2$", GREEN),
)


def draw_simulation(simulation: Simulation) -> Figure:
    """Four panels of daily values: climate, crop, resources, commands.

    Of every planting the first compartment is drawn, while its crop stands.
    """
    daily = daily_table(simulation.table)
    compartments = [min(item.compartments) for item in simulation.plantings]
    grown = daily.index.get_level_values("compartment")
    crops = [daily.xs(c, level="compartment") for c in compartments if c in grown]
    with figure_style():
        figure = new_figure(DOUBLE_COLUMN_IN, _HEIGHT_IN)
        figure.text(0.01, 0.985, _title(simulation, crops), fontsize=9, va="top")
        figure.text(0.01, 0.008, _caption(simulation), fontsize=6.5, va="bottom", color=GREY)
        if crops:
            _climate(figure, crops, simulation.policy)
            _crop(figure, crops)
            _resources(figure, crops)
            _commands(figure, crops)
    return figure


def _panel(
    figure: Figure, letter: str, title: str, heights: tuple[float, ...], hspace: float = 0.2
) -> list[Axes]:
    """Axes below each other with a common time axis, at the place of a panel."""
    left, right, bottom, top = _PLACES[letter]
    figure.text(left - 0.09, top + 0.022, letter, fontsize=9, fontweight="bold")
    figure.text(left - 0.07, top + 0.022, title, fontsize=8, fontweight="bold")
    grid = figure.add_gridspec(
        len(heights),
        1,
        height_ratios=heights,
        left=left,
        right=right,
        bottom=bottom,
        top=top,
        hspace=hspace,
    )
    axes = list(grid.subplots(sharex=True, squeeze=False)[:, 0])
    for axis in axes:
        axis.yaxis.set_label_coords(-0.13, 0.5)
    return axes


def _finish(axes: list[Axes], crops: list[pd.DataFrame]) -> None:
    """The time axis."""
    begin = min(crop.index[0] for crop in crops)
    end = max(crop.index[-1] for crop in crops) + _DAY
    months = (end - begin).days > 62
    locator = MonthLocator() if months else DayLocator(interval=1 + (end - begin).days // 6)
    for axis in axes:
        axis.set_xlim(begin, end)
        axis.xaxis.set_major_locator(locator)
        axis.xaxis.set_major_formatter(DateFormatter("%b" if months else "%d %b"))


def _once(label: str, number: int) -> str | None:
    """A label for the first crop only, so that a legend names each line once."""
    return label if number == 0 else None


def _dots(crop: pd.DataFrame) -> dict[str, Any]:
    """Marks for a crop of so few days that a line would not be seen."""
    return {"marker": "o", "markersize": 2.5} if len(crop) < _FEW_DAYS else {}


def _band(axis: Axes, crops: list[pd.DataFrame], column: str, colour: str, label: str) -> None:
    """Daily mean as a line, daily minimum to maximum as a band."""
    for number, crop in enumerate(crops):
        time = crop.index + _NOON
        axis.fill_between(
            time,
            crop[f"{column}_min"],
            crop[f"{column}_max"],
            color=colour,
            alpha=_BAND_ALPHA,
            linewidth=0,
        )
        mean = crop[f"{column}_mean"]
        axis.plot(time, mean, color=colour, label=_once(label, number), **_dots(crop))


def _level(axis: Axes, crops: list[pd.DataFrame], value: float, style: str, label: str) -> None:
    """A set-point, drawn while a crop stands."""
    for number, crop in enumerate(crops):
        span = [crop.index[0], crop.index[-1] + _DAY]
        axis.plot(
            span, [value] * 2, color=BLACK, linestyle=style, lw=0.8, label=_once(label, number)
        )


def _running(
    axis: Axes, crops: list[pd.DataFrame], column: str, scale: float = 1.0, **line: Any
) -> None:
    """A value at the end of each day; a sum begins with zero at the planting."""
    label = line.pop("label", "")
    for number, crop in enumerate(crops):
        values = scale * crop[column].set_axis(crop.index + _DAY)
        if column.endswith("_cumulative"):
            values = pd.concat([pd.Series(0.0, index=crop.index[:1]), values])
        look = line | _dots(crop)
        axis.plot(values.index, values, label=_once(label, number), clip_on=False, **look)


def _climate(figure: Figure, crops: list[pd.DataFrame], policy: Policy) -> None:
    axes = _panel(figure, "a", "Climate", (2, 1, 1), hspace=0.4)
    air, humidity, co2 = axes
    _band(air, crops, "true_air_temperature_c", VERMILLION, "indoors")
    for number, crop in enumerate(crops):
        air.plot(
            crop.index + _NOON,
            crop["outdoor_air_temperature_c_mean"],
            color=BLUE,
            linestyle="-.",
            lw=0.9,
            label=_once("outdoors", number),
            **_dots(crop),
        )
    _level(air, crops, policy.day_temperature_c, "--", "day target")
    _level(air, crops, policy.night_temperature_c, ":", "night target")
    air.set_ylabel("Air temperature\n(°C)")
    _band(humidity, crops, "true_relative_humidity_pct", SKY_BLUE, "indoors")
    _level(humidity, crops, policy.vent_rh_threshold_pct, "--", "vents open")
    humidity.set_ylim(top=100)
    humidity.set_ylabel("Rel. humidity\n(%)")
    _band(co2, crops, "true_co2_ppm", GREEN, "indoors")
    _level(co2, crops, policy.co2_target_ppm, "--", "dosing target")
    co2.set_ylabel("CO$_2$\n(ppm)")
    for axis in axes:
        axis.legend(ncols=4, loc="lower left", bbox_to_anchor=(-0.02, 0.97), **_TIGHT)
    _finish(axes, crops)


def _crop(figure: Figure, crops: list[pd.DataFrame]) -> None:
    axes = _panel(figure, "b", "Crop", (1, 1, 1))
    leaves, fruit, harvest = axes
    _running(leaves, crops, "true_lai_m2_m2_last", color=GREEN)
    leaves.set_ylabel("Leaf area index\n(m$^2$ m$^{-2}$)")
    _running(fruit, crops, "fruit_mg_m2_last", scale=1e-3, color=ORANGE)
    fruit.set_ylabel("Fruit on plants\n(g CH$_2$O m$^{-2}$)")
    _running(harvest, crops, "harvest_kg_m2_cumulative", color=VERMILLION)
    harvest.set_ylabel("Cumulative harvest\n(kg m$^{-2}$, fresh)")
    for axis in axes:
        axis.set_ylim(bottom=0)
    _finish(axes, crops)


def _resources(figure: Figure, crops: list[pd.DataFrame]) -> None:
    axes = _panel(figure, "c", "Resources since planting", (2, 1))
    energy, co2 = axes
    _running(energy, crops, "heat_kwh_m2_cumulative", color=VERMILLION, label="heat")
    _running(energy, crops, "light_kwh_m2_cumulative", color=ORANGE, ls="--", label="lamps")
    energy.set_ylabel("Heat and lamp electricity\n(kWh m$^{-2}$)")
    energy.legend(loc="upper left")
    _running(co2, crops, "co2_kg_m2_cumulative", color=GREEN)
    co2.set_ylabel("CO$_2$ dosed\n(kg m$^{-2}$)")
    for axis in axes:
        axis.set_ylim(bottom=0)
    _finish(axes, crops)


def _commands(figure: Figure, crops: list[pd.DataFrame]) -> None:
    axes = _panel(
        figure, "d", "Commands, daily mean (% of full)", (1,) * len(_COMMANDS), hspace=0.35
    )
    for axis, (column, name, colour) in zip(axes, _COMMANDS, strict=True):
        for crop in crops:
            edges = crop.index.append(crop.index[-1:] + _DAY)
            share = 100.0 * crop[f"{column}_mean"]
            axis.stairs(share, edges, fill=True, color=colour, alpha=0.5, lw=0)
            axis.stairs(share, edges, color=colour, lw=0.8)
        axis.set_ylim(0, 100)
        axis.set_yticks([0, 50, 100])
        axis.set_ylabel(name)
    _finish(axes, crops)


def _title(simulation: Simulation, crops: list[pd.DataFrame]) -> str:
    mode = "One crop" if simulation.mode == "crop" else "One facility-year"
    draft = " (DRAFT)" if simulation.simulator.contract.draft else ""
    planted = " and ".join(f"{crop.index[0]:%d %b}".lstrip("0") for crop in crops)
    margin = f"{simulation.mean_margin:.2f}".replace("-", "\N{MINUS SIGN}")
    ending = ", ".join(sorted({_ENDINGS[crop.ending] for crop in simulation.crops}))
    each = "" if simulation.mode == "crop" else " per crop"
    return f"{mode}{draft}, planted {planted}: margin {margin} EUR m$^{{-2}}${each}; {ending}"


def _caption(simulation: Simulation) -> str:
    policy = simulation.policy
    noise = "exact readings" if simulation.options.noise_seed is None else "noisy readings"
    drawn = [str(min(item.compartments)) for item in simulation.plantings]
    lines = [
        f"Policy: {policy.day_temperature_c:g} °C by day, {policy.night_temperature_c:g} °C by "
        f"night, CO₂ {policy.co2_target_ppm:g} ppm, lamps {policy.supplemental_light_hours:g} "
        f"h/day, vents from +{policy.vent_temperature_offset_c:g} K or "
        f"{policy.vent_rh_threshold_pct:g} % humidity; {noise}.",
        f"Weather: {simulation.weather.source}. Time is UTC+1.",
        "Lines are daily means, bands reach from the daily minimum to the maximum; all per m² of "
        "floor.",
    ]
    if simulation.mode == "year":
        lines[-1] += f" Drawn while a crop stands: compartments {' and '.join(drawn)}."
    return "\n".join(textwrap.fill(line, width=_CAPTION_CHARS) for line in lines)
