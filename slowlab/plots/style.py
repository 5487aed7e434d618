"""The style of all figures: sizes, the Okabe-Ito colours, files that are the same on every run."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

# Okabe and Ito (2008): distinguishable with all common forms of colour blindness.
BLACK = "#000000"
ORANGE = "#E69F00"
SKY_BLUE = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#6B6B6B"

DOUBLE_COLUMN_IN = 7.2
"""Width of a figure over two columns of a journal page, inches."""

_STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 8,
    "font.family": "DejaVu Sans",
    "font.size": 7,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "lines.linewidth": 1.1,
    "savefig.dpi": 300,
    "svg.fonttype": "path",
    "svg.hashsalt": "slowlab",
    "xtick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.labelsize": 7,
    "ytick.major.width": 0.6,
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Matplotlib's defaults with the style of this project, whatever the user's own settings."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


def new_figure(width_in: float, height_in: float) -> Figure:
    """An empty figure that needs no display."""
    figure = Figure(figsize=(width_in, height_in))
    FigureCanvasAgg(figure)
    return figure


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """The figure as a file without date or other traces of the moment.

    Args:
        figure: drawn under :func:`figure_style`.
        kind: ``png`` or ``svg``.
    """
    metadata = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}[kind]
    buffer = io.BytesIO()
    with figure_style():
        figure.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()
