"""The figures of a study, drawn from its numbers and from nothing else.

Artists carry names (``gid``) from which their data can be read back; see the drawing primitives.
Layout follows the paper's figures. Source: SlowLab, figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from slowlab.io import atomic_write_bytes
from slowlab.plots.campaign_plot import HEIGHT_IN as CAMPAIGN_IN
from slowlab.plots.campaign_plot import draw_campaign
from slowlab.plots.campaign_rows import campaign_calendar, campaign_steps, campaign_words
from slowlab.plots.harness_plot import HEIGHT_IN, draw_harness
from slowlab.plots.harness_rows import harness_boxes, harness_stages
from slowlab.plots.interval_plot import (
    X_LABEL,
    IntervalBar,
    IntervalPanel,
    IntervalRow,
    draw_panel,
)
from slowlab.plots.method_style import longest_line, method_styles, ordered_methods
from slowlab.plots.reader_plot import draw_readers, total_lines
from slowlab.plots.resources import draw_resources
from slowlab.plots.study_captions import caption, harness_words, test_words, timeline_words
from slowlab.plots.study_layout import (
    FIGURES_IN,
    TITLE_PAD_PT,
    StudyFrame,
    label_width_in,
)
from slowlab.plots.study_rows import (
    Numbers,
    contrast_rows,
    interval_row,
    reader_rows,
    resource_row,
    tests_of,
)
from slowlab.plots.style import (
    BLACK,
    DOUBLE_COLUMN_IN,
    GREY,
    ORANGE,
    VERMILLION,
    figure_bytes,
    figure_style,
)
from slowlab.plots.timeline import draw_timeline

_ROW_IN, _LINE_IN, _LANE_IN = 0.42, 0.155, 0.3
_LARGEST_LANE_IN, _NARROW_ROW_IN, _MANY_ROWS = 0.5, 0.34, 6
_RIGHT_IN, _GAP_IN = 0.1, 0.12
_NO_FRAME_IN = 0.25  # what a drawing needs less above and below, without title and axis
_BETWEEN_IN = 0.76  # from one tier of panels to the next
_MINUS = "\N{MINUS SIGN}"
_OURS = ("\N{BLACK CIRCLE} this study (dots: sites)", BLACK)
_PUBLISHED = ("\N{WHITE DIAMOND} published study", GREY)

TITLES = {
    "figure1": "One campaign as an example, and how methods compare with the baseline",
    "figure2": "One campaign: who acts, what can be read, and what is scored",
    "figure3": "Method against baseline, gain over the reference, heat and light",
    "figure4": "What reading records while crops grow adds",
    "figure5": "What other readers make of the same evidence",
    "figure6": "How a language model is asked, checked and recorded, with counts of this study",
    "figure7": "Campaigns of several methods on the first site",
}
"""Title of each figure, by name."""
NEEDS = {"figure6": "agents"}
"""Section of the numbers that a figure is drawn from, where a study may lack it."""


def figures_of(numbers: Numbers) -> dict[str, str]:
    """Names and titles of a study's figures: those whose section it has, see :data:`NEEDS`."""
    lacking = {name for name, section in NEEDS.items() if not numbers.get(section)}
    return {name: title for name, title in TITLES.items() if name not in lacking}


def draw(name: str, numbers: Numbers) -> Figure:
    """One figure.

    Args:
        name: one of :data:`TITLES`.
        numbers: what :func:`slowlab.analysis.study_numbers.build_numbers` makes.

    Raises:
        KeyError: there is no figure of that name.
    """
    makers: dict[str, Callable[[Numbers], Figure]] = {
        "figure1": draw_example,
        "figure2": draw_one_campaign,
        "figure3": draw_comparison,
        "figure4": draw_feedback,
        "figure5": draw_reader_swaps,
        "figure6": draw_model_harness,
        "figure7": draw_timelines,
    }
    with figure_style():
        return makers[name](numbers)


def write_figure(name: str, numbers: Numbers, paths: Sequence[str | Path]) -> None:
    """Draw a figure once and write it under each path, in the form that its suffix names.

    Raises:
        KeyError: there is no figure of that name, or a suffix that is neither .svg nor .png.
        OSError: a file cannot be written.
    """
    figure = draw(name, numbers)
    for path in map(Path, paths):
        atomic_write_bytes(path, figure_bytes(figure, path.suffix.removeprefix(".")))


def draw_example(numbers: Numbers) -> Figure:
    """Left the example campaign, right all methods less the baseline."""
    lines = numbers["timelines"]
    rows = _or_empty(contrast_rows(numbers, "e1"), "no other method")
    tall = max(_LANE_IN * lines["compartments"], _row_in(rows) * len(rows))
    lanes_in = min(tall, _LARGEST_LANE_IN * lines["compartments"])
    words = f"{timeline_words(numbers)} {test_words(numbers)}"
    frame = StudyFrame(numbers, tall, caption(numbers, words), _legend(rows))
    middle = 0.5 * DOUBLE_COLUMN_IN - 0.15
    _timeline(frame.axes(0.32, middle, 0.0, lanes_in), numbers, lines["example_method"], "gantt")
    left = middle + label_width_in(longest_line([row.label for row in rows]))
    axis = frame.axes(left, DOUBLE_COLUMN_IN - FIGURES_IN)
    _intervals(axis, numbers, rows, f"Method {_MINUS} baseline, full feedback", "e1")
    return frame.figure


def draw_one_campaign(numbers: Numbers) -> Figure:
    """What happens in every campaign, step by step, with the rules of this study."""
    inner = CAMPAIGN_IN - 2 * _NO_FRAME_IN
    frame = StudyFrame(numbers, inner, caption(numbers, campaign_words(numbers)))
    width = DOUBLE_COLUMN_IN - 2 * _RIGHT_IN
    axis = frame.axes(_RIGHT_IN, _RIGHT_IN + width, -_NO_FRAME_IN, CAMPAIGN_IN)
    draw_campaign(axis, campaign_steps(numbers), campaign_calendar(numbers), width)
    return frame.figure


def draw_comparison(numbers: Numbers) -> Figure:
    """Three panels with the same rows: less the baseline, over the reference, heat and light.

    Below them, where there are language models, what these gained over their first recommendation.
    """
    study, styles = numbers["study"], method_styles(numbers["methods"])
    methods = ordered_methods(numbers["methods"], [study["baseline"], study["reference"]])
    names = [item["name"] for item in methods]
    e1, gains = tests_of(numbers, "e1"), tests_of(numbers, "gain")
    absent = {item["name"]: "" if item["experiments"] else "no campaign" for item in methods}
    left_rows = tuple(
        interval_row(
            numbers, e1.get(name), styles[name], {**absent, study["baseline"]: "baseline"}[name]
        )
        for name in names
    )
    right_rows = tuple(
        interval_row(numbers, gains.get(name), styles[name], "reference") for name in names
    )
    learned = contrast_rows(numbers, "initial")
    tall = _row_in(right_rows) * len(names)
    frame = StudyFrame(
        numbers,
        tall + ((_BETWEEN_IN + _ROW_IN * len(learned)) if learned else 0.0),
        caption(numbers, f"Heat and light: means per crop in scoring runs. {test_words(numbers)}"),
        _legend(right_rows, resources=True),
    )
    left = label_width_in(longest_line([row.label for row in left_rows + right_rows]))
    bars_in = 1.35
    width = (DOUBLE_COLUMN_IN - left - bars_in - _RIGHT_IN - 2 * (FIGURES_IN + _GAP_IN)) / 2
    axis = frame.axes(left, left + width, 0.0, tall)
    _intervals(axis, numbers, left_rows, f"Method {_MINUS} baseline", "e1", x_label=_SHORT)
    if learned:
        axis = frame.axes(left, DOUBLE_COLUMN_IN - FIGURES_IN, tall + _BETWEEN_IN)
        title = f"Final {_MINUS} initial recommendation, full feedback"
        _intervals(axis, numbers, learned, title, "initial")
    left += width + FIGURES_IN + _GAP_IN
    axis = frame.axes(left, left + width, 0.0, tall)
    title = f"Gain over {_label(numbers, study['reference'])}"
    _intervals(axis, numbers, right_rows, title, "gain", names=False, x_label=_SHORT)
    right = DOUBLE_COLUMN_IN - _RIGHT_IN
    axis = frame.axes(right - bars_in, right, 0.0, tall)
    draw_resources(
        axis, [resource_row(numbers, item) for item in methods], "resources", "Heat, light"
    )
    axis.set_title("Heat, light", loc="left", pad=TITLE_PAD_PT)
    axis.set_ylim(len(names) - 0.5, -0.5)
    return frame.figure


def draw_feedback(numbers: Numbers) -> Figure:
    """Full less endpoint feedback, one row a method."""
    rows = _or_empty(contrast_rows(numbers, "e2"), "not compared")
    frame = StudyFrame(
        numbers, _row_in(rows) * len(rows), caption(numbers, test_words(numbers)), _legend(rows)
    )
    left = label_width_in(longest_line([row.label for row in rows]))
    axis = frame.axes(left, DOUBLE_COLUMN_IN - FIGURES_IN)
    _intervals(axis, numbers, rows, f"Full {_MINUS} endpoint feedback", "e2")
    return frame.figure


def draw_reader_swaps(numbers: Numbers) -> Figure:
    """Gains of readers, pooled and by source."""
    rows = reader_rows(numbers)
    words = (
        "Diamonds: mean over sources within sites, without identity cells (hollow), in which the "
        f"reader is the source's own last step. {test_words(numbers)}"
    )
    frame = StudyFrame(
        numbers,
        _LINE_IN * max(total_lines(rows), 4),
        caption(numbers, words),
        [("\N{BLACK DIAMOND} pooled over sources", BLACK)],
    )
    labels = [row.label for row in rows]
    left = label_width_in(longest_line(labels)) * 1.08
    sources = [source.label for row in rows for source in row.sources]
    room = 0.62 + 0.05 * (longest_line(sources) + 10 * any("," in label for label in labels))
    axis = frame.axes(left, DOUBLE_COLUMN_IN - room - 0.45)
    draw_readers(axis, rows, "readers", numbers["study"]["sesoi_eur_m2"])
    axis.set_title(f"Reader {_MINUS} source, same evidence", loc="left", pad=TITLE_PAD_PT)
    if not rows:
        axis.text(0.5, 0.5, "no readers", transform=axis.transAxes, ha="center", color=GREY)
    return frame.figure


def draw_model_harness(numbers: Numbers) -> Figure:
    """The way of every call of a language model, with what the transcripts count."""
    agents = numbers["agents"]
    totals = None if agents is None else agents["totals"]
    inner = HEIGHT_IN - 2 * _NO_FRAME_IN
    frame = StudyFrame(numbers, inner, caption(numbers, harness_words(numbers)))
    width = DOUBLE_COLUMN_IN - 2 * _RIGHT_IN
    axis = frame.axes(_RIGHT_IN, _RIGHT_IN + width, -_NO_FRAME_IN, HEIGHT_IN)
    draw_harness(axis, harness_stages(totals), harness_boxes(totals), width)
    return frame.figure


def draw_timelines(numbers: Numbers) -> Figure:
    """Up to four campaigns on the same site."""
    lines = numbers["timelines"]
    names = [name for name in lines["timeline_methods"] if name in lines["campaigns"]]
    columns = min(2, max(1, len(names)))
    lanes_in, between_in = _LANE_IN * lines["compartments"], _BETWEEN_IN
    tiers = max(1, math.ceil(len(names) / columns))
    tall = tiers * lanes_in + (tiers - 1) * between_in
    frame = StudyFrame(numbers, tall, caption(numbers, timeline_words(numbers)))
    width = (DOUBLE_COLUMN_IN - _RIGHT_IN) / columns
    for place, name in enumerate(names):
        left = 0.32 + (place % columns) * width
        top = (place // columns) * (lanes_in + between_in)
        axis = frame.axes(left, left + width - 0.4, top, lanes_in)
        _timeline(axis, numbers, name, f"gantt{place}")
    return frame.figure


_SHORT = "EUR m$^{-2}$, by site"


def _intervals(
    axis: Any,
    numbers: Numbers,
    rows: Sequence[IntervalRow],
    title: str,
    name: str,
    *,
    names: bool = True,
    x_label: str = X_LABEL,
) -> None:
    draw_panel(
        axis, IntervalPanel(title, tuple(rows), names), name, numbers["study"]["sesoi_eur_m2"]
    )
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlabel(x_label)
    axis.set_title(title, loc="left", pad=TITLE_PAD_PT)


def _timeline(axis: Any, numbers: Numbers, name: str, gid: str) -> None:
    lines, styles = numbers["timelines"], method_styles(numbers["methods"])
    campaign = lines["campaigns"].get(name)
    if campaign is None:
        campaign = {"status": "missing", "crops": [], "reads": []}
    style = styles[name]
    draw_timeline(axis, campaign, lines, gid, style.colour, style.label.replace("\n", " "))
    axis.set_title(axis.get_title(loc="left"), loc="left", pad=TITLE_PAD_PT)


def _row_in(rows: Sequence[IntervalRow]) -> float:
    """Height of a row, inches; less where there are many."""
    return _NARROW_ROW_IN if len(rows) > _MANY_ROWS else _ROW_IN


def _or_empty(rows: Sequence[IntervalRow], note: str) -> tuple[IntervalRow, ...]:
    """The rows, or one that says why there are none."""
    return tuple(rows) or (IntervalRow("", IntervalBar(None, None, None), note=note),)


def _legend(rows: Sequence[IntervalRow], *, resources: bool = False) -> list[tuple[str, str]]:
    entries = [_OURS]
    if any(row.comparison is not None for row in rows):
        entries.append(_PUBLISHED)
    if resources:
        entries += [
            ("\N{BLACK SQUARE} heat", VERMILLION),
            ("\N{SQUARE WITH DIAGONAL CROSSHATCH FILL} light", ORANGE),
        ]
    return entries


def _label(numbers: Numbers, name: str) -> str:
    return {item["name"]: item["label"] for item in numbers["methods"]}[name]
