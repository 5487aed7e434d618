"""The harness of language models as a drawing: stages above the boxes that every call goes through.

Each box bears what the transcripts of the study count there. Source: SlowLab, harness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Polygon

from slowlab.plots.boxes import PALE, Frame, arrow, blank, draw_box
from slowlab.plots.style import BLACK, BLUE, GREY

HEIGHT_IN = 2.42
"""Height that the drawing needs, inches."""
_STRIP_TOP, _STRIP_BOTTOM, _TIP = 2.4, 1.98, 0.09
_BOX_TOP, _BOX_BOTTOM, _GAP = 1.76, 0.38, 0.13
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
    blank(axis, width_in, HEIGHT_IN)
    _draw_stages(axis, stages, width_in)
    wide = (width_in - _GAP * (len(boxes) - 1)) / len(boxes)
    middles = []
    for place, box in enumerate(boxes):
        left = place * (wide + _GAP)
        middles.append(left + wide / 2)
        frame = Frame(left, _BOX_BOTTOM, wide, _BOX_TOP - _BOX_BOTTOM)
        name = f"harness-box{place}"
        draw_box(axis, frame, box.title, box.words, box.counts, name, marked=place == 2)
        if place:
            arrow(axis, (left - _GAP, 1.0), (left, 1.0))
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
        axis.add_patch(Polygon(corners, facecolor=PALE, edgecolor=GREY, linewidth=0.6))
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


def _draw_return(axis: Axes, start: float, end: float) -> None:
    """From the last box below all others back to the first."""
    axis.plot([start, start, end], [_BOX_BOTTOM, _BACK_Y, _BACK_Y], color=BLACK, linewidth=0.8)
    arrow(axis, (end, _BACK_Y), (end, _BOX_BOTTOM))
    axis.text(
        (start + end) / 2,
        _BACK_Y - 0.03,
        "next call, until a recommendation is given or a budget is used up",
        ha="center",
        va="top",
        fontsize=6,
        color=GREY,
    )
