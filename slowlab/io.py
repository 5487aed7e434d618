"""Atomic file writing: a file under its final name is always complete.

Every writer fills a temporary file in the target's folder, flushes it to disk and renames it over
the target. A process that dies half-way leaves the old file, or none, never half of the new one.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path


@contextmanager
def atomic_path(target: str | os.PathLike[str], *, flush: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside ``target`` that becomes ``target`` when the block succeeds.

    The temporary name keeps the suffix of the target, because libraries choose a format by it.
    Missing parent folders are made. When the block raises, the temporary file is removed and the
    old target, if any, stays as it was.

    Args:
        target: the final path.
        flush: force the content to disk before the rename. Without it the file is whole after the
            death of a process, but perhaps not after a loss of power.

    Yields:
        A path that does not exist yet, for the caller to write.

    Raises:
        FileNotFoundError: the block ended without writing the temporary file.
    """
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.stem}.{secrets.token_hex(6)}.part{target.suffix}")
    try:
        yield part
        if flush:
            _flush_to_disk(part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def atomic_write_bytes(
    target: str | os.PathLike[str], content: bytes, *, flush: bool = True
) -> Path:
    """Write ``content`` to ``target`` in one step and return the path.

    Args:
        target: the final path; parent folders are made.
        content: the whole content of the file.
        flush: as for :func:`atomic_path`.

    Raises:
        OSError: the file cannot be written; the old file is untouched.
    """
    with atomic_path(target, flush=flush) as part:
        part.write_bytes(content)
    return Path(target)


def atomic_write_text(target: str | os.PathLike[str], content: str) -> Path:
    """Write ``content`` as UTF-8 with its line ends unchanged to ``target`` in one step.

    Raises:
        UnicodeEncodeError: the text holds lone surrogates.
        OSError: the file cannot be written; the old file is untouched.
    """
    return atomic_write_bytes(target, content.encode("utf-8"))


def remove_parts(target: str | os.PathLike[str]) -> None:
    """Remove what killed writers of ``target`` left beside it.

    Only for a target that has one writer at a time, and only by that writer.
    """
    target = Path(target)
    for part in target.parent.glob(f".{escape(target.stem)}.*.part{escape(target.suffix)}"):
        part.unlink(missing_ok=True)


def _flush_to_disk(path: Path) -> None:
    """Force the file's content to disk, so that a rename never outruns it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
