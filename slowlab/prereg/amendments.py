"""Amendments: a lock is never changed; a new one is made that names the old one and says why.

An amendment is a folder ``preregistration/amendments/NNN`` with the reason, both locks, the list of
changes and what they concern. It is complete before the new lock comes into force.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowlab.io import atomic_write_text
from slowlab.plan.study import StudyConfig, load_study
from slowlab.prereg.chain import amendment_folders, amendment_name, read_chain
from slowlab.prereg.checks import check_tree
from slowlab.prereg.declaration import load_declaration
from slowlab.prereg.dependencies import study_jobs
from slowlab.prereg.errors import LockError, refuse
from slowlab.prereg.impact import Impact, affected_records, impact_of, rerun_commands
from slowlab.prereg.lock import build_manifest, open_points
from slowlab.prereg.manifest import Manifest, read_manifest, write_manifest
from slowlab.prereg.prompts import Renderer, prompt_differences
from slowlab.prereg.scope import (
    AFTER,
    AMENDMENTS,
    BEFORE,
    CHANGES,
    LOCK,
    LOCKED_OF_AMENDMENT,
    REASON,
    file_sha256,
)
from slowlab.prereg.traces import traces_of_scores

TEMPLATE = Path(__file__).with_name("amendment.md")
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Changes:
    """What differs between two locks; everything sorted.

    Attributes:
        changed: files with other content.
        added: files that only the new lock holds.
        removed: files that only the old lock held.
        parts: parts of the study, see ``slowlab.prereg.parts``.
        prompts: texts that agents are told.
        commitments: sealed seeds.
    """

    changed: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    parts: tuple[str, ...]
    prompts: tuple[str, ...]
    commitments: tuple[str, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """All files that differ."""
        return tuple(sorted((*self.changed, *self.added, *self.removed)))

    def plain(self) -> dict[str, list[str]]:
        """The content as plain data."""
        return {name: list(getattr(self, name)) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Amendment:
    """An amendment in force.

    Attributes:
        folder: where it is recorded.
        before: the lock that it amends.
        lock: the new lock.
        changes: what differs from the old one.
        impact: what has to be run again.
        records: how many campaigns, scores and readings that is.
        commands: the commands that do it.
    """

    folder: Path
    before: Manifest
    lock: Manifest
    changes: Changes
    impact: Impact
    records: Mapping[str, int]
    commands: Sequence[str]


def changes_between(before: Manifest, after: Manifest) -> Changes:
    """What differs between two locks, the records of amendments left out."""
    old, new = (_without_amendments(item.files) for item in (before, after))
    return Changes(
        changed=tuple(name for name in sorted(old.keys() & new.keys()) if old[name] != new[name]),
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        parts=_differing(before.parts, after.parts),
        prompts=tuple(prompt_differences(before, after.prompts)),
        commitments=_differing(before.commitments, after.commitments),
    )


def amend(root: Path, reason: str, renderers: Sequence[Renderer] | None = None) -> Amendment:
    """Lock the working tree anew, with the reason, both locks and what follows from the change.

    Where an earlier call was killed between the amendment and the new lock, this one only puts that
    amendment into force.

    Args:
        root: the repository.
        reason: text of ``amendment.md``; every heading of the template must be filled.
        renderers: what gives the texts that agents are told.

    Returns:
        The amendment, in force.

    Raises:
        LockError: there is no lock, nothing has changed, the reason is not complete, or the
            working tree could not be locked either.
        ConfigError: the declaration or a configuration file does not fit.
        OSError: a file cannot be read or written.
    """
    before = read_chain(root)[-1]
    waiting = amendment_folders(root)[before.amendment :]
    if waiting:
        return _put_into_force(root, waiting[0].path)
    refuse("the reason is not complete:", unfilled_headings(reason))
    declaration = load_declaration(root)
    config = load_study(root / declaration.config)
    refuse("nothing was amended:", open_points(root, declaration, config))
    if config.study != before.study:
        raise LockError(f"the lock is that of study {before.study}, not of {config.study}")
    after = build_manifest(root, declaration, config, parent=before, renderers=renderers)
    changes = changes_between(before, after)
    if not any(changes.plain().values()):
        raise LockError("nothing has changed since the lock; there is nothing to amend")
    impact = _impact(root, config, after, changes)
    folder = _record(root, before, after, reason, _content(root, config, after, changes, impact))
    return _put_into_force(root, folder)


def planned_amendment(root: Path) -> tuple[Changes, Impact]:
    """What an amendment would change and concern now; nothing is written.

    Raises:
        LockError: there is no lock, or the chain of amendments is broken.
        ConfigError: the declaration or a configuration file does not fit.
    """
    before = read_chain(root)[-1]
    declaration = load_declaration(root)
    config = load_study(root / declaration.config)
    after = build_manifest(root, declaration, config, parent=before)
    changes = changes_between(before, after)
    return changes, _impact(root, config, after, changes)


def last_amendment(root: Path) -> Amendment:
    """The amendment in force.

    Raises:
        LockError: there is no lock, or it was never amended.
    """
    lock = read_chain(root)[-1]
    if lock.amendment == 0:
        raise LockError(f"lock {lock.id[:12]} was never amended")
    return read_amendment(amendment_folders(root)[lock.amendment - 1].path)


def read_amendment(folder: Path) -> Amendment:
    """Read the record of an amendment.

    Raises:
        LockError: a file of it is missing or was edited.
    """
    before, lock = (read_manifest(folder / name) for name in (BEFORE, AFTER))
    try:
        content = json.loads((folder / CHANGES).read_bytes())
        impact = Impact.parse(content["impact"])
        records, commands = content["records"], content["commands"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LockError(f"{folder / CHANGES}: cannot be read: {error}") from None
    return Amendment(folder, before, lock, changes_between(before, lock), impact, records, commands)


def unfilled_headings(reason: str) -> list[str]:
    """Headings of the template that a reason lacks or leaves empty, as sentences."""
    pieces = _HEADING.split(reason)
    filled = {pieces[i].strip(): pieces[i + 1].strip() for i in range(1, len(pieces), 2)}
    wanted = _HEADING.findall(TEMPLATE.read_text(encoding="utf-8"))
    return [f"`## {heading}` is missing or empty" for heading in wanted if not filled.get(heading)]


def _impact(root: Path, config: StudyConfig, after: Manifest, changes: Changes) -> Impact:
    files = [name for name in changes.files if name != after.config]  # it counts by its parts
    return impact_of(study_jobs(root, config), files, changes.parts)


def _content(
    root: Path, config: StudyConfig, after: Manifest, changes: Changes, impact: Impact
) -> dict[str, Any]:
    """What ``changes.json`` says."""
    return {
        **changes.plain(),
        "impact": impact.plain(),
        "records": affected_records(config, impact),
        "commands": rerun_commands(after.config, impact),
        "scores_existed": bool(traces_of_scores(root, config)),
    }


def _record(
    root: Path, before: Manifest, after: Manifest, reason: str, content: Mapping[str, Any]
) -> Path:
    """Write an amendment's folder as a whole: it gets its name when everything is in it."""
    name = amendment_name(after.amendment)
    target = root / AMENDMENTS / name
    part = target.with_name(f".{name}.{secrets.token_hex(6)}.part")
    part.mkdir(parents=True)
    try:
        atomic_write_text(part / BEFORE, before.text())
        atomic_write_text(part / REASON, reason.strip() + "\n")
        plain = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
        atomic_write_text(part / CHANGES, plain + "\n")
        own = {
            f"{AMENDMENTS}/{name}/{file}": file_sha256(part / file) for file in LOCKED_OF_AMENDMENT
        }
        lock = after.model_copy(update={"files": dict(sorted({**after.files, **own}.items()))})
        write_manifest(part / AFTER, lock)
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def _put_into_force(root: Path, folder: Path) -> Amendment:
    """Make the lock of a recorded amendment the current one, if the working tree still fits it."""
    amendment = read_amendment(folder)
    problems = check_tree(root, amendment.lock).problems
    refuse(f"{folder}: is not in force and fits no longer; remove it by hand:", problems)
    write_manifest(root / LOCK, amendment.lock)
    return amendment


def _without_amendments(files: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in files.items() if not k.startswith(f"{AMENDMENTS}/")}


def _differing(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name in sorted({*old, *new}) if old.get(name) != new.get(name))
