"""After an amendment: keep what the change does not concern, side by side with the old results.

Results of two locks never share a folder. What is not affected is copied into the folder of the new
lock with receipts that name both locks; everything else is made again there. Answers of language
models that were paid for are kept as well: a transcript is followed as far as it still fits.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slowlab.io import atomic_path
from slowlab.prereg.dependencies import (
    CAMPAIGNS,
    ORACLE_JOB,
    PACKETS_JOB,
    READING_SCORES,
    READINGS,
    SCORES,
    SIDE_WALL_JOB,
)
from slowlab.prereg.errors import LockError
from slowlab.prereg.impact import Impact
from slowlab.prereg.manifest import Manifest
from slowlab.prereg.receipts import LockedResults, result_sha256
from slowlab.prereg.traces import RESULTS

_BY_SUBJECT = (CAMPAIGNS, SCORES, READINGS, READING_SCORES)
"""Folders with one folder a method or reader, each made by the jobs of the same name."""
_WHOLE = (PACKETS_JOB, ORACLE_JOB, SIDE_WALL_JOB)
"""Folders made by the jobs of the same name, whatever the method."""
_ALWAYS_KEPT = ("transcripts", "purse.jsonl")
"""What language models have answered and what it cost: never an output, never lost."""


@dataclass(frozen=True)
class CarriedOver:
    """What was copied.

    Attributes:
        folder: results of the new lock.
        kept: results that are kept, from the folder, sorted.
        left: results that have to be made again, or that are quickly made, sorted.
    """

    folder: Path
    kept: tuple[str, ...]
    left: tuple[str, ...]


def carry_over(root: Path, old: Manifest, new: Manifest, impact: Impact) -> CarriedOver:
    """Copy the results that a change does not concern to the folder of the new lock.

    Args:
        root: the repository.
        old: the amended lock.
        new: the lock in force.
        impact: what the change concerns.

    Returns:
        What was copied. A second call copies only what is not there yet.

    Raises:
        LockError: there are no results of the old lock, or one of them does not belong to it.
        OSError: a file cannot be copied.
    """
    source, target = (root / RESULTS / lock.results_name for lock in (old, new))
    if not source.is_dir():
        raise LockError(f"{source}: there are no results of lock {old.id[:12]}")
    before, after = LockedResults(source, old.id), LockedResults(target, new.id)
    kept, left = [], []
    for path in before.known():
        name = path.relative_to(source).as_posix()
        (kept if _is_kept(name, impact) else left).append(name)
    before.require(source / name for name in kept)
    copied = [_copy(source / name, target / name) for name in (*kept, *_ALWAYS_KEPT)]
    for name in kept:
        receipt = before.read(source / name)
        if result_sha256(target / name) != receipt.sha256:
            raise LockError(f"{target / name}: differs from {source / name}, which is kept")
        after.write([target / name], made_under=receipt.made_under)
    if any(copied):
        _set_times([target / name for name in kept])
    return CarriedOver(target, tuple(kept), tuple(left))


def _is_kept(name: str, impact: Impact) -> bool:
    """Whether a result is one of those that take long, and the change does not concern it."""
    kind, *rest = name.split("/")
    if kind in _WHOLE:
        return bool(rest) and kind not in impact.affected
    return kind in _BY_SUBJECT and bool(rest) and f"{kind}:{rest[0]}" not in impact.affected


def _copy(source: Path, target: Path) -> bool:
    """Copy a file or a folder as a whole, unless it is there or there is none; whether it was."""
    if target.exists() or not source.exists():
        return False
    if source.is_dir():
        _copy_folder(source, target)
    else:
        with atomic_path(target) as part:
            shutil.copyfile(source, part)
    return True


def _copy_folder(source: Path, target: Path) -> None:
    part = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        shutil.copytree(source, part)
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _set_times(results: Sequence[Path]) -> None:
    """Give all results one time, so that no copy looks older than what it was made from."""
    moment = time.time()
    for path in results:
        for item in (*path.rglob("*"), path):
            os.utime(item, (moment, moment))
