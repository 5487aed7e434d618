"""Transcripts as pages that people read, and a list of them.

A page is one self-contained HTML file that loads nothing and runs nothing. All that a model has
written is shown as text: it is escaped, and characters that cannot be seen, or that turn the order
of others, are shown by their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from slowlab.agents.page_facts import about_transcript, shown_counts
from slowlab.agents.page_timeline import timeline
from slowlab.agents.page_turns import transcript_turns
from slowlab.agents.step_words import day_words
from slowlab.agents.summary import transcript_counts, transcript_ending, transcript_task
from slowlab.agents.transcript import read_transcript
from slowlab.agents.transcript_format import SUFFIX
from slowlab.campaign.journal_format import Record
from slowlab.io import atomic_write_text

INDEX = "index.html"
"""Name of the list of pages."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\ufff0-\ufffb\ufffe\uffff]"
)


class SameCampaignError(ValueError):
    """Two transcripts that would have the same page; the message names one of them."""


def visible(text: str) -> str:
    """A text in which every character can be seen; others become their numbers."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def render_page(records: Sequence[Record], name: str = "transcript") -> str:
    """The page of one transcript.

    Args:
        records: its records, oldest first.
        name: what it is called where it does not say itself what it is about.

    Returns:
        HTML; equal arguments give equal text.
    """
    about, task = about_transcript(records, name), transcript_task(records)
    return _render(
        "transcript_page.html.j2",
        about=about,
        summary=shown_counts(transcript_counts(records), transcript_ending(records)),
        picture=None if task is None else timeline(records, task),
        turns=transcript_turns(records),
        records=len(records),
        digest=records[-1].digest if records else "",
    )


def write_page(path: Path, target: Path) -> Path:
    """Write the page of one transcript.

    Args:
        path: the transcript; it is verified and not changed.
        target: the page.

    Raises:
        JournalError: the transcript does not verify.
        OSError: a file cannot be read or written.
    """
    return atomic_write_text(target, render_page(read_transcript(path).records, _stem(path)))


def write_pages(paths: Sequence[Path], folder: Path) -> Path:
    """Write the pages of transcripts and a list of them.

    Args:
        paths: transcripts; each is verified and none is changed.
        folder: gets one page a transcript and :data:`INDEX`.

    Returns:
        The list.

    Raises:
        JournalError: a transcript does not verify.
        SameCampaignError: two transcripts are about the same campaign.
        OSError: a file cannot be read or written.
    """
    rows: dict[str, dict[str, Any]] = {}
    for path in paths:
        records = read_transcript(path).records
        about = about_transcript(records, _stem(path))
        if about["page"] in rows:
            raise SameCampaignError(f"{path}: another transcript is about the same campaign")
        atomic_write_text(folder / about["page"], render_page(records, _stem(path)))
        counts = transcript_counts(records)
        rows[about["page"]] = {"about": about, "ending": transcript_ending(records), **counts}
    ordered = [rows[page] for page in sorted(rows)]
    text = _render("transcript_list.html.j2", rows=ordered)
    return atomic_write_text(folder / INDEX, text)


def _stem(path: Path) -> str:
    return path.name.removesuffix(SUFFIX)


def _render(template: str, **content: Any) -> str:
    return _template(template).render(**content).rstrip() + "\n"


@cache
def _template(name: str) -> Any:
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters["day"] = day_words
    text = (files("slowlab.agents") / name).read_text(encoding="utf-8")
    return environment.from_string(text)


def _shown(value: Any) -> Any:
    """What is put into a template: text with nothing unseen, before it is escaped."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
