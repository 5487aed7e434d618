"""Reader swaps: a pooled interval a reader, and below it one for each source of evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from slowlab.plots.interval_plot import IntervalBar, format_mean, format_p
from slowlab.plots.style import BLACK, GREY

X_LABEL = "Reader's score less source's score (EUR m$^{-2}$)"
_BAND = "#F1F1F1"


@dataclass(frozen=True)
class SourcePoint:
    """Gain over one source.

    Attributes:
        label: name of the source.
        colour: its colour.
        marker: its marker.
        bar: mean and interval.
        identity: whether the reader is the source's own last step; then drawn hollow.
    """

    label: str
    colour: str
    marker: str
    bar: IntervalBar
    identity: bool = False


@dataclass(frozen=True)
class ReaderRow:
    """One reader.

    Attributes:
        label: its name.
        pooled: mean gain over its sources, identity cells left out.
        sources: its sources, from top to bottom.
        published: published pooled gain; None without.
    """

    label: str
    pooled: IntervalBar
    sources: tuple[SourcePoint, ...]
    published: IntervalBar | None = None

    @property
    def height(self) -> int:
        """Lines that it takes: one for each source, one for the pooled gain, one between."""
        return len(self.sources) + 2 + (self.published is not None)


def draw_readers(axis: Axes, rows: Sequence[ReaderRow], name: str, sesoi: float) -> None:
    """Draw all readers, one below the other.

    Args:
        axis: where to draw, with room at the left for names and at the right for figures.
        rows: the readers.
        name: first part of the names (``gid``): ``<name>-row<i>-pooled-mean``, ``-interval``,
            ``<name>-row<i>-source<j>-mean``, ``-interval``, ``<name>-row<i>-published-mean``, ...
        sesoi: smallest effect size of interest: dotted at both signs, shaded between.
    """
    axis.axvspan(-sesoi, sesoi, color=_BAND, linewidth=0, zorder=0)
    axis.axvline(0.0, color=BLACK, linewidth=0.7, zorder=1)
    for bound in (-sesoi, sesoi):
        axis.axvline(bound, color=BLACK, linestyle=":", linewidth=0.8, zorder=1)
    line, ticks = 0.0, []
    for place, row in enumerate(rows):
        ticks.append(line)
        _draw_row(axis, row, line, f"{name}-row{place}")
        line += row.height
        if place + 1 < len(rows):
            axis.axhline(line - 1.0, color="#D0D0D0", linewidth=0.6, zorder=0)
    axis.set_yticks(ticks, [row.label for row in rows], fontweight="bold")
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(line - 1.0, -0.9)
    axis.grid(False, axis="y")
    axis.spines["left"].set_visible(False)
    axis.margins(x=0.05)
    axis.set_xlabel(X_LABEL)


def total_lines(rows: Sequence[ReaderRow]) -> int:
    """Lines that all readers take together."""
    return sum(row.height for row in rows)


def _draw_row(axis: Axes, row: ReaderRow, line: float, name: str) -> None:
    _bar(axis, row.pooled, line, f"{name}-pooled", BLACK, "D", 6.0)
    _text(axis, row.pooled, line, BLACK, "pooled ")
    if row.published is not None:
        line += 1
        _bar(axis, row.published, line, f"{name}-published", GREY, "D", 4.2, hollow=True)
        _text(axis, row.published, line, GREY, "published ")
    for place, source in enumerate(row.sources, start=1):
        gid = f"{name}-source{place - 1}"
        hollow = source.identity
        _bar(axis, source.bar, line + place, gid, source.colour, source.marker, 4.6, hollow=hollow)
        note = f"{source.label}, identity " if source.identity else f"{source.label} "
        _text(axis, source.bar, line + place, source.colour, note)


def _bar(
    axis: Axes,
    bar: IntervalBar,
    height: float,
    name: str,
    colour: str,
    marker: str,
    size: float,
    *,
    hollow: bool = False,
) -> None:
    if bar.low is not None and bar.high is not None:
        span = [bar.low, bar.high]
        axis.plot(span, [height] * 2, color=colour, linewidth=1.2, zorder=3, gid=f"{name}-interval")
    if bar.mean is not None:
        axis.plot(
            [bar.mean],
            [height],
            marker=marker,
            markersize=size,
            color=colour,
            markerfacecolor="white" if hollow else colour,
            markeredgewidth=0.9,
            zorder=4,
            gid=f"{name}-mean",
        )


def _text(axis: Axes, bar: IntervalBar, height: float, colour: str, before: str) -> None:
    """Figures at the right of a line."""
    text = before + ("no data" if bar.mean is None else format_mean(bar.mean))
    if bar.p_adjusted is not None:
        p = format_p(bar.p_adjusted)
        text += f", p < {p[1:]}" if p.startswith("<") else f", p = {p}"
    axis.text(
        1.012,
        height,
        text,
        transform=axis.get_yaxis_transform(),
        va="center",
        fontsize=6.5,
        color=GREY if colour == GREY else BLACK,
    )
