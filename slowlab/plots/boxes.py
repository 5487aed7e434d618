"""Boxes with title, words and facts, and arrows between them: what schematic figures share."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from slowlab.plots.style import BLACK, BLUE, GREY

PALE, PALE_BLUE = "#F4F4F2", "#E3EEF6"
CHARS_IN = 21.0
"""Characters of the small print on an inch."""
_SIDE_IN = 0.02


@dataclass(frozen=True)
class Frame:
    """Where a box stands, in the axes' units, which are inches."""

    left: float
    bottom: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.left + self.width

    @property
    def top(self) -> float:
        """Its upper edge."""
        return self.bottom + self.height

    @property
    def middle(self) -> tuple[float, float]:
        """Its centre."""
        return self.left + self.width / 2, self.bottom + self.height / 2


def blank(axis: Axes, width_in: float, height_in: float) -> None:
    """Make the axes a sheet whose units are inches, without ticks or frame."""
    axis.set_xlim(0, width_in)
    axis.set_ylim(0, height_in)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.axis("off")


def draw_box(
    axis: Axes,
    frame: Frame,
    title: str,
    words: str,
    facts: Sequence[str],
    name: str,
    *,
    marked: bool = False,
) -> None:
    """A rounded box: its title on top, words below it in grey, facts at the bottom in blue.

    Args:
        axis: a sheet, see :func:`blank`.
        frame: where it stands.
        title: its name.
        words: what is done there; wrapped to the width.
        facts: lines of numbers.
        name: ``gid`` of the text of the facts.
        marked: whether the box itself is blue.
    """
    axis.add_patch(
        FancyBboxPatch(
            (frame.left + _SIDE_IN, frame.bottom),
            frame.width - 2 * _SIDE_IN,
            frame.height,
            boxstyle="round,pad=0,rounding_size=0.06",
            facecolor=PALE_BLUE if marked else PALE,
            edgecolor=BLUE if marked else GREY,
            linewidth=0.8,
        )
    )
    middle = frame.left + frame.width / 2
    axis.text(middle, frame.top - 0.06, title, ha="center", va="top", fontsize=7.5, weight="bold")
    lines = textwrap.wrap(words, int(CHARS_IN * (frame.width - 0.08)))
    axis.text(
        middle, frame.top - 0.25, "\n".join(lines), ha="center", va="top", fontsize=6, color=GREY
    )
    axis.text(
        middle,
        frame.bottom + 0.06,
        "\n".join(facts),
        ha="center",
        va="bottom",
        fontsize=6.2,
        color=BLUE,
        linespacing=1.3,
        gid=name,
    )


def arrow(
    axis: Axes, start: tuple[float, float], end: tuple[float, float], *, both: bool = False
) -> None:
    """A thin black arrow between two points, with a head at its end or at both ends."""
    axis.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="<|-|>" if both else "-|>",
            mutation_scale=7,
            linewidth=0.8,
            color=BLACK,
            shrinkA=0,
            shrinkB=0,
        )
    )
