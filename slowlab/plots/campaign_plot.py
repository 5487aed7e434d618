"""One campaign as a drawing: who acts, what grows, what can be read, and what stays hidden.

Source: SlowLab, the schematic of a campaign.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from slowlab.plots.boxes import Frame, arrow, blank, draw_box
from slowlab.plots.style import BLACK, GREEN, GREY

HEIGHT_IN = 3.05
"""Height that the drawing needs, inches."""
_TOP, _MIDDLE_TOP, _MIDDLE_BOTTOM, _BOTTOM = 2.66, 1.52, 1.12, 0.06
_AGENT, _FIELD, _HIDDEN, _SCORE = (0.0, 1.56), (2.08, 1.76), (4.34, 1.2), (5.8, 1.2)
"""Left edge and width of the four columns, inches."""
_OVER, _GROUND = 2.88, "#EDEDEA"
_LANES_TOP, _LANES_BOTTOM = 0.27, 0.46  # from the edges of the box of crops


@dataclass(frozen=True)
class CampaignStep:
    """One step of a campaign.

    Attributes:
        title: its number and name.
        words: what happens in it.
        facts: the study's rules for it, a line each.
    """

    title: str
    words: str
    facts: tuple[str, ...]


@dataclass(frozen=True)
class CampaignCalendar:
    """Days of a campaign that are drawn.

    Attributes:
        compartments: how many there are.
        campaign_days: length of the campaign, d.
        crop_days: length of a crop, d.
        cleaning_days: days between two crops, d.
        latest_start_day: last day on which a crop may start.
    """

    compartments: int
    campaign_days: float
    crop_days: float
    cleaning_days: float
    latest_start_day: float

    def starts(self) -> Iterator[float]:
        """Days on which crops start in a compartment that is never idle."""
        day = 0.0
        while day <= self.latest_start_day:
            yield day
            day += self.crop_days + self.cleaning_days


def draw_campaign(
    axis: Axes, steps: Sequence[CampaignStep], calendar: CampaignCalendar, width_in: float
) -> None:
    """Draw the six steps and what passes between them.

    Args:
        axis: filled from edge to edge; its units become inches.
        steps: plan, crops, executor, reads, tools and score.
        calendar: what the bars of crops show.
        width_in: width of the axes, inches.

    Artists carry names (``gid``): ``campaign-step<i>`` for the facts of a step, and
    ``campaign-unit<u>-crop<k>`` for the bars, which are inches wide.
    """
    blank(axis, width_in, HEIGHT_IN)
    plan, crops, executor, reads, tools, score = frames = _frames()
    ground = (_HIDDEN[0] - 0.06, 0.0), width_in - _HIDDEN[0] + 0.06, _TOP + 0.06
    axis.add_patch(Rectangle(*ground, facecolor=_GROUND, linewidth=0, zorder=0))
    for place, (frame, step) in enumerate(zip(frames, steps, strict=True)):
        name = f"campaign-step{place}"
        draw_box(axis, frame, step.title, step.words, step.facts, name, marked=place == 0)
    _draw_lanes(axis, crops, calendar)
    _arrow(axis, (plan.right, 2.2), (crops.left, 2.2), "start, stop", "advance")
    _arrow(axis, (crops.right, 2.2), (executor.left, 2.2), "policies")
    _arrow(axis, (executor.left, 0.6), (reads.right, 0.6), "records")
    across = (plan.right + crops.left) / 2
    axis.plot([reads.left, across, across], [0.6, 0.6, 1.8], color=BLACK, linewidth=0.8)
    arrow(axis, (across, 1.8), (plan.right, 1.8))
    arrow(axis, (across, 0.6), (tools.right, 0.6))
    _words(axis, across + 0.05, 1.32, "history", ha="left")
    arrow(axis, (plan.middle[0], plan.bottom), (plan.middle[0], tools.top), both=True)
    _words(axis, plan.middle[0] + 0.08, 1.32, "ask, answer", ha="left")
    _arrow(axis, (executor.right, 1.32), (score.left, 1.32), "site")
    over = [plan.middle[0], plan.middle[0], score.middle[0]]
    axis.plot(over, [plan.top, _OVER, _OVER], color=BLACK, linewidth=0.8)
    arrow(axis, (score.middle[0], _OVER), (score.middle[0], score.top))
    end = f"one recommended policy, on day {calendar.campaign_days:g} at the latest"
    _words(axis, (plan.middle[0] + score.middle[0]) / 2, _OVER + 0.08, end)


def _frames() -> tuple[Frame, ...]:
    upper, lower = (_MIDDLE_TOP, _TOP - _MIDDLE_TOP), (_BOTTOM, _MIDDLE_BOTTOM - _BOTTOM)
    whole = (_BOTTOM, _TOP - _BOTTOM)
    places = (
        (_AGENT, upper),
        (_FIELD, upper),
        (_HIDDEN, whole),
        (_FIELD, lower),
        (_AGENT, lower),
        (_SCORE, whole),
    )
    return tuple(Frame(left, bottom, wide, tall) for (left, wide), (bottom, tall) in places)


def _draw_lanes(axis: Axes, frame: Frame, calendar: CampaignCalendar) -> None:
    """Crops of every compartment, as early as they can be."""
    left, wide = frame.left + 0.34, frame.width - 0.48
    inch_a_day = wide / calendar.campaign_days
    bottom = frame.bottom + _LANES_BOTTOM
    tall = (frame.height - _LANES_TOP - _LANES_BOTTOM) / calendar.compartments
    for unit in range(calendar.compartments):
        low = bottom + tall * (calendar.compartments - 1 - unit)
        axis.text(left - 0.05, low + tall / 2, f"C{unit + 1}", ha="right", va="center", fontsize=6)
        for number, day in enumerate(calendar.starts()):
            bar = Rectangle(
                (left + day * inch_a_day, low + 0.12 * tall),
                calendar.crop_days * inch_a_day,
                0.76 * tall,
                facecolor=GREEN,
                alpha=0.55,
                linewidth=0,
                gid=f"campaign-unit{unit}-crop{number}",
            )
            axis.add_patch(bar)
    for day, side in ((0.0, "left"), (calendar.campaign_days, "right")):
        where = left + day * inch_a_day
        _words(axis, where, bottom - 0.07, f"day {day:g}", ha=side)


def _arrow(
    axis: Axes, start: tuple[float, float], end: tuple[float, float], above: str, below: str = ""
) -> None:
    """A level arrow with words above and below it."""
    arrow(axis, start, end)
    middle = (start[0] + end[0]) / 2
    _words(axis, middle, start[1] + 0.08, above)
    if below:
        _words(axis, middle, start[1] - 0.08, below)


def _words(axis: Axes, x: float, y: float, text: str, ha: str = "center") -> None:
    axis.text(x, y, text, ha=ha, va="center", fontsize=6, color=GREY)
