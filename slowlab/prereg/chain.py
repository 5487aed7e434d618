"""The lock and its amendments: each names the lock before it, back to the first one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slowlab.prereg.errors import LockError
from slowlab.prereg.manifest import Manifest, read_manifest
from slowlab.prereg.scope import AFTER, AMENDMENTS, BEFORE, LOCK


@dataclass(frozen=True)
class AmendmentFolder:
    """Where an amendment lies.

    Attributes:
        number: from 1.
        path: its folder.
    """

    number: int
    path: Path


def amendment_folders(root: Path) -> list[AmendmentFolder]:
    """Folders of all amendments, in order.

    Raises:
        LockError: a number is left out, or a folder has another name than ``NNN``.
    """
    found = sorted(path for path in (root / AMENDMENTS).glob("[!.]*") if path.is_dir())
    for number, path in enumerate(found, start=1):
        if path.name != amendment_name(number):
            raise LockError(f"{path}: expected the folder of amendment {amendment_name(number)}")
    return [AmendmentFolder(number, path) for number, path in enumerate(found, start=1)]


def amendment_name(number: int) -> str:
    """Name of the folder of an amendment, as ``001``."""
    return f"{number:03d}"


def read_chain(root: Path) -> list[Manifest]:
    """All locks, the first one first and the one in force last.

    An amendment whose writing was cut off is not in force: it stands behind the lock in the chain
    and is left out.

    Raises:
        LockError: there is no lock, or the chain is broken; the message names the file.
    """
    current = read_manifest(root / LOCK)
    chain: list[Manifest] = []
    for folder in amendment_folders(root):
        before, after = (read_manifest(folder.path / name) for name in (BEFORE, AFTER))
        if chain and before.id != chain[-1].id:
            raise LockError(f"{folder.path / BEFORE}: is not the lock that was amended before")
        if after.parent != before.id or after.amendment != folder.number:
            raise LockError(f"{folder.path / AFTER}: does not amend {before.id[:12]}")
        chain = [*(chain or [before]), after]
    if len(chain) > 1 and chain[-2].id == current.id:
        chain.pop()
    chain = chain or [current]
    if chain[-1].id != current.id:
        raise LockError(f"{root / LOCK}: is not the last link of the amendments in {AMENDMENTS}")
    if chain[0].parent is not None or chain[0].amendment != 0:
        raise LockError(f"{root / LOCK}: its amendments are missing in {AMENDMENTS}")
    return chain
