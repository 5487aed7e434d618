"""A finished study as a page of the documentation: Markdown with its tables and figures.

The page is generated; a text of one's own belongs beside it, not into it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slowlab.analysis.answer import QUESTION, answer
from slowlab.analysis.numbers_file import read_numbers
from slowlab.analysis.study_tables import TITLES as TABLE_TITLES
from slowlab.analysis.study_tables import mark_text, markdown_lines, table
from slowlab.io import atomic_path, atomic_write_text
from slowlab.plan.run_log import WorkflowRun, seconds_by_rule, workflow_runs
from slowlab.plots.study_figures import figures_of

TABLES = (
    "table2",
    "gains",
    "table3",
    "resources",
    "by_year",
    "diagnostics",
    "campaigns",
    "missing_data",
    "leaderboard",
    "anchored",
    "failures",
)
OF_MODELS = ("table4", "agents")
"""Tables that are shown of a study with language models only."""
_SHORTEST_S = 6.0
"""Runs that ended sooner only drew something again and are not listed."""
_STAGES = {
    "campaigns": "campaigns",
    "scores": "scores of methods",
    "readings": "readers",
    "reading_scores": "scores of readers",
}


def write_document(study_folder: Path, target: Path, command: str) -> Path:
    """Write the page of a finished study, with its figures in a folder beside it.

    Args:
        study_folder: where the study's results lie.
        target: the page; figures go to ``figures/<study>/`` in its folder.
        command: what makes the study, as shown to the reader.

    Raises:
        NumbersError: the study is not finished.
        OSError: a file cannot be read or written.
    """
    numbers = read_numbers(study_folder / "numbers.json")
    pictures = target.parent / "figures" / numbers["study"]["name"]
    shown = {}
    for name, title in figures_of(numbers).items():
        picture = study_folder / "figures" / f"{name}.png"
        if picture.is_file():
            with atomic_path(pictures / picture.name) as part:
                shutil.copyfile(picture, part)
            shown[f"figures/{numbers['study']['name']}/{picture.name}"] = title
    runs = workflow_runs(study_folder)
    text = render_document(numbers, shown, runs, seconds_by_rule(study_folder), command)
    return atomic_write_text(target, text)


def render_document(
    numbers: Mapping[str, Any],
    figures: Mapping[str, str],
    runs: Sequence[WorkflowRun],
    stages: Mapping[str, tuple[int, float]],
    command: str,
) -> str:
    """The page as Markdown.

    Args:
        numbers: the study's numbers.
        figures: title of each figure by its address.
        runs: when the workflow ran.
        stages: jobs and their seconds by stage.
        command: what makes the study.
    """
    study, mark = numbers["study"], mark_text(numbers)
    parts = [
        f"# Study `{study['name']}`" + (f": {mark}" if mark else ""),
        "*Generated from the study's numbers; do not edit.*",
        f"**{mark}. Not a result of the published study.**" if mark else "",
        f"{study['n_sites']} {study['partition']} sites, {study['repeats']} repeat(s), feedback "
        f"{' and '.join(study['feedback'])}, {study['scoring_years_per_site']} scoring years a "
        f"site, contract `{study['contract']}`, {study['weather']} weather. "
        + ("Exploratory: no analysis was locked." if study["exploratory"] else ""),
        f"```sh\n{command}\n```",
        f"## Question and answer\n\n{QUESTION}\n\n{answer(numbers)}",
        _time(runs, stages),
        *(f"![{title}]({address})\n\n*{title}.*" for address, title in figures.items()),
        *(_section(name, numbers) for name in (*TABLES, *(OF_MODELS if numbers["agents"] else ()))),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _time(runs: Sequence[WorkflowRun], stages: Mapping[str, tuple[int, float]]) -> str:
    """How long it took: the workflow's own clock, and the seconds of its jobs."""
    lines = ["## Time", ""]
    for run in runs:
        if run.succeeded and run.wall_s is not None and run.wall_s < _SHORTEST_S:
            continue
        end = "killed" if run.wall_s is None else f"{run.wall_s / 60:.1f} minutes"
        lines.append(
            f"* run on {run.cores} core(s): {end}{'' if run.succeeded else ', unfinished'}"
        )
    lines += ["", "| stage | jobs | core-minutes |", "|---|---|---|"]
    for name, (jobs, seconds) in stages.items():
        lines.append(f"| {_STAGES.get(name, name)} | {jobs} | {seconds / 60:.1f} |")
    return "\n".join(lines)


def _section(name: str, numbers: Mapping[str, Any]) -> str:
    """One table under its title, without columns in which nothing stands."""
    frame = table(name, numbers).drop(columns="mark", errors="ignore").astype("str")
    frame = frame.loc[:, (frame != "").any()]
    return "\n".join([f"## {TABLE_TITLES[name]}", "", *markdown_lines(frame)])
