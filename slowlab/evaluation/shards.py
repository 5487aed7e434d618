"""Finished runs on disk: one file for every batch, each complete or absent.

A shard is named after the keys of its runs, and a key is a hash of everything that decides a run's
bytes, so an interrupted evaluation continues where it stopped, whatever is asked for next, and
results of another build or weather are never mistaken for one's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from slowlab.canonical import (
    CanonicalError,
    JsonLimits,
    StrictJsonError,
    canonical_bytes,
    canonical_sha256,
    loads_strict,
)
from slowlab.evaluation.years import CropOutcome, YearOutcome
from slowlab.io import atomic_write_bytes
from slowlab.world.simulation import CropEnding

_FORMAT = "slowlab-evaluation-shard-1"
_LIMITS = JsonLimits(max_bytes=64 * 1024 * 1024)


class ShardStore:
    """A folder of shards.

    Attributes:
        folder: where they lie; made when the first one is written.
        damaged: names of files that could not be used; their runs are simulated again.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.damaged: list[str] = []

    def load(self) -> dict[str, YearOutcome]:
        """All finished runs by key. Files that are damaged or of another format are passed over."""
        found: dict[str, YearOutcome] = {}
        self.damaged = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                found |= _read(path)
            except (CanonicalError, KeyError, StrictJsonError, TypeError, ValueError):
                self.damaged.append(path.name)
        return found

    def add(self, outcomes: Mapping[str, YearOutcome]) -> Path:
        """Write the outcomes of one batch in one step; returns the file.

        Raises:
            OSError: the file cannot be written.
        """
        runs = {key: _plain(outcome) for key, outcome in outcomes.items()}
        content = {"format": _FORMAT, "sha256": canonical_sha256(runs), "runs": runs}
        name = canonical_sha256(sorted(runs))
        return atomic_write_bytes(self.folder / f"{name}.json", canonical_bytes(content))


def _plain(outcome: YearOutcome) -> dict[str, Any]:
    return {"failure": outcome.failure, "crops": [asdict(crop) for crop in outcome.crops]}


def _read(path: Path) -> dict[str, YearOutcome]:
    """Outcomes of one file; raises where it is not a complete shard."""
    content = loads_strict(path.read_bytes(), _LIMITS)
    if content["format"] != _FORMAT or content["sha256"] != canonical_sha256(content["runs"]):
        raise ValueError("not a complete shard")
    return {key: _outcome(run) for key, run in content["runs"].items()}


def _outcome(run: Mapping[str, Any]) -> YearOutcome:
    crops = tuple(
        CropOutcome(
            **crop | {"ending": CropEnding(crop["ending"]), "flows": tuple(crop["flows"])},
        )
        for crop in run["crops"]
    )
    return YearOutcome(crops, run["failure"])
