"""Traces of confirmatory scores: where there is one, it is too late for a lock."""

from __future__ import annotations

import json
from pathlib import Path

from slowlab.config import ConfigError
from slowlab.plan.study import StudyConfig, load_study

RESULTS = "results"
_SCORES = ("scores*", "site_scores*", "reading_scores*", "oracle*", "side_wall*", "runs")
_SCORES += ("numbers.json", "report.html")
"""What holds scores in a study's folder of results; ``runs`` are finished scoring runs."""


def traces_of_scores(root: Path, config: StudyConfig) -> list[str]:
    """Scores of the study, and of any other study on its partition, as sentences.

    Args:
        root: the repository.
        config: the study that is to be locked.
    """
    names = {config.study, *_studies_on(root, config.partition)}
    found = []
    for folder in sorted((root / RESULTS).glob("*/")):
        own = folder.name.partition("@")[0] in names
        if own or _partition_of_numbers(folder / "numbers.json") == config.partition:
            found += [
                f"{path.relative_to(root).as_posix()}: holds scores of {config.partition} sites"
                for pattern in _SCORES
                for path in sorted(folder.glob(pattern))
                if _holds_a_file(path)
            ]
    return found


def _studies_on(root: Path, partition: str) -> list[str]:
    """Names of all studies under ``config/`` that use a partition."""
    names = []
    for path in sorted((root / "config").glob("*.yaml")):
        try:
            study = load_study(path)
        except ConfigError:  # another kind of file
            continue
        names += [study.study] if study.partition == partition else []
    return names


def _partition_of_numbers(path: Path) -> str | None:
    """Partition that a study's numbers name; None where there are none that can be read."""
    try:
        return json.loads(path.read_bytes())["study"]["partition"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _holds_a_file(path: Path) -> bool:
    return path.is_file() or any(item.is_file() for item in path.rglob("*"))
