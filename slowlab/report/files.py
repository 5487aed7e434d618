"""The report as a file, beside the data that it links to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from slowlab.agents.page import INDEX
from slowlab.agents.page_facts import page_name
from slowlab.analysis.numbers_file import read_numbers
from slowlab.analysis.second_look_file import read_second_look
from slowlab.analysis.study_tables import table
from slowlab.io import atomic_write_text
from slowlab.report.page import CampaignLinks, render_report
from slowlab.report.second_look_shown import shown_look


def write_report(
    target: Path,
    *,
    numbers: Path,
    figures: Sequence[Path],
    tables: Sequence[Path],
    data: Sequence[Path],
    transcripts: Path | None = None,
    look: Path | None = None,
) -> Path:
    """Write the page of a study in one step.

    Args:
        target: the page.
        numbers: every number it shows.
        figures: SVG files, each named after its figure.
        tables: CSV files, each named after its table; the page links to them.
        data: further files that the page links to.
        transcripts: folder of pages of transcripts, with a list of them all; None without any.
        look: the Bayesian second look; None without one.

    Raises:
        StrictJsonError, NumbersError, SecondLookError: numbers or second look cannot be read.
        OSError: a file cannot be read or written.
    """
    found = read_numbers(numbers)
    linked = [
        numbers,
        *tables,
        *data,
        *(path.with_suffix(".png") for path in figures),
    ]
    page = render_report(
        found,
        figures={path.stem: path.read_text(encoding="utf-8") for path in figures},
        tables={path.stem: table(path.stem, found) for path in tables},
        links={path.name: _address(path, target) for path in linked if path.exists()},
        transcripts={
            name: _address(path, target)
            for name, path in _transcript_pages(found, transcripts).items()
            if path.exists()
        },
        campaigns=campaign_links(found, target, transcripts),
        second_look=None if look is None else shown_look(found, read_second_look(look)),
    )
    return atomic_write_text(target, page)


def campaign_links(
    numbers: Mapping[str, Any], page: Path, transcripts: Path | None
) -> list[CampaignLinks]:
    """Pages of transcripts and journals of campaigns, as far as they lie beside the page.

    Args:
        numbers: the study's numbers.
        page: the page, in the study's folder.
        transcripts: folder of pages of transcripts; None without any.
    """
    study, found = numbers["study"], []
    methods = [item for item in numbers["methods"] if item["experiments"]]
    for item, feedback, repeat in product(methods, study["feedback"], range(study["repeats"])):
        name, links = item["name"], []
        for site in study["sites"]:
            if item["model"]:
                paths = [] if transcripts is None else [transcripts]
                paths = [path / page_name(name, site, feedback, repeat) for path in paths]
            else:
                folder = page.parent / "campaigns" / name / feedback / f"repeat-{repeat}"
                paths = sorted(folder.glob(f"*/journals/site-{site:03d}.jsonl"))
            links += [(site, _address(path, page)) for path in paths if path.exists()]
        kind = "transcript" if item["model"] else "journal"
        if links:
            found.append(CampaignLinks(item["label"], feedback, repeat, kind, tuple(links)))
    return found


def _transcript_pages(numbers: Mapping[str, Any], folder: Path | None) -> dict[str, Path]:
    """The page of the example campaign and the list of all pages, whether they are there or not."""
    if folder is None:
        return {}
    told = numbers["example_steps"]
    name = page_name(told["method"], told["site"], told["feedback"], told["repeat"])
    return {"example": folder / name, "all": folder / INDEX}


def _address(path: Path, page: Path) -> str:
    """A file as seen from the page."""
    return Path(os.path.relpath(path, page.parent)).as_posix()
