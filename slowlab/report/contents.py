"""In which order a study is told: sections of figures and tables, for the page and the document.

A section names what may stand in it; what a study lacks is left out. A figure or table that no
section names comes under the last heading, so a new one is never lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slowlab.analysis.study_tables import tables_of
from slowlab.plots.study_figures import figures_of

ANSWER_FIGURE = "figure3"
"""The figure that answers the question; it stands beside the answer."""
ANSWER_TABLE = "table2"
"""The table that does; it is open from the beginning."""
SECOND_LOOKS = "second-looks"
"""The section that the Bayesian analysis comes into, which is made after the numbers."""
CAMPAIGNS = "campaigns"
"""The section with links to campaigns."""


@dataclass(frozen=True)
class Section:
    """A heading with what stands under it.

    Attributes:
        name: its address in the page.
        title: its heading.
        figures: titles of its figures by name, in their order.
        tables: titles of its tables by name, in their order.
    """

    name: str
    title: str
    figures: Mapping[str, str]
    tables: Mapping[str, str]


_SECTIONS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("answer", "Question and answer", (ANSWER_FIGURE,), (ANSWER_TABLE,)),
    (
        "tests",
        "Scores and tests",
        ("figure4",),
        (
            "gains",
            "table3",
            "headroom",
            "leaderboard",
            "anchored",
            "attempts",
            "by_year",
            "resources",
        ),
    ),
    (
        SECOND_LOOKS,
        "Second looks at the same scores",
        (),
        (
            "mixed_model",
            "sensitivity_repeats",
            "dry_matter",
            "side_wall",
            "stability",
            "dominance",
        ),
    ),
    ("readers", "Readers of the same evidence", ("figure5",), ("readers",)),
    (
        CAMPAIGNS,
        "Campaigns",
        ("figure1", "figure7"),
        ("table4", "campaigns", "diagnostics", "conduct", "failures", "frontier"),
    ),
    ("models", "Language models", ("figure6",), ("agents", "generations")),
    ("task", "The task", ("figure2",), ("table5", "table1")),
    ("published", "The published study", (), ("published", "published_by_year")),
)
_FURTHER = ("further", "Further tables and figures")


def contents(numbers: Mapping[str, Any]) -> list[Section]:
    """Sections of a study, without those of which it has nothing."""
    figures, tables = figures_of(numbers), tables_of(numbers)
    sections = [
        Section(name, title, _chosen(figures, shown), _chosen(tables, listed))
        for name, title, shown, listed in _SECTIONS
    ]
    told_figures = {name for section in sections for name in section.figures}
    told_tables = {name for section in sections for name in section.tables}
    rest = Section(
        *_FURTHER,
        {name: title for name, title in figures.items() if name not in told_figures},
        {name: title for name, title in tables.items() if name not in told_tables},
    )
    return [section for section in (*sections, rest) if section.figures or section.tables]


def item_word(kind: str, name: str) -> str:
    """How an item of the paper is called, such as ``Figure 3``; empty for one of our own."""
    number = name.removeprefix(kind)
    return f"{kind.capitalize()} {number}" if number.isdigit() else ""


def _chosen(known: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: known[name] for name in names if name in known}
