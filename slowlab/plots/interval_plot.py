"""Interval plots: one row a method, dots for sites, a bar for the interval, its figures beside it.

Means, intervals and p-values are drawn as given and never recomputed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from slowlab.plots.style import BLACK, DOUBLE_COLUMN_IN, GREY, figure_style, new_figure

JITTER = 0.18
DOT_ALPHA = 0.35
X_LABEL = "Site-level paired difference (EUR m$^{-2}$)"
_GOLDEN = (5**0.5 - 1) / 2
_ROW_IN = 0.42
_FRAME_IN = 0.78  # titles, ticks and axis label
_LEGEND_IN = 0.2
_CHAR_SHARE = 0.0082  # width of a character of a name, as a share of the figure
_FIGURES_SHARE = 0.137  # room for mean and p-value
_GAP_SHARE = 0.022
_BELOW = 0.27  # of a row: the comparison's place under the interval
_LABEL_GAP = 0.012
_BAND = "#F1F1F1"


@dataclass(frozen=True)
class IntervalBar:
    """A mean with its interval.

    Attributes:
        mean: estimate, in the unit of the axis; None if there is none.
        low: lower bound; None if there is none.
        high: upper bound; None if there is none.
        p_adjusted: adjusted p-value; None if there is none.
    """

    mean: float | None
    low: float | None
    high: float | None
    p_adjusted: float | None = None


@dataclass(frozen=True)
class IntervalRow:
    """One row of a panel.

    Attributes:
        label: name at the left.
        bar: the mean and interval.
        colour: colour of the site dots.
        sites: values of sites, in the order of site numbers; may be empty.
        comparison: another mean and interval, drawn below in grey, as a published one.
        note: written after the mean, or instead of it where there is none.
    """

    label: str
    bar: IntervalBar
    colour: str = GREY
    sites: tuple[float, ...] = ()
    comparison: IntervalBar | None = None
    note: str = ""


@dataclass(frozen=True)
class IntervalPanel:
    """A panel of rows, the first at the top.

    Attributes:
        title: title of the panel.
        rows: its rows.
        names: whether the row labels are written; hide them where a neighbour has the same.
    """

    title: str
    rows: tuple[IntervalRow, ...]
    names: bool = True


def row_order(methods: Sequence[str], last: str) -> list[str]:
    """Names in alphabetical order without regard to case, one of them last if it is there."""
    return sorted(methods, key=lambda name: (name == last, name.casefold(), name))


def draw_intervals(
    panels: Sequence[IntervalPanel],
    sesoi: float,
    *,
    x_label: str = X_LABEL,
    legend: tuple[str, str] | None = None,
) -> Figure:
    """Panels side by side, each with its own scale, their rows at equal heights.

    Args:
        panels: at least one, each with at least one row.
        sesoi: smallest effect size of interest: dotted lines at both signs, shaded between.
        x_label: label of the horizontal axes.
        legend: what the black and what the grey intervals are, written above the panels.

    Returns:
        The figure. Artists carry names (``gid``) by panel and row, from which their data can be
        read back: ``panel0-row1-interval``, ``-mean``, ``-sites``, ``-comparison-interval``,
        ``-comparison-mean``.

    Raises:
        ValueError: there is no panel, or one without rows.
    """
    if not panels or not all(panel.rows for panel in panels):
        raise ValueError("an interval plot needs panels with rows")
    tallest = max(len(panel.rows) for panel in panels)
    legend_in = _LEGEND_IN if legend else 0.0
    with figure_style():
        figure = new_figure(DOUBLE_COLUMN_IN, _FRAME_IN + legend_in + _ROW_IN * tallest)
        for number, (axis, panel) in enumerate(
            zip(_places(figure, panels, legend_in), panels, strict=True)
        ):
            draw_panel(axis, panel, f"panel{number}", sesoi)
            axis.set_ylim(tallest - 0.5, -0.5)
            axis.set_xlabel(x_label)
        if legend:
            _write_legend(figure, *legend)
    return figure


def format_mean(mean: float) -> str:
    """A mean with its sign and two decimals, with a true minus sign and none on zero."""
    text = f"{mean:+.2f}"
    return "0.00" if float(text) == 0.0 else text.replace("-", "\N{MINUS SIGN}")


def format_p(p: float) -> str:
    """A p-value as in the text: three decimals below 0.1, else two, ``<0.001`` below that."""
    if p < 0.001:
        return "<0.001"
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def jitter(count: int) -> np.ndarray:
    """``[count]`` vertical shifts within +-0.18, the same on every run and without clumps."""
    return JITTER * (2.0 * ((np.arange(count) + 0.5) * _GOLDEN % 1.0) - 1.0)


def _places(figure: Figure, panels: Sequence[IntervalPanel], legend_in: float) -> list[Axes]:
    """Axes side by side with room for names at the left and figures at the right."""
    height = figure.get_figheight()
    bottom, top = 0.42 / height, 1.0 - (0.31 + legend_in) / height
    rooms = [
        _GAP_SHARE + _CHAR_SHARE * max(len(row.label) for row in panel.rows) * panel.names
        for panel in panels
    ]
    width = (1.0 - sum(rooms)) / len(panels)
    axes, left = [], 0.0
    for room in rooms:
        left += room
        axes.append(figure.add_axes((left, bottom, width - _FIGURES_SHARE, top - bottom)))
        left += width
    return axes


def _write_legend(figure: Figure, black: str, grey: str) -> None:
    height = figure.get_figheight()
    texts = ((f"\N{BLACK CIRCLE} {black}", BLACK), (f"\N{WHITE DIAMOND} {grey}", GREY))
    left = _GAP_SHARE
    for text, colour in texts:
        figure.text(left, 1.0 - 0.06 / height, text, fontsize=7, va="top", color=colour)
        left += _CHAR_SHARE * (len(text) + 3)


def draw_panel(axis: Axes, panel: IntervalPanel, name: str, sesoi: float) -> None:
    """Draw one panel on given axes, the rows at heights 0, 1, ... which the caller orders.

    Args:
        axis: where to draw, with room for the row labels and the figures beside it.
        panel: what to draw.
        name: first part of the names (``gid``) of its artists.
        sesoi: smallest effect size of interest, in the unit of the axis.
    """
    axis.axvspan(-sesoi, sesoi, color=_BAND, linewidth=0, zorder=0)
    axis.axvline(0.0, color=BLACK, linewidth=0.7, zorder=1)
    for bound in (-sesoi, sesoi):
        axis.axvline(bound, color=BLACK, linestyle=":", linewidth=0.8, zorder=1)
    for place, row in enumerate(panel.rows):
        _draw_row(axis, row, place, f"{name}-row{place}")
    labels = [row.label if panel.names else "" for row in panel.rows]
    axis.set_yticks(range(len(labels)), labels)
    axis.tick_params(axis="y", length=0)
    axis.grid(False, axis="y")
    axis.spines["left"].set_visible(False)
    axis.set_title(panel.title, loc="left")
    axis.margins(x=0.04)
    axis.text(
        1.0 + _LABEL_GAP,
        1.0,
        "mean, adjusted p",
        transform=axis.transAxes,
        fontsize=6,
        color=GREY,
        va="bottom",
    )


def _draw_row(axis: Axes, row: IntervalRow, place: int, name: str) -> None:
    if row.sites:
        axis.plot(
            row.sites,
            place + jitter(len(row.sites)),
            linestyle="",
            marker="o",
            markersize=3.2,
            markeredgewidth=0,
            color=row.colour,
            alpha=DOT_ALPHA,
            zorder=2,
            gid=f"{name}-sites",
        )
    _draw_bar(axis, row.bar, place, name, BLACK, "o")
    two = row.comparison is not None
    _write(axis, row.bar, place - 0.5 * _BELOW * two, BLACK, row.note)
    if row.comparison is not None:
        _draw_bar(axis, row.comparison, place + _BELOW, f"{name}-comparison", GREY, "D")
        _write(axis, row.comparison, place + _BELOW * 0.9, GREY)


def _draw_bar(
    axis: Axes, bar: IntervalBar, height: float, name: str, colour: str, marker: str
) -> None:
    if bar.low is not None and bar.high is not None:
        span = [bar.low, bar.high]
        axis.plot(span, [height] * 2, color=colour, linewidth=1.4, zorder=3, gid=f"{name}-interval")
    if bar.mean is not None:
        axis.plot(
            [bar.mean],
            [height],
            color=colour,
            marker=marker,
            markersize=4.2,
            markerfacecolor=colour if marker == "o" else "white",
            markeredgewidth=0.9,
            zorder=4,
            gid=f"{name}-mean",
        )


def _write(axis: Axes, bar: IntervalBar, height: float, colour: str, note: str = "") -> None:
    """Mean and adjusted p at the right of a row, or a note."""
    if bar.mean is None:
        parts = [note or "no data"]
    else:
        parts = [format_mean(bar.mean), *([note] if note else [])]
    if bar.p_adjusted is not None:
        p = format_p(bar.p_adjusted)
        parts.append(f"p < {p[1:]}" if p.startswith("<") else f"p = {p}")
    axis.text(
        1.0 + _LABEL_GAP,
        height,
        ", ".join(parts),
        transform=axis.get_yaxis_transform(),
        va="center",
        fontsize=6.5,
        color=colour,
    )
