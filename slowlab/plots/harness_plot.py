"""The harness of language models as a drawing: stages above the boxes that every call goes through.

Each box bears what the transcripts of the study count there. Source: SlowLab, harness.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Polygon

from slowlab.plots.style import BLACK, BLUE, GREY

HEIGHT_IN = 2.42
"""Height that the drawing needs, inches."""
_STRIP_TOP, _STRIP_BOTTOM, _TIP = 2.4, 1.98, 0.09
_BOX_TOP, _BOX_BOTTOM, _GAP = 1.76, 0.38, 0.13
_PALE, _PALE_BLUE = "#F4F4F2", "#E3EEF6"
_CHARS_IN = 21.0  # characters of the small print on an inch
_BACK_Y = 0.16


@dataclass(frozen=True)
class HarnessStage:
    """One stage of a campaign.

    Attributes:
        title: its number and name.
        count: what was counted in it.
    """

    title: str
    count: str


@dataclass(frozen=True)
class HarnessBox:
    """One step of every call.

    Attributes:
        title: its name.
        words: what is done there.
        counts: what was counted there, a line each.
    """

    title: str
    words: str
    counts: tuple[str, ...]


def draw_harness(
    axis: Axes, stages: Sequence[HarnessStage], boxes: Sequence[HarnessBox], width_in: float
) -> None:
    """Draw the stage strip and the boxes.

    Args:
        axis: filled from edge to edge; its units become inches.
        stages: from left to right.
        boxes: from left to right, each leading to the next and the last back to the first.
        width_in: width of the axes, inches.

    Artists carry names (``gid``): ``harness-stage<i>`` and ``harness-box<i>`` for the counts.
    """
    axis.set_xlim(0, width_in)
    axis.set_ylim(0, HEIGHT_IN)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.axis("off")
    _draw_stages(axis, stages, width_in)
    wide = (width_in - _GAP * (len(boxes) - 1)) / len(boxes)
    middles = []
    for place, box in enumerate(boxes):
        left = place * (wide + _GAP)
        middles.append(left + wide / 2)
        _draw_box(axis, box, left, wide, f"harness-box{place}", model=place == 2)
        if place:
            _arrow(axis, (left - _GAP, 1.0), (left, 1.0))
    _draw_return(axis, middles[-1], middles[0])


def stage_boxes(counts: Mapping[str, int]) -> tuple[HarnessStage, ...]:
    """The four stages with their numbers of calls.

    Args:
        counts: calls by stage; empty without any.
    """
    titles = {
        ("initial",): "0  initial recommendation",
        ("design",): "1  day-0 design",
        ("season", "probe"): "2  season",
        ("final",): "3  endgame",
    }
    return tuple(
        HarnessStage(title, _counted(sum(counts[name] for name in names), "call") if counts else "")
        for names, title in titles.items()
    )


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _draw_stages(axis: Axes, stages: Sequence[HarnessStage], width_in: float) -> None:
    """Arrows in a strip, each pointing at the next."""
    wide, middle = (width_in - _TIP) / len(stages), (_STRIP_TOP + _STRIP_BOTTOM) / 2
    for place, stage in enumerate(stages):
        left, right = place * wide, (place + 1) * wide - 0.03
        notch = left + (_TIP if place else 0.0)
        corners = [
            (left, _STRIP_BOTTOM),
            (right, _STRIP_BOTTOM),
            (right + _TIP, middle),
            (right, _STRIP_TOP),
            (left, _STRIP_TOP),
            (notch, middle),
        ]
        axis.add_patch(Polygon(corners, facecolor=_PALE, edgecolor=GREY, linewidth=0.6))
        where = (left + right + _TIP) / 2
        axis.text(where, middle + 0.09, stage.title, ha="center", va="center", fontsize=7)
        axis.text(
            where,
            middle - 0.09,
            stage.count,
            ha="center",
            va="center",
            fontsize=6.5,
            color=BLUE,
            gid=f"harness-stage{place}",
        )


def _draw_box(
    axis: Axes, box: HarnessBox, left: float, wide: float, name: str, *, model: bool
) -> None:
    axis.add_patch(
        FancyBboxPatch(
            (left + 0.02, _BOX_BOTTOM),
            wide - 0.04,
            _BOX_TOP - _BOX_BOTTOM,
            boxstyle="round,pad=0,rounding_size=0.06",
            facecolor=_PALE_BLUE if model else _PALE,
            edgecolor=BLUE if model else GREY,
            linewidth=0.8,
        )
    )
    middle = left + wide / 2
    axis.text(
        middle, _BOX_TOP - 0.06, box.title, ha="center", va="top", fontsize=7.5, weight="bold"
    )
    words = textwrap.wrap(box.words, int(_CHARS_IN * (wide - 0.08)))
    axis.text(
        middle, _BOX_TOP - 0.25, "\n".join(words), ha="center", va="top", fontsize=6, color=GREY
    )
    axis.text(
        middle,
        _BOX_BOTTOM + 0.06,
        "\n".join(box.counts),
        ha="center",
        va="bottom",
        fontsize=6.2,
        color=BLUE,
        linespacing=1.3,
        gid=name,
    )


def _draw_return(axis: Axes, start: float, end: float) -> None:
    """From the last box below all others back to the first."""
    axis.plot([start, start, end], [_BOX_BOTTOM, _BACK_Y, _BACK_Y], color=BLACK, linewidth=0.8)
    _arrow(axis, (end, _BACK_Y), (end, _BOX_BOTTOM))
    axis.text(
        (start + end) / 2,
        _BACK_Y - 0.03,
        "next call, until a recommendation is given or a budget is used up",
        ha="center",
        va="top",
        fontsize=6,
        color=GREY,
    )


def _arrow(axis: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axis.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=7,
            linewidth=0.8,
            color=BLACK,
            shrinkA=0,
            shrinkB=0,
        )
    )
