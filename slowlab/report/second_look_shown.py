"""What a report or a page shows of the second look: its figures and table, or why it shows none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from slowlab.analysis.second_look_file import missed_gates
from slowlab.analysis.second_look_table import second_look_table, table_words
from slowlab.plots.second_look_plot import TITLES, draw_second_look_figure
from slowlab.plots.style import figure_bytes


@dataclass(frozen=True)
class ShownLook:
    """The second look as it is shown.

    Attributes:
        figures: SVG by name of the figure; empty where a gate is missed.
        table: its table; None where a gate is missed.
        note: what the columns of the table are.
        missed: a line for each gate that is missed.
    """

    figures: dict[str, str]
    table: pd.DataFrame | None
    note: str
    missed: tuple[str, ...]


def shown_look(numbers: Mapping[str, Any], look: Mapping[str, Any]) -> ShownLook:
    """Figures and table of a second look whose gates hold.

    Args:
        numbers: the study's numbers.
        look: the second look, see ``slowlab.analysis.second_look``.
    """
    missed = tuple(missed_gates(look))
    if missed:
        return ShownLook({}, None, "", missed)
    figures = {
        name: figure_bytes(draw_second_look_figure(name, numbers, look), "svg").decode("utf-8")
        for name in TITLES
    }
    return ShownLook(figures, second_look_table(numbers, look), table_words(look), ())
