"""The picture of what experiments are worth: scores by knowledge, site by site, best policies."""

from __future__ import annotations

import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from slowlab.evaluation.score import FIXED_REFERENCE
from slowlab.evaluation.value import BEST, BY_PRICES, COMMON, ValueReport
from slowlab.plots.style import (
    BLACK,
    BLUE,
    DOUBLE_COLUMN_IN,
    GREY,
    SKY_BLUE,
    VERMILLION,
    figure_style,
    new_figure,
)
from slowlab.world.drafts import DRAFT_MARK
from slowlab.world.policy import POLICY_FIELDS, encode, to_unit

_HEIGHT_IN = 5.6
_MINUS = "\N{MINUS SIGN}"
_CAPTION_CHARS, _TITLE_CHARS = 150, 105
_METHODS = (
    (FIXED_REFERENCE, "fixed\nreference", GREY),
    (COMMON, "best single\npolicy", BLUE),
    (BY_PRICES, "best by\nprices", SKY_BLUE),
    (BEST, "best of\nthe site", VERMILLION),
)
_STEPS = (
    ("common", "common to all sites", BLUE),
    ("prices", "from public prices", SKY_BLUE),
    ("learning", "only from learning the site", VERMILLION),
)
_FIELD_LABELS = {
    "day_temperature_c": "Day\ntemperature",
    "night_temperature_c": "Night\ntemperature",
    "co2_target_ppm": "CO$_2$\ntarget",
    "supplemental_light_hours": "Light\nhours",
    "vent_temperature_offset_c": "Vent\noffset",
    "vent_rh_threshold_pct": "Humidity\nthreshold",
}


def draw_value(report: ValueReport) -> Figure:
    """Three panels: mean scores, gains of every site, best policies in the box."""
    with figure_style():
        figure = new_figure(DOUBLE_COLUMN_IN, _HEIGHT_IN)
        figure.text(0.01, 0.985, _title(report), fontsize=9, va="top")
        figure.text(0.01, 0.012, _caption(report), fontsize=6.5, va="bottom", color=GREY)
        _means(_axes(figure, "a", (0.085, 0.585, 0.265, 0.29)), report)
        _sites(_axes(figure, "b", (0.43, 0.585, 0.56, 0.29)), report)
        _optima(_axes(figure, "c", (0.085, 0.2, 0.905, 0.25)), report)
    return figure


def _axes(figure: Figure, letter: str, place: tuple[float, float, float, float]) -> Axes:
    left, bottom, _, height = place
    figure.text(left - 0.075, bottom + height + 0.02, letter, fontsize=9, fontweight="bold")
    return figure.add_axes(place)


def _means(axes: Axes, report: ValueReport) -> None:
    """Mean scores with the errors of their differences from the one before."""
    heights = [report.means[name] for name, _, _ in _METHODS]
    errors = [0.0, *(report.step(name).difference.se_sites for name, _, _ in _STEPS)]
    places = np.arange(len(_METHODS))
    axes.bar(places, heights, color=[colour for _, _, colour in _METHODS], width=0.65)
    axes.errorbar(places[1:], heights[1:], errors[1:], fmt="none", ecolor=BLACK, capsize=2, lw=0.8)
    for place, height, error in zip(places, heights, errors, strict=True):
        level = max(height + error, 0.0)
        axes.annotate(
            f"{height:.1f}".replace("-", _MINUS),
            (place, level),
            (0, 2),
            textcoords="offset points",
            ha="center",
        )
    axes.set_xticks(places, [label for _, label, _ in _METHODS], fontsize=6)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)
    axes.axhline(0, color=BLACK, lw=0.6)
    axes.set_ylabel("Mean score\n(EUR m$^{-2}$ per crop)")


def _sites(axes: Axes, report: ValueReport) -> None:
    """What each way of choosing adds on every site, sites by what only learning adds."""
    wide = report.site_scores.pivot(index="site", columns="method", values="score_eur_m2")
    wide = wide.loc[list(report.sites)]
    learning = (wide[BEST] - wide[BY_PRICES]).sort_values(ascending=False)
    places = np.arange(len(learning))
    order = wide.loc[learning.index]
    gains = (
        order[COMMON] - order[FIXED_REFERENCE],
        order[BY_PRICES] - order[COMMON],
        learning,
    )
    for (_, label, colour), values, marker in zip(_STEPS, gains, "o^s", strict=True):
        axes.plot(places, values, marker, color=colour, ms=2.8, lw=0, label=label)
    smallest = report.contract.evaluation.smallest_effect_of_interest_eur_m2
    axes.axhline(smallest, color=BLACK, lw=0.7, ls=":")
    axes.axhline(0, color=BLACK, lw=0.6)
    axes.set_xlabel("Sites, by what only learning adds")
    axes.set_xticks([])
    axes.set_xlim(-0.7, len(places) - 0.3)
    axes.set_ylabel("Gain (EUR m$^{-2}$ per crop)")
    axes.legend(
        ncols=3,
        loc="lower left",
        bbox_to_anchor=(-0.02, 0.99),
        handletextpad=0.2,
        columnspacing=1.0,
        borderaxespad=0,
    )


def _optima(axes: Axes, report: ValueReport) -> None:
    """Best policies in units of the box; equal ones side by side."""
    bounds = report.contract.policy
    best = [item.policy for item in report.optima if item.site in report.sites]
    unit = to_unit(encode(best), bounds)
    common = to_unit(encode([report.common.policy]), bounds)[0]
    reference = to_unit(encode([report.contract.fixed_reference]), bounds)[0]
    for k in range(len(POLICY_FIELDS)):
        axes.plot(k + _side_by_side(unit[:, k]), unit[:, k], "o", color=VERMILLION, ms=2.4, lw=0)
        axes.plot(k - 0.4, common[k], ">", color=BLUE, ms=5)
        axes.plot(k - 0.4, reference[k], ">", color=GREY, ms=5)
    axes.plot([], [], "o", color=VERMILLION, ms=2.4, lw=0, label="best of each site")
    axes.plot([], [], ">", color=BLUE, ms=5, lw=0, label="best single policy")
    axes.plot([], [], ">", color=GREY, ms=5, lw=0, label="fixed reference")
    axes.legend(ncols=3, loc="lower left", bbox_to_anchor=(-0.01, 1.03), borderaxespad=0)
    axes.set_xlim(-0.55, len(POLICY_FIELDS) - 0.45)
    axes.set_xticks(np.arange(len(POLICY_FIELDS)), [_tick(report, name) for name in POLICY_FIELDS])
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)
    axes.set_ylim(-0.06, 1.06)
    axes.set_yticks([0, 0.5, 1], ["lower\nbound", "middle", "upper\nbound"])


def _tick(report: ValueReport, name: str) -> str:
    bound = report.contract.policy.of(name)
    unit = {"degC": "°C", "percent": "%"}.get(bound.unit, bound.unit)
    return f"{_FIELD_LABELS[name]}\n{bound.min:g} to {bound.max:g} {unit}"


def _side_by_side(values: np.ndarray) -> np.ndarray:
    """Offsets that put points of nearly equal height beside each other, within +-0.3."""
    bins = np.round(values * 25).astype(int)
    offsets = np.zeros(len(values))
    for one in np.unique(bins):
        members = np.flatnonzero(bins == one)
        step = min(0.6 / max(len(members) - 1, 1), 0.04)
        offsets[members] = (np.arange(len(members)) - (len(members) - 1) / 2) * step
    return offsets


def _title(report: ValueReport) -> str:
    draft = f" ({DRAFT_MARK})" if report.draft else ""
    gain, learning = report.step("headroom").difference, report.step("learning").difference
    only = f"{learning.mean:.1f} ± {learning.se_sites:.1f}"
    text = (
        f"Value of experiments under {report.contract.id}{draft}: of {gain.mean:.1f} EUR/m² to "
        f"be gained over the fixed reference, {only} come only from learning the site"
    )
    return textwrap.fill(text, width=_TITLE_CHARS)


def _caption(report: ValueReport) -> str:
    development, weather = report.common.provenance, report.common.provenance["weather"]
    smallest = report.contract.evaluation.smallest_effect_of_interest_eur_m2
    text = (
        f"{len(report.sites)} {report.partition} sites, three scoring years each, not used for any "
        f"choice; single policy and choice by prices from {len(development['sites'])} development "
        f"sites. Error bars: standard error over sites of the difference from the bar before. "
        f"Dotted: smallest effect of interest, {smallest:g} EUR/m². Weather: {weather['source']} "
        "years."
    )
    return textwrap.fill(text, width=_CAPTION_CHARS)
