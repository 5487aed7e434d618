"""A finished study as a page of the documentation: Markdown with its tables and figures.

The page is generated; a text of one's own belongs beside it, not into it. What it was made from is
kept beside it, see :mod:`slowlab.report.kept`, and a test holds it equal to that.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from slowlab.analysis.answer import QUESTION, answer
from slowlab.analysis.numbers_file import read_numbers
from slowlab.analysis.study_tables import mark_text, markdown_lines, table
from slowlab.analysis.table_notes import table_note
from slowlab.io import atomic_path, atomic_write_text
from slowlab.plots.second_look_plot import TITLES as LOOK_FIGURES
from slowlab.plots.study_figures import figures_of
from slowlab.report.contents import SECOND_LOOKS, Section, contents, item_word
from slowlab.report.kept import (
    LOOK,
    NUMBERS,
    StudyRun,
    keep,
    keep_second_look,
    kept_folder,
    pictures_folder,
)

RESULTS = "results.md"
"""The page of the locked study."""
LEFT_OUT = ("conduct", "table1", "published_by_year")
"""Tables that a page of Markdown is too narrow for, or that belong to the paper; see the report."""
SHORTEST_S = 6.0
"""Runs that ended sooner only drew something again and are not listed."""
_STAGES = {
    "campaigns": "campaigns",
    "agents": "campaigns of language models",
    "scores": "scores of methods",
    "readings": "readers",
    "reading_scores": "scores of readers",
    "oracle": "best-known policies",
    "side_wall": "scores with other side walls",
}


def page_name(numbers: Mapping[str, Any]) -> str:
    """Name of a study's page: one for the locked study, one for each other."""
    return RESULTS if _locked(numbers) else f"{numbers['study']['name']}-study.md"


def write_document(study_folder: Path, target: Path, run: StudyRun) -> Path:
    """Write the page of a finished study, with its figures and numbers in folders beside it.

    Args:
        study_folder: where the study's results lie.
        target: the page; figures go to ``figures/<study>/`` in its folder, numbers to
            ``results/<study>/``.
        run: what the page tells besides the numbers.

    Raises:
        NumbersError: the study is not finished.
        OSError: a file cannot be read or written.
    """
    numbers = read_numbers(study_folder / "numbers.json")
    pictures = pictures_folder(target, numbers["study"]["name"])
    drawn = [study_folder / "figures" / f"{name}.png" for name in figures_of(numbers)]
    for picture in (path for path in drawn if path.is_file()):
        with atomic_path(pictures / picture.name) as part:
            shutil.copyfile(picture, part)
    keep(target, numbers, run)
    keep_second_look(target, numbers["study"]["name"], study_folder)
    return atomic_write_text(target, render_page(target, numbers, run))


def render_page(page: Path, numbers: Mapping[str, Any], run: StudyRun) -> str:
    """The page as it is with the figures that lie beside it."""
    name = numbers["study"]["name"]
    pictures = pictures_folder(page, name)
    shown = [item for item in figures_of(numbers) if (pictures / f"{item}.png").is_file()]
    addresses = {item: f"figures/{name}/{item}.png" for item in shown}
    kept = (kept_folder(page, name) / NUMBERS).relative_to(page.parent).as_posix()
    return render_document(numbers, addresses, run, kept, _second_look(page, name))


def render_document(
    numbers: Mapping[str, Any],
    figures: Mapping[str, str],
    run: StudyRun,
    kept: str = "",
    second_look: str = "",
) -> str:
    """The page as Markdown.

    Args:
        numbers: the study's numbers.
        figures: address of each figure by its name; others are left out.
        run: what the page tells besides the numbers.
        kept: address of the kept numbers; empty where there are none.
        second_look: the Bayesian analysis as Markdown; empty without one.
    """
    study, mark = numbers["study"], mark_text(numbers)
    title = (
        f"Results of study `{study['name']}`" if _locked(numbers) else f"Study `{study['name']}`"
    )
    parts = [
        f"# {title}" + (f": {mark}" if mark else ""),
        "*Generated from the study's numbers; do not edit.*",
        f"**{mark}. Not a result of the published study.**" if mark else "",
        f"{study['n_sites']} {study['partition']} sites, {study['repeats']} repeat(s), feedback "
        f"{' and '.join(study['feedback'])}, {study['scoring_years_per_site']} scoring years a "
        f"site, contract `{study['contract']}`, {study['weather']} weather. "
        + ("Exploratory: no analysis was locked." if study["exploratory"] else ""),
        model_statement(numbers),
        "\n\n".join(_sections(numbers, figures, second_look)),
        _run_section(numbers, run),
        _time(run),
        _again(kept),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _second_look(page: Path, study: str) -> str:
    """Pictures and table of the second look that are kept, or why there are none."""
    table_file = kept_folder(page, study) / LOOK
    if not table_file.is_file():
        return ""
    heading, _, rest = table_file.read_text(encoding="utf-8").strip().partition("\n")
    drawn = {name: pictures_folder(page, study) / f"{name}.png" for name in LOOK_FIGURES}
    shown = [
        f"![{LOOK_FIGURES[name]}](figures/{study}/{path.name})\n\n*{LOOK_FIGURES[name]}.*"
        for name, path in drawn.items()
        if path.is_file()
    ]
    return "\n\n".join([*shown, f"##{heading}", rest.strip()])


def model_statement(numbers: Mapping[str, Any]) -> str:
    """Which language models took part, in plain words and by rule."""
    methods = [item for item in numbers["methods"] if item["model"]]
    readers = numbers["readers"]
    labels = {item["label"]: item["stand_in"] for item in methods} | {
        readers["labels"][name]: name in readers["stand_ins"] for name in readers["models"]
    }
    if not labels:
        return "No language model took part in this study."
    scripted = sorted(label for label, stand_in in labels.items() if stand_in)
    asked = sorted(label for label, stand_in in labels.items() if not stand_in)
    told = f"Language models that were asked: {_listed(asked)}."
    if not scripted:
        return told
    if not asked:
        told = "**No language model of a provider took part in this study.**"
    return (
        f"{told} Scripted programs behind the interface of a language model, which say nothing "
        f"about any model: {_listed(scripted)}."
    )


def _locked(numbers: Mapping[str, Any]) -> bool:
    return numbers["provenance"]["lock"] is not None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"*{name}*" for name in names)


def _sections(
    numbers: Mapping[str, Any], figures: Mapping[str, str], second_look: str
) -> Iterator[str]:
    for place, section in enumerate(contents(numbers)):
        if place == 0:
            yield f"## {section.title}\n\n{QUESTION}\n\n{answer(numbers)}"
        elif _shown(section, figures):
            yield f"## {section.title}"
        if section.name == SECOND_LOOKS:
            yield "What stands here decides nothing."
            yield from [second_look] if second_look else []
        for name, title in section.figures.items():
            if name in figures:
                word = item_word("figure", name)
                yield f"![{title}]({figures[name]})\n\n*{word + '. ' if word else ''}{title}.*"
        for name, title in section.tables.items():
            if name not in LEFT_OUT:
                yield _table(name, title, numbers)


def _shown(section: Section, figures: Mapping[str, str]) -> bool:
    return bool(set(section.figures) & set(figures) or set(section.tables) - set(LEFT_OUT))


def _table(name: str, title: str, numbers: Mapping[str, Any]) -> str:
    """One table under its title, without columns in which nothing stands."""
    frame = table(name, numbers).drop(columns="mark", errors="ignore").astype("str")
    frame = frame.loc[:, (frame != "").any()]
    word = item_word("table", name)
    heading = f"### {word + '. ' if word else ''}{title}"
    note = table_note(name, numbers)
    return "\n".join([heading, "", *([note, ""] if note else []), *markdown_lines(frame)])


def _run_section(numbers: Mapping[str, Any], run: StudyRun) -> str:
    """What was run, under which lock, and why on so many sites."""
    campaigns, readers = numbers["campaigns"], numbers["readers"]
    labels = ", ".join(item["label"] for item in numbers["methods"])
    lines = [
        f"## What was run\n\n```sh\n{run.command}\n```\n",
        f"* methods: {labels}",
        f"* campaigns: {campaigns['planned']} planned, {campaigns['finished']} finished, "
        f"{campaigns['missing']} missing, {campaigns['fallbacks']} scored with a fallback",
    ]
    if readers["readers"]:
        lines.append(f"* readers: {', '.join(readers['labels'][r] for r in readers['readers'])}")
    if run.lock is not None:
        kind = f"amendment {run.lock.amendment}" if run.lock.amendment else "first lock"
        lines.append(
            f"* lock: `{run.lock.id}`, {kind}, over {run.lock.files} files; this is the "
            "hash of `preregistration/lock.json` as canonical JSON"
        )
    lines += [] if run.sites is None else [_why(run)]
    hashes = numbers["provenance"]["inputs"]
    lines += [f"* SHA-256 of the table `{name}`: `{hashes[name]}`" for name in sorted(hashes)]
    return "\n".join(lines)


def _why(run: StudyRun) -> str:
    sites = run.sites
    assert sites is not None
    needed = "; ".join(f"`{name}` {count}" for name, count in sorted(sites.needed.items()))
    return (
        f"* {sites.declared} sites were declared before any score: at least {sites.fewest}, and as "
        f"many as find {sites.effect_eur_m2:g} EUR/m2 with power {sites.power:g} at level "
        f"{sites.level:.2g} ({needed}); deviations from {sites.source}"
    )


def _time(run: StudyRun) -> str:
    """How long it took: the workflow's own clock, and the seconds of its jobs."""
    lines = ["## Time", ""]
    for each in run.runs:
        if each.succeeded and each.wall_s is not None and each.wall_s < SHORTEST_S:
            continue
        end = "killed" if each.wall_s is None else f"{each.wall_s / 60:.1f} minutes"
        lines.append(
            f"* run on {each.cores} core(s): {end}{'' if each.succeeded else ', unfinished'}"
        )
    lines += ["", "| stage | jobs | core-minutes |", "|---|---|---|"]
    for name, (jobs, seconds) in sorted(run.stages.items()):
        lines.append(f"| {_STAGES.get(name, name)} | {jobs} | {seconds / 60:.1f} |")
    return "\n".join(lines)


def _again(kept: str) -> str:
    """How to draw everything again from the kept numbers."""
    if not kept:
        return ""
    return (
        "## Everything again, without a run\n\n"
        f"[{kept}]({kept}) holds the numbers of this page; the second look is "
        "fitted to them again by the workflow.\n\n"
        f"```sh\nuv run python figures/figure3.py docs/{kept} figure3.svg\n"
        f"uv run python figures/table3.py docs/{kept} table3.csv\n```"
    )
