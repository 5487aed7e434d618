"""The frame of every figure of a study: a strip for legend and marks, panels, a line of caption."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from slowlab.analysis.study_tables import mark_text
from slowlab.plots.style import BLACK, DOUBLE_COLUMN_IN, GREY, VERMILLION, new_figure

CHAR_IN = 0.059
"""Width of a character of a row label, inches."""
FIGURES_IN = 1.06
"""Room for mean and p-value beside a panel, inches."""
_STRIP_IN, _TITLE_IN, _AXIS_IN, _CAPTION_LINE_IN = 0.24, 0.32, 0.42, 0.115
TITLE_PAD_PT = 12
"""Distance of titles from panels: room for the heading of the figures beside them, points."""
_CAPTION_CHARS = 150
_EDGE_IN = 0.08
_LEGEND_CHAR_IN = 0.058


class StudyFrame:
    """A figure with a strip above and a caption below its panels.

    Args:
        numbers: the study's numbers; its marks are written in the strip.
        panels_in: height of the panels without titles and axis labels, inches.
        caption: what the figure shows, in plain text.
        legend: entries of the strip as text and colour.
    """

    def __init__(
        self,
        numbers: Mapping[str, Any],
        panels_in: float,
        caption: str,
        legend: Sequence[tuple[str, str]] = (),
    ) -> None:
        lines = textwrap.wrap(caption, _CAPTION_CHARS, break_on_hyphens=False)
        self.below_in = _CAPTION_LINE_IN * len(lines) + _EDGE_IN
        self.above_in = _STRIP_IN if legend or numbers["study"]["marks"] else 0.05
        height = self.above_in + _TITLE_IN + panels_in + _AXIS_IN + self.below_in
        self.figure: Figure = new_figure(DOUBLE_COLUMN_IN, height)
        self._height, self._panels_in = height, panels_in
        self._write(lines, legend, mark_text(numbers))

    def axes(
        self, left_in: float, right_in: float, top_in: float = 0.0, height_in: float | None = None
    ) -> Axes:
        """Axes between two distances from the left edge.

        Args:
            left_in: left end, inches.
            right_in: right end, inches.
            top_in: distance from the top of the panels, inches.
            height_in: height; by default down to the bottom of the panels, inches.
        """
        tall = self._panels_in - top_in if height_in is None else height_in
        bottom = self._height - self.above_in - _TITLE_IN - top_in - tall
        return self.figure.add_axes(
            (
                left_in / DOUBLE_COLUMN_IN,
                bottom / self._height,
                (right_in - left_in) / DOUBLE_COLUMN_IN,
                tall / self._height,
            )
        )

    def _write(self, lines: Sequence[str], legend: Sequence[tuple[str, str]], mark: str) -> None:
        top = 1.0 - 0.07 / self._height
        left = _EDGE_IN
        for text, colour in legend:
            self.figure.text(
                left / DOUBLE_COLUMN_IN, top, text, fontsize=6.5, va="top", color=colour
            )
            left += _LEGEND_CHAR_IN * (len(text) + 2)
        if mark:
            self.figure.text(
                1.0 - _EDGE_IN / DOUBLE_COLUMN_IN,
                top,
                mark,
                fontsize=7,
                fontweight="bold",
                va="top",
                ha="right",
                color="white",
                gid="mark",
                bbox={"boxstyle": "round,pad=0.25", "facecolor": VERMILLION, "edgecolor": BLACK},
            )
        self.figure.text(
            _EDGE_IN / DOUBLE_COLUMN_IN,
            0.05 / self._height,
            "\n".join(lines),
            fontsize=6,
            va="bottom",
            linespacing=1.25,
            color=GREY,
            gid="caption",
        )


def label_width_in(characters: int) -> float:
    """Room for row labels, inches."""
    return 0.16 + CHAR_IN * characters
