"""Interval plots: the numbers drawn are those given, the files are the same on every run."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from slowlab.analysis.published import Version, primary_tests
from slowlab.plots.interval_plot import (
    IntervalBar,
    IntervalPanel,
    IntervalRow,
    draw_intervals,
    format_mean,
    format_p,
    jitter,
    row_order,
)
from slowlab.plots.published_intervals import draw_published_primary
from slowlab.plots.style import figure_bytes


def drawn(figure: Figure, gid: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Coordinates of the line with a name."""
    for axis in figure.axes:
        for line in axis.lines:
            if line.get_gid() == gid:
                return line.get_xdata(), line.get_ydata()
    return None


def texts(figure: Figure) -> list[str]:
    figure.draw_without_rendering()
    return [text.get_text() for axis in figure.axes for text in axis.texts]


@pytest.fixture
def panels() -> list[IntervalPanel]:
    sites = tuple(np.random.default_rng(0).normal(-4.0, 5.0, 48))
    rows = (
        IntervalRow("prior_bo_two_wave", IntervalBar(-4.0, -5.5, -2.5, 5e-5), "#0072B2", sites),
        IntervalRow("random_search", IntervalBar(0.3, None, None, None)),
        IntervalRow("prior_bo", IntervalBar(None, None, None)),
    )
    return [IntervalPanel("A", rows), IntervalPanel("B", rows[:1], names=False)]


def test_figure_holds_the_numbers_given(panels) -> None:
    figure = draw_intervals(panels, 2.0)
    np.testing.assert_array_equal(drawn(figure, "panel0-row0-interval")[0], [-5.5, -2.5])
    np.testing.assert_array_equal(drawn(figure, "panel1-row0-mean")[0], [-4.0])
    x, y = drawn(figure, "panel0-row0-sites")
    np.testing.assert_array_equal(x, panels[0].rows[0].sites)
    assert np.abs(y).max() <= 0.18
    assert drawn(figure, "panel0-row1-interval") is None
    assert drawn(figure, "panel0-row2-mean") is None
    assert "no data" in texts(figure)
    assert "\N{MINUS SIGN}4.00, p < 0.001" in texts(figure)
    dotted = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
    assert sorted(line.get_xdata()[0] for line in dotted) == [-2.0, 2.0]


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_same_bytes_on_every_run(panels, kind: str) -> None:
    first = figure_bytes(draw_intervals(panels, 2.0), kind)
    assert figure_bytes(draw_intervals(panels, 2.0), kind) == first


def test_published_figure_shows_the_published_intervals() -> None:
    figure = draw_published_primary()
    rows = [
        ("panel0-row0", "E1_deepseek_minus_baseline"),
        ("panel0-row1", "E1_glm_minus_baseline"),
        ("panel0-row2", "E1_mimo_minus_baseline"),
        ("panel1-row0", "E2_deepseek_full_minus_endpoint"),
        ("panel1-row1", "E2_glm_full_minus_endpoint"),
        ("panel1-row2", "E2_mimo_full_minus_endpoint"),
        ("panel1-row3", "E2_baseline_full_minus_endpoint"),
    ]
    for version, suffix in ((Version.CORRECTED, ""), (Version.ORIGINAL, "-comparison")):
        tests = primary_tests(version)
        for place, name in rows:
            interval = drawn(figure, f"{place}{suffix}-interval")[0]
            np.testing.assert_array_equal(interval, tests[name].ci95_bca)
            assert drawn(figure, f"{place}{suffix}-mean")[0][0] == tests[name].mean
    assert "\N{MINUS SIGN}5.60, p < 0.001" in texts(figure)
    assert "\N{MINUS SIGN}2.05, p = 0.044" in texts(figure)


def test_nothing_overlaps_or_leaves_the_page() -> None:
    figure = draw_published_primary()
    figure.draw_without_rendering()
    page = figure.bbox
    boxes = []
    for axis in figure.axes:
        boxes += [text.get_window_extent() for text in axis.texts]
        boxes += [label.get_window_extent() for label in axis.get_yticklabels()]
        boxes += [axis.title.get_window_extent(), axis.xaxis.label.get_window_extent()]
        boxes.append(axis._left_title.get_window_extent())
    boxes = [box for box in boxes if box.width > 1]
    for number, box in enumerate(boxes):
        assert page.x0 <= box.x0 < box.x1 <= page.x1
        assert page.y0 <= box.y0 < box.y1 <= page.y1
        for other in boxes[number + 1 :]:
            assert not box.shrunk(0.95, 0.8).overlaps(other.shrunk(0.95, 0.8))


@pytest.mark.parametrize(
    ("mean", "text"),
    [(0.284, "+0.28"), (-5.6, "\N{MINUS SIGN}5.60"), (-0.001, "0.00"), (0.0, "0.00")],
)
def test_means(mean: float, text: str) -> None:
    assert format_mean(mean) == text


@pytest.mark.parametrize(
    ("p", "text"),
    [(7e-5, "<0.001"), (0.0441, "0.044"), (0.0999, "0.100"), (0.1, "0.10"), (1.0, "1.00")],
)
def test_p_values(p: float, text: str) -> None:
    assert format_p(p) == text


def test_jitter_is_fixed_and_spread() -> None:
    shifts = jitter(48)
    np.testing.assert_array_equal(shifts, jitter(48))
    assert np.abs(shifts).max() <= 0.18
    assert np.diff(np.sort(shifts)).min() > 0.001


def test_rows_are_alphabetical_with_the_baseline_last() -> None:
    names = ["prior_bo", "MiMo", "glm", "DeepSeek"]
    assert row_order(names, last="prior_bo") == ["DeepSeek", "glm", "MiMo", "prior_bo"]


def test_an_empty_plot_is_refused() -> None:
    for panels in ([], [IntervalPanel("A", ())]):
        with pytest.raises(ValueError, match="rows"):
            draw_intervals(panels, 2.0)
