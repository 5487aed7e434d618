"""Which files a lock covers, and how a file is hashed.

Everything that decides a result is covered: the plan, the package's sources and data, the drawing
scripts, the workflow, the configuration with the fitted artifacts, and the pinned environment. Text
that only explains (``README.md``, ``docs/``, the changelog) is not, so that it may be corrected.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from slowlab.canonical import text_sha256
from slowlab.plan.study import StudyConfig
from slowlab.prereg.errors import LockError

PREREGISTRATION = "preregistration"
PROTOCOL = f"{PREREGISTRATION}/protocol.md"
DECLARATION = f"{PREREGISTRATION}/study.yaml"
LOCK = f"{PREREGISTRATION}/lock.json"
AMENDMENTS = f"{PREREGISTRATION}/amendments"
COMMITMENTS = f"{PREREGISTRATION}/commitments"
ANALYSIS = f"{PREREGISTRATION}/analysis"
COMMITMENT_SUFFIX = ".commitment.json"
BEFORE, AFTER, REASON, CHANGES = "before.json", "after.json", "amendment.md", "changes.json"
"""Files of an amendment: both locks, why, and what follows from it."""
LOCKED_OF_AMENDMENT = (BEFORE, REASON, CHANGES)
"""Those that the amended lock covers; it cannot cover itself."""

REQUIRED = (
    PROTOCOL,
    DECLARATION,
    "Snakefile",
    "workflow/Snakefile",
    "requirements.lock",
)
"""Single files without which nothing is locked."""
OPTIONAL = (".python-version", "requirements-extras.lock")
FOLDERS = ("slowlab", "figures", "workflow", "config")
"""Folders that are covered whole and must hold something."""
_EXPLAINS = ("README.md",)
_LEFT_BY_TOOLS = ("__pycache__",)


def content_sha256(content: bytes) -> str:
    """Hash of a file's content: text with CRLF read as LF, anything else byte by byte.

    Text is what is UTF-8 and holds no NUL. So a checkout that converts line ends fits the lock, and
    any other changed byte does not.
    """
    return text_sha256(content) if _is_text(content) else hashlib.sha256(content).hexdigest()


def file_sha256(path: Path) -> str:
    """Hash of a file; see :func:`content_sha256`.

    Raises:
        OSError: it cannot be read.
    """
    return content_sha256(path.read_bytes())


def files_in_scope(root: Path, config: StudyConfig) -> list[str]:
    """All files that a lock of this study covers now, sorted, from the repository's root.

    Args:
        root: the repository.
        config: the study; its method folders, programs and measured years are covered too.

    Raises:
        LockError: the study uses a file outside the repository.
    """
    found = {name for name in (*REQUIRED, *OPTIONAL) if (root / name).is_file()}
    for folder in (*FOLDERS, ANALYSIS, *_folders_of(root, config)):
        found |= set(_walk(root, folder))
    found |= {name for name in _walk(root, COMMITMENTS) if name.endswith(COMMITMENT_SUFFIX)}
    found |= {name for name in _walk(root, AMENDMENTS) if name.endswith(LOCKED_OF_AMENDMENT)}
    found |= set(_programs_of(root, config))
    return sorted(found)


def needed_files(config: StudyConfig) -> list[str]:
    """Files of the configuration that a study names, from the repository's root."""
    named = {
        "contracts": config.contract,
        "sites": config.distribution,
        "sensors": config.sensors,
        "partitions": config.partitions,
    }
    return [f"config/{folder}/{name}.yaml" for folder, name in named.items()]


def _is_text(content: bytes) -> bool:
    if b"\0" in content:
        return False
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _walk(root: Path, folder: str) -> Iterator[str]:
    """Files below a folder, without hidden ones and those that only explain."""
    for place, folders, names in os.walk(root / folder):
        folders[:] = [name for name in folders if not _is_passed_over(name)]
        for name in names:
            if not (_is_passed_over(name) or name in _EXPLAINS or name.endswith((".pyc", "~"))):
                yield (Path(place) / name).relative_to(root).as_posix()


def _is_passed_over(name: str) -> bool:
    return name.startswith(".") or name in _LEFT_BY_TOOLS


def _folders_of(root: Path, config: StudyConfig) -> list[str]:
    """Folders of a study's own methods and of its measured weather."""
    named = [*config.method_folders, *([config.weather_folder] if config.weather_folder else [])]
    return [_inside(root, name) for name in named]


def _programs_of(root: Path, config: StudyConfig) -> list[str]:
    """Files of the programs that play instead of a method."""
    parts = [part for entry in config.methods for part in entry.command or ()]
    return [_inside(root, part) for part in parts if (root / part).is_file()]


def _inside(root: Path, name: str) -> str:
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()):
        raise LockError(f"{name}: lies outside the repository and cannot be locked")
    return PurePosixPath(path.relative_to(root.resolve())).as_posix()
