"""Does the working tree still hold what was locked? Judged by content, never by time or name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slowlab.plan.fingerprint import PACKAGE
from slowlab.plan.study import StudyConfig, load_study
from slowlab.prereg.chain import read_chain
from slowlab.prereg.errors import LockError, refuse
from slowlab.prereg.manifest import Manifest
from slowlab.prereg.parts import study_parts
from slowlab.prereg.scope import file_sha256, files_in_scope

_EXTENSIONS = (".so", ".pyd")


@dataclass(frozen=True)
class TreeReport:
    """The working tree beside a manifest; all paths from the root, sorted.

    Attributes:
        changed: locked files with another content.
        missing: locked files that are not there.
        extra: files that the lock would cover now and does not; they are no fault.
        shadowing: extra files that Python would import instead of a locked module.
    """

    changed: tuple[str, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    shadowing: tuple[str, ...]

    @property
    def problems(self) -> list[str]:
        """What is wrong, one sentence a file."""
        return [
            *(f"{name}: changed since it was locked" for name in self.changed),
            *(f"{name}: is locked and missing" for name in self.missing),
            *(f"{name}: would be imported instead of a locked module" for name in self.shadowing),
        ]


def check_tree(root: Path, manifest: Manifest, config: StudyConfig | None = None) -> TreeReport:
    """Compare every locked file with the working tree by its content.

    Args:
        root: the repository.
        manifest: the lock.
        config: the study; by default as its locked file says.

    Raises:
        ConfigError: the study file cannot be read although it is as it was locked.
        LockError: the study uses a file outside the repository.
    """
    changed, missing = [], []
    for name, locked in manifest.files.items():
        path = root / name
        if not path.is_file():
            missing.append(name)
        elif file_sha256(path) != locked:
            changed.append(name)
    extra: list[str] = []
    if config is not None or not {manifest.config} & {*changed, *missing}:
        study = load_study(root / manifest.config) if config is None else config
        extra = [name for name in files_in_scope(root, study) if name not in manifest.files]
    shadowing = [name for name in extra if _shadows(name, manifest)]
    return TreeReport(*(tuple(sorted(found)) for found in (changed, missing, extra, shadowing)))


def require_lock(root: Path, study: str, expected: str | None = None) -> str:
    """Stop unless everything that was locked for a study is unchanged. For use inside jobs.

    Args:
        root: the repository, which must also hold the running package.
        study: name of the study that is run.
        expected: lock under which the work was planned, or the beginning of its id; None for any.

    Returns:
        Id of the lock.

    Raises:
        LockError: no lock, a lock of another study or another lock than expected, a broken chain
            of amendments, another copy of the package is running, or locked files differ; the
            message names them.
    """
    manifest = current_lock(root, study, expected)
    _require_running_package(root)
    head = f"study {study} is locked ({manifest.id[:12]}) and cannot run:"
    refuse(head, check_tree(root, manifest).problems)
    return manifest.id


def require_study(root: Path, config: StudyConfig, expected: str | None = None) -> str:
    """As :func:`require_lock`, and the study as it will run is the locked one, key by key.

    Args:
        root: the repository.
        config: the study with everything that was changed on the command line.
        expected: lock under which the work was planned, or the beginning of its id; None for any.

    Raises:
        LockError: as there, or a part of the study differs; the message names it.
    """
    manifest = current_lock(root, config.study, expected)
    lock = require_lock(root, config.study, expected)
    now = study_parts(config)
    names = sorted(set(now) | set(manifest.parts))
    differing = [name for name in names if now.get(name) != manifest.parts.get(name)]
    refuse(
        f"study {config.study} differs from what was locked ({lock[:12]}):",
        [f"{manifest.config}: {name} is not what was locked" for name in differing],
    )
    return lock


def current_lock(root: Path, study: str | None = None, expected: str | None = None) -> Manifest:
    """The lock in force, with its chain of amendments checked.

    Args:
        root: the repository.
        study: study that it must belong to; None for any.
        expected: id that it must have, or the beginning of it; None for any.

    Raises:
        LockError: none, of another study, another than expected, or a broken chain.
    """
    manifest = read_chain(root)[-1]
    if study not in (None, manifest.study):
        raise LockError(f"study {study} is not locked; the lock is that of {manifest.study}")
    if expected is not None and not manifest.id.startswith(expected):
        raise LockError(
            f"study {manifest.study} was planned under lock {expected[:12]}, but "
            f"{manifest.id[:12]} is in force: start the workflow again"
        )
    return manifest


def _require_running_package(root: Path) -> None:
    if PACKAGE.parent.resolve() != root.resolve():
        raise LockError(f"the running package lies in {PACKAGE.parent}, not in the locked {root}")


def _shadows(name: str, manifest: Manifest) -> bool:
    """Whether Python would take an extra file for a locked module.

    A package goes before a module of the same name, and a compiled file before a source file.
    """
    folder, _, file = name.rpartition("/")
    if file == "__init__.py":
        return f"{folder}.py" in manifest.files
    return file.endswith(_EXTENSIONS) and f"{folder}/{file.partition('.')[0]}.py" in manifest.files
