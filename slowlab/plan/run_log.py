"""When a study's workflow ran: for a person who wants to know how long it took. No result reads it.

Snakemake's hooks append to it; a run that was killed has a beginning and no end.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

FILE = Path("timings") / "workflow.jsonl"


@dataclass(frozen=True)
class WorkflowRun:
    """One call of Snakemake that had something to do.

    Attributes:
        wall_s: from its beginning to its end, s; None where it was killed.
        cores: cores it was given.
        succeeded: whether it came to its end without an error.
    """

    wall_s: float | None
    cores: int
    succeeded: bool


def log_event(folder: str | Path, event: str, cores: int) -> None:
    """Append one event of a workflow.

    Args:
        folder: the study's folder.
        event: ``start``, ``success`` or ``error``.
        cores: cores that the run was given.
    """
    path = Path(folder) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    row = {"event": event, "time_s": time.time(), "cores": cores, "process": os.getpid()}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def workflow_runs(folder: str | Path) -> list[WorkflowRun]:
    """All runs of a study's workflow, oldest first; none where there is no log."""
    try:
        lines = (Path(folder) / FILE).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    runs, begun = [], None
    for row in map(json.loads, lines):
        if row["event"] == "start":
            if begun is not None:
                runs.append(WorkflowRun(None, begun["cores"], succeeded=False))
            begun = row
        elif begun is not None:
            wall = row["time_s"] - begun["time_s"]
            runs.append(WorkflowRun(wall, begun["cores"], row["event"] == "success"))
            begun = None
    return runs + ([] if begun is None else [WorkflowRun(None, begun["cores"], succeeded=False)])


def seconds_by_rule(folder: str | Path) -> dict[str, tuple[int, float]]:
    """Jobs and their seconds together, by the name of their folder of timing files."""
    found: dict[str, tuple[int, float]] = {}
    for path in sorted((Path(folder) / "timings").glob("*/*.tsv")):
        took = job_seconds(path)
        if took is not None:
            jobs, seconds = found.get(path.parent.name, (0, 0.0))
            found[path.parent.name] = (jobs + 1, seconds + took)
    return found


def job_seconds(path: Path) -> float | None:
    """Seconds of one job from Snakemake's timing file; None where there is none or it is cut."""
    try:
        header, first = path.read_text(encoding="utf-8").splitlines()[:2]
        return float(dict(zip(header.split("\t"), first.split("\t"), strict=True))["s"])
    except (OSError, ValueError, KeyError):
        return None
