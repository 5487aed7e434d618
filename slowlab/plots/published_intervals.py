"""The published primary tests as interval plots, and their rows for showing beside our own."""

from __future__ import annotations

from matplotlib.figure import Figure

from slowlab.analysis.published import Version, load_published, primary_tests
from slowlab.analysis.published_schema import Estimate
from slowlab.plots.interval_plot import (
    IntervalBar,
    IntervalPanel,
    IntervalRow,
    draw_intervals,
    row_order,
)
from slowlab.plots.style import BLUE, GREEN, GREY, PURPLE, VERMILLION

COLOURS = {"deepseek": BLUE, "glm": VERMILLION, "mimo": GREEN, "baseline": PURPLE}
LABELS = {"deepseek": "DeepSeek", "glm": "GLM", "mimo": "MiMo", "baseline": "Baseline"}
_PANELS = {
    "E1": ("Model \N{MINUS SIGN} baseline, full feedback", "E1_{}_minus_baseline"),
    "E2": ("Full \N{MINUS SIGN} endpoint feedback", "E2_{}_full_minus_endpoint"),
}


def published_bar(estimate: Estimate) -> IntervalBar:
    """A published test as it is drawn; its p-value is that of its own family."""
    joint = estimate.p_bh_joint17
    adjusted = estimate.p_adjusted if joint is None else joint
    return IntervalBar(estimate.mean, *estimate.ci95_bca, adjusted)


def draw_published_primary() -> Figure:
    """Both primary comparisons: the corrected analysis, and below it the original one.

    There are no site dots: the scores of the published test sites were not released.
    """
    corrected, original = primary_tests(Version.CORRECTED), primary_tests(Version.ORIGINAL)
    panels = []
    for title, pattern in _PANELS.values():
        methods = [name for name in LABELS if pattern.format(name) in corrected]
        rows = tuple(
            IntervalRow(
                label=LABELS[name],
                bar=published_bar(corrected[pattern.format(name)]),
                colour=COLOURS.get(name, GREY),
                comparison=published_bar(original[pattern.format(name)]),
            )
            for name in row_order(methods, last="baseline")
        )
        panels.append(IntervalPanel(title, rows))
    legend = ("published, corrected analysis", "published, first analysis")
    return draw_intervals(panels, load_published().design.sesoi, legend=legend)
