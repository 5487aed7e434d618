"""The report: one self-contained HTML page with inline figures, tables and links to the data.

It loads nothing from anywhere. Everything in it comes from the numbers, figures and tables that it
is given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from slowlab.analysis.answer import QUESTION, answer
from slowlab.analysis.second_look_table import TITLE as LOOK_TABLE
from slowlab.analysis.study_tables import mark_text
from slowlab.analysis.table_notes import table_note
from slowlab.plots.second_look_plot import TITLES as LOOK_FIGURES
from slowlab.report.contents import ANSWER_TABLE, SECOND_LOOKS, Section, contents, item_word
from slowlab.report.second_look_shown import ShownLook

TEMPLATE = "page.html.j2"
_SVG_START = re.compile(r"<svg.*", re.DOTALL)
_SVG_ID = re.compile(r'(\bid="|url\(#|href="#)')
_SIZE = re.compile(r'<svg([^>]*?)\swidth="[^"]*"\sheight="[^"]*"')


@dataclass(frozen=True)
class CampaignLinks:
    """Where the campaigns of a method under one condition and in one repeat can be read.

    Attributes:
        label: the method as it is shown.
        feedback: the condition.
        repeat: the repeat.
        kind: what the links lead to.
        links: site and address of each, in the order of sites.
    """

    label: str
    feedback: str
    repeat: int
    kind: str
    links: tuple[tuple[int, str], ...]


def render_report(
    numbers: Mapping[str, Any],
    figures: Mapping[str, str | bytes],
    tables: Mapping[str, pd.DataFrame],
    links: Mapping[str, str] | None = None,
    transcripts: Mapping[str, str] | None = None,
    campaigns: Sequence[CampaignLinks] = (),
    second_look: ShownLook | None = None,
) -> str:
    """The page.

    Args:
        numbers: the study's numbers.
        figures: SVG by name of the figure, see ``slowlab.plots.study_figures.TITLES``; a figure
            that is not there is said to be missing.
        tables: tables by name, see ``slowlab.analysis.study_tables.tables_of``; as for figures.
        links: addresses of data files, relative to the page, by what they are.
        transcripts: addresses of pages of transcripts, by ``example`` and ``all``, as far as there
            are such pages.
        campaigns: links to single campaigns, a row for each method, condition and repeat.
        second_look: what is shown of the Bayesian analysis; None without one.

    Returns:
        HTML; equal arguments give equal text.

    Raises:
        ValueError: a figure that is no SVG.
    """
    page = _template().render(
        numbers=numbers,
        study=numbers["study"],
        mark=mark_text(numbers),
        question=QUESTION,
        answer=answer(numbers),
        sections=[
            _section(section, numbers, figures, tables, second_look)
            for section in contents(numbers)
        ],
        missed=() if second_look is None else second_look.missed,
        links=dict(links or {}),
        transcripts=dict(transcripts or {}),
        campaigns=campaigns,
    )
    return page.rstrip() + "\n"


def _section(
    section: Section,
    numbers: Mapping[str, Any],
    figures: Mapping[str, str | bytes],
    tables: Mapping[str, pd.DataFrame],
    look: ShownLook | None,
) -> dict[str, Any]:
    shown = [_figure(name, title, figures.get(name)) for name, title in section.figures.items()]
    listed = [
        _table(name, title, tables.get(name), table_note(name, numbers))
        for name, title in section.tables.items()
    ]
    if look is not None and look.table is not None and section.name == SECOND_LOOKS:
        shown = [_figure(name, LOOK_FIGURES[name], svg) for name, svg in look.figures.items()]
        listed = [_table("second_look", LOOK_TABLE, look.table, look.note), *listed]
    return {
        "name": section.name,
        "title": section.title,
        "figures": shown,
        "tables": listed,
    }


def _figure(name: str, title: str, svg: str | bytes | None) -> dict[str, Any]:
    word = item_word("figure", name)
    return {"name": name, "word": word, "title": title, "svg": _inline(name, title, svg)}


def _table(name: str, title: str, frame: pd.DataFrame | None, note: str) -> dict[str, Any]:
    return {
        "name": name,
        "word": item_word("table", name),
        "title": title,
        "rows": _cells(frame),
        "note": note,
        "open": name == ANSWER_TABLE,
    }


@cache
def _template() -> Any:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    text = (files("slowlab.report") / TEMPLATE).read_text(encoding="utf-8")
    return environment.from_string(text)


def _inline(name: str, title: str, svg: str | bytes | None) -> Markup | None:
    """An SVG that can stand beside others in a page: no prolog, its own names, its size by CSS."""
    if svg is None:
        return None
    text = svg.decode("utf-8") if isinstance(svg, bytes) else svg
    found = _SVG_START.search(text)
    if found is None:
        raise ValueError(f"{name} is no SVG")
    text = _SVG_ID.sub(rf"\g<1>{name}-", found.group())
    label = f' role="img" aria-label="{title}"'
    return Markup(_SIZE.sub(rf"<svg\1{label}", text, count=1))


def _cells(frame: pd.DataFrame | None) -> list[list[str]] | None:
    """Header and rows as text, without the column of marks, which the page bears itself."""
    if frame is None:
        return None
    shown = frame.drop(columns="mark", errors="ignore")
    return [list(map(str, shown.columns)), *shown.astype("str").to_numpy().tolist()]
