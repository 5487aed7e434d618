"""Everything that a registry keeps of a preregistration, as one archive with the same bytes always.

It can be checked without this package: the archive holds a script that needs Python alone.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from slowlab.io import atomic_path
from slowlab.prereg.chain import amendment_folders, read_chain
from slowlab.prereg.errors import LockError
from slowlab.prereg.manifest import Manifest
from slowlab.prereg.scope import (
    COMMITMENTS,
    DECLARATION,
    LOCK,
    PREREGISTRATION,
    PROTOCOL,
    content_sha256,
)

CHECKER = Path(__file__).with_name("standalone.py")
_CHECKER_NAME = "check_lock.py"
_TIME = (1980, 1, 1, 0, 0, 0)
_PLAIN_FILE = 0o100644 << 16
_UNIX = 3


def export_archive(root: Path, target: Path) -> Path:
    """Write protocol, declaration, locks, amendments and commitments with a guide as a ZIP file.

    Nothing private is in it: openings are exported only once they are revealed.

    Args:
        root: the repository.
        target: the archive.

    Raises:
        LockError: there is no lock, the chain of amendments is broken, or protocol or declaration
            differ from what was locked.
        OSError: a file cannot be read or written.
    """
    lock = read_chain(root)[-1]
    content = {name: _read(root / name) for name in _names(root, lock)}
    _require_locked(content, lock)
    content[f"{PREREGISTRATION}/{_CHECKER_NAME}"] = _read(CHECKER)
    content["README.md"] = _guide(lock).encode("utf-8")
    with atomic_path(target) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(content):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.create_system, entry.external_attr = _UNIX, _PLAIN_FILE
            archive.writestr(entry, content[name])
    return target


def _names(root: Path, lock: Manifest) -> list[str]:
    """Files of the archive that lie in the repository."""
    names = [PROTOCOL, DECLARATION, lock.config, LOCK]
    folders = [root / COMMITMENTS]
    folders += [folder.path for folder in amendment_folders(root)[: lock.amendment]]
    found = [path for folder in folders for path in sorted(folder.glob("[!.]*")) if path.is_file()]
    return [*names, *(path.relative_to(root).as_posix() for path in found)]


def _read(path: Path) -> bytes:
    """A text file with LF line ends, so that every checkout gives the same archive."""
    return path.read_bytes().replace(b"\r\n", b"\n")


def _require_locked(content: dict[str, bytes], lock: Manifest) -> None:
    for name, held in content.items():
        if name in lock.files and lock.files[name] != content_sha256(held):
            raise LockError(f"{name}: changed since it was locked; amend first")


def _guide(lock: Manifest) -> str:
    return f"""# Preregistration of the study `{lock.study}`

Lock `{lock.id}`, amendment {lock.amendment}, {len(lock.files)} files.

* `{PROTOCOL}`: questions, measures, rules.
* `{DECLARATION}`: every number that the confirmatory analysis may use.
* `{lock.config}`: the study as it is run.
* `{LOCK}`: SHA-256 of every file that decides a result.
* `{PREREGISTRATION}/amendments/NNN/`: why a lock was changed, both locks, what was run again.
* `{COMMITMENTS}/`: commitments to sealed seeds, and their openings once they are revealed.

## Checking

The id of a lock is the SHA-256 of `lock.json` as canonical JSON (sorted keys, no spaces, UTF-8).
Put it where a third party dates it before the study runs; this archive is made for that.

Every file and the chain of amendments, with Python 3.12 or later and nothing else:

    python {PREREGISTRATION}/{_CHECKER_NAME} PATH-OF-THE-REPOSITORY

A text file is hashed with CRLF read as LF (text: UTF-8 without NUL); any other file byte by byte.
"""
