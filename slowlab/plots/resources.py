"""Heat and light per crop as bars, one row a method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from matplotlib.axes import Axes

from slowlab.plots.style import BLACK, GREY, ORANGE, VERMILLION

X_LABEL = "kWh m$^{-2}$ per crop"
_HEIGHT, _SHIFT = 0.34, 0.19
_LIGHT = "#F3CF7A"
_HEAT = VERMILLION


@dataclass(frozen=True)
class ResourceRow:
    """Heat and light of one method.

    Attributes:
        heat_kwh_m2: heat per crop; None if unknown.
        light_kwh_m2: lamp electricity per crop; None if unknown.
        published_heat_kwh_m2: published heat; None without.
        published_light_kwh_m2: published light; None without.
    """

    heat_kwh_m2: float | None
    light_kwh_m2: float | None
    published_heat_kwh_m2: float | None = None
    published_light_kwh_m2: float | None = None


def draw_resources(axis: Axes, rows: Sequence[ResourceRow], name: str, title: str) -> None:
    """Draw two bars a row, heat above light, at heights 0, 1, ... which the caller orders.

    Args:
        axis: where to draw.
        rows: one for each method.
        name: first part of the names (``gid``): ``<name>-row<i>-heat``, ``-light``,
            ``-published-heat``, ``-published-light``.
        title: title of the panel.
    """
    for place, row in enumerate(rows):
        known = (
            ("heat", row.heat_kwh_m2, row.published_heat_kwh_m2, -_SHIFT, _HEAT, None),
            ("light", row.light_kwh_m2, row.published_light_kwh_m2, _SHIFT, _LIGHT, "...."),
        )
        for what, value, published, shift, colour, hatch in known:
            height = place + shift
            if value is not None:
                _bar(axis, value, height, f"{name}-row{place}-{what}", colour, hatch)
                _write(axis, value, max(value, published or 0.0), height)
            if published is not None:
                axis.plot(
                    [published],
                    [height],
                    "D",
                    color=GREY,
                    markerfacecolor="white",
                    markersize=3.6,
                    markeredgewidth=0.9,
                    zorder=4,
                    gid=f"{name}-row{place}-published-{what}",
                )
        if row.heat_kwh_m2 is None and row.light_kwh_m2 is None:
            axis.text(0, place, " no data", va="center", fontsize=6.5, color=GREY)
    values = [value for row in rows for value in astuple(row) if value is not None]
    axis.set_xlim(0, 1.32 * max(values, default=1.0))
    axis.grid(False, axis="y")
    axis.set_yticks([])
    axis.set_xlabel(X_LABEL)
    axis.set_title(title, loc="left")


def _bar(
    axis: Axes, value: float, height: float, name: str, colour: str, hatch: str | None
) -> None:
    bars = axis.barh(
        height,
        value,
        height=_HEIGHT,
        color=colour,
        hatch=hatch,
        edgecolor=ORANGE if hatch else colour,
        linewidth=0.4,
        zorder=2,
    )
    bars[0].set_gid(name)


def _write(axis: Axes, value: float, end: float, height: float) -> None:
    """The value behind its bar and behind the published one."""
    axis.annotate(
        f"{value:.0f}",
        (end, height),
        (4.5, 0),
        textcoords="offset points",
        va="center",
        fontsize=6,
        color=BLACK,
        zorder=5,
    )
