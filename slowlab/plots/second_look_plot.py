"""Pictures of the Bayesian second look: posterior beside confirmatory intervals, and model checks.

Artists carry names (``gid``) from which their data can be read back. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from slowlab.analysis.second_look_table import probability_text
from slowlab.io import atomic_write_bytes
from slowlab.plots.interval_plot import X_LABEL, format_mean
from slowlab.plots.method_style import longest_line, method_styles
from slowlab.plots.study_captions import caption
from slowlab.plots.study_layout import TITLE_PAD_PT, StudyFrame, label_width_in
from slowlab.plots.style import (
    BLACK,
    BLUE,
    DOUBLE_COLUMN_IN,
    GREY,
    VERMILLION,
    figure_bytes,
    figure_style,
)

type Numbers = Mapping[str, Any]
type Rows = Sequence[Mapping[str, Any]]

TITLES = {
    "second_look": "Second look: posterior intervals beside the confirmatory ones",
    "second_look_checks": "Second look: the study among differences that its model draws",
}
"""Title of each figure, by name."""
_MINUS = "\N{MINUS SIGN}"
_QUESTIONS = {
    "e1": f"Method {_MINUS} baseline, full feedback",
    "e2": f"Full {_MINUS} endpoint feedback",
}
_STATISTICS = {"sd": "SD", "lowest": "lowest", "highest": "highest", "skewness": "skewness"}
_ROW_IN, _CHECK_ROW_IN, _BETWEEN_IN = 0.36, 0.27, 0.76
_COLUMNS_IN, _COLUMN_IN = 1.62, 0.5
_APART, _BAND = 0.16, "#F1F1F1"
_RIGHT_IN, _GAP_IN = 0.1, 0.22


def draw_second_look_figure(name: str, numbers: Numbers, look: Numbers) -> Figure:
    """One figure.

    Args:
        name: one of :data:`TITLES`.
        numbers: the study's numbers.
        look: the second look, see ``slowlab.analysis.second_look``.

    Raises:
        KeyError: there is no figure of that name.
    """
    makers: dict[str, Callable[[Numbers, Numbers], Figure]] = {
        "second_look": draw_posteriors,
        "second_look_checks": draw_checks,
    }
    with figure_style():
        return makers[name](numbers, look)


def write_second_look_figure(
    name: str, numbers: Numbers, look: Numbers, paths: Sequence[str | Path]
) -> None:
    """Draw a figure once and write it under each path, in the form that its suffix names.

    Raises:
        KeyError: there is no figure of that name, or a suffix that is neither .svg nor .png.
        OSError: a file cannot be written.
    """
    figure = draw_second_look_figure(name, numbers, look)
    for path in map(Path, paths):
        atomic_write_bytes(path, figure_bytes(figure, path.suffix.removeprefix(".")))


def draw_posteriors(numbers: Numbers, look: Numbers) -> Figure:
    """A panel for each question: BCa and posterior intervals, probabilities beside them.

    Artists are named ``<test>-bca``, ``<test>-bca-mean``, ``<test>-posterior``,
    ``<test>-posterior-mean`` and ``<test>-inside``.
    """
    panels = _by_question(numbers, look)
    names = _row_labels(numbers, [row for rows in panels.values() for row in rows])
    heights = [_ROW_IN * len(rows) for rows in panels.values()]
    frame = StudyFrame(
        numbers,
        sum(heights) + _BETWEEN_IN * max(len(heights) - 1, 0) or _ROW_IN,
        caption(numbers, _words(look)),
        [
            ("\N{BLACK CIRCLE} BCa interval (declared analysis)", BLACK),
            ("\N{BLACK DIAMOND} posterior interval (decides nothing)", BLUE),
        ],
    )
    left, top = label_width_in(longest_line(list(names.values()))), 0.0
    for (question, rows), height in zip(panels.items(), heights, strict=True):
        axis = frame.axes(left, DOUBLE_COLUMN_IN - _COLUMNS_IN, top, height)
        _draw_panel(axis, numbers, look, rows, names)
        axis.set_title(_QUESTIONS.get(question, question), loc="left", pad=TITLE_PAD_PT)
        top += height + _BETWEEN_IN
    if not panels:
        _empty(frame.axes(left, DOUBLE_COLUMN_IN - _COLUMNS_IN))
    return frame.figure


def draw_checks(numbers: Numbers, look: Numbers) -> Figure:
    """A panel for each statistic: where it lies among replications, test by test.

    Artists are named ``<test>-<statistic>-replicated`` and ``<test>-<statistic>-observed``.
    """
    rows = [row for row in look["tests"] if row["outcome"] == "modelled"]
    names = _row_labels(numbers, rows, questions=True)
    words = (
        "Grey: middle 95 % and median of data sets that the model draws for the same sites. "
        "Circles: this study; red ones lie outside."
    )
    tall = _CHECK_ROW_IN * max(len(rows), 1)
    frame = StudyFrame(numbers, tall, caption(numbers, words))
    left = label_width_in(longest_line(list(names.values())))
    width = (DOUBLE_COLUMN_IN - _RIGHT_IN - left + _GAP_IN) / len(_STATISTICS) - _GAP_IN
    if not rows:
        _empty(frame.axes(left, DOUBLE_COLUMN_IN - _RIGHT_IN))
    for place, (statistic, title) in enumerate(_STATISTICS.items() if rows else ()):
        start = left + place * (width + _GAP_IN)
        axis = frame.axes(start, start + width)
        found = {row["test"]: row for row in look["checks"] if row["statistic"] == statistic}
        for height, row in enumerate(rows):
            _draw_check(axis, found[row["test"]], height)
        labels = list(names.values()) if place == 0 else [""] * len(rows)
        _finish(axis, labels)
        unit = "" if statistic == "skewness" else "EUR m$^{-2}$"
        axis.set_xlabel(unit or "no unit")
        axis.set_title(title, loc="left", pad=TITLE_PAD_PT / 2)
    return frame.figure


def _by_question(numbers: Numbers, look: Numbers) -> dict[str, list[Mapping[str, Any]]]:
    """Tests with a posterior, by question."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in look["tests"]:
        if row["mean"] is not None:
            found.setdefault(numbers["tests"][row["test"]]["question"], []).append(row)
    return found


def _row_labels(numbers: Numbers, rows: Rows, *, questions: bool = False) -> dict[str, str]:
    """Label of each row by test; on one line and with its question, or in lines."""
    styles, found = method_styles(numbers["methods"]), {}
    for row in rows:
        test = numbers["tests"][row["test"]]
        style = styles.get(test["subject"])
        label = test["subject"] if style is None else style.label
        if questions:
            label = f"{test['question'].upper()} {label.replace(chr(10), ' ')}"
        found[row["test"]] = label
    return found


def _words(look: Numbers) -> str:
    low, high = (f"{bound:g}".replace("-", _MINUS) for bound in look["limits"]["rope_eur_m2"])
    share = f"{100 * look['limits']['probability']:g} %"
    text = (
        f"Bars: 95 % BCa and {share} equal-tailed posterior intervals of a hierarchical model. "
        "P: posterior probability that the mean over sites lies below, inside or above the shaded "
        f"range, {low} to {high} EUR/m2."
    )
    left_out = sum(row["mean"] is None for row in look["tests"])
    if left_out:
        text += (
            f" {left_out} of {len(look['tests'])} tests have no spread or too few sites, "
            "hence no posterior."
        )
    return text


def _draw_panel(
    axis: Axes, numbers: Numbers, look: Numbers, rows: Rows, names: Mapping[str, str]
) -> None:
    low, high = look["limits"]["rope_eur_m2"]
    axis.axvspan(low, high, color=_BAND, linewidth=0, zorder=0, gid="rope")
    axis.axvline(0.0, color=BLACK, linewidth=0.7, zorder=1)
    for bound in (low, high):
        axis.axvline(bound, color=BLACK, linestyle=":", linewidth=0.8, zorder=1)
    for place, row in enumerate(rows):
        test, name = numbers["tests"][row["test"]], row["test"]
        bca = (test["estimate"], test["ci_low"], test["ci_high"])
        _bar(axis, bca, place - _APART, f"{name}-bca", BLACK, "o")
        posterior = (row["mean"], row["low"], row["high"])
        _bar(axis, posterior, place + _APART, f"{name}-posterior", BLUE, "D")
        _write(axis, 0, place + _APART, format_mean(row["mean"]), BLUE)
        for column, part in enumerate(("p_below", "p_inside", "p_above"), start=1):
            shade = BLACK if part == "p_inside" else GREY
            gid = f"{name}-inside" if part == "p_inside" else None
            _write(axis, column, place, probability_text(row[part]), shade, gid)
    for column, head in enumerate(("mean", "P below", "inside", "above")):
        _write(axis, column, -0.62, head, GREY)
    _finish(axis, [names[row["test"]] for row in rows])
    axis.set_xlabel(X_LABEL)


def _bar(
    axis: Axes,
    numbers: tuple[float | None, float | None, float | None],
    height: float,
    name: str,
    colour: str,
    marker: str,
) -> None:
    mean, low, high = numbers
    if low is not None and high is not None:
        axis.plot([low, high], [height] * 2, color=colour, linewidth=1.4, zorder=3, gid=name)
    if mean is not None:
        axis.plot(
            [mean],
            [height],
            color=colour,
            marker=marker,
            markersize=3.8,
            zorder=4,
            gid=f"{name}-mean",
        )


def _write(
    axis: Axes, column: int, height: float, text: str, colour: str, gid: str | None = None
) -> None:
    """A text in one of the columns at the right, the place given in inches beside the axes."""
    width = axis.get_position().width * DOUBLE_COLUMN_IN
    axis.text(
        1.0 + (0.06 + column * (_COLUMNS_IN - 0.1) / 4) / width,
        height,
        text,
        transform=axis.get_yaxis_transform(),
        va="center",
        fontsize=6,
        color=colour,
        gid=gid,
    )


def _draw_check(axis: Axes, row: Mapping[str, Any], height: int) -> None:
    name = f"{row['test']}-{row['statistic']}"
    span = [row["replicated_low"], row["replicated_high"]]
    axis.plot(span, [height] * 2, color="#BDBDBD", linewidth=3.0, gid=f"{name}-replicated")
    axis.plot([row["replicated"]], [height], color=GREY, marker="|", markersize=6)
    inside = span[0] <= row["observed"] <= span[1]
    axis.plot(
        [row["observed"]],
        [height],
        color=BLACK if inside else VERMILLION,
        marker="o",
        markersize=3.2,
        gid=f"{name}-observed",
    )


def _finish(axis: Axes, labels: Sequence[str]) -> None:
    axis.set_yticks(range(len(labels)), labels)
    axis.set_ylim(len(labels) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.grid(False, axis="y")
    axis.spines["left"].set_visible(False)
    axis.margins(x=0.04)


def _empty(axis: Axes) -> None:
    axis.text(0.5, 0.5, "no test to model", transform=axis.transAxes, ha="center", color=GREY)
    axis.set_yticks([])
