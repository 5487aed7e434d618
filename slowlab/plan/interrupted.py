"""A run that was killed goes on with the same command.

Snakemake by itself asks for ``--unlock`` and ``--rerun-incomplete`` after a kill. Neither is needed
here: what a job did not finish is removed, and so is a lock without owner.
"""

from __future__ import annotations

import shutil
from base64 import urlsafe_b64decode
from pathlib import Path

STATE = Path(".snakemake")
"""Where Snakemake keeps its locks and its marks of outputs that are being made."""


def resume_interrupted(folder: Path) -> None:
    """Remove outputs that a killed run left unfinished, and the lock that it left.

    Nothing is touched while another Snakemake runs in the folder.

    Args:
        folder: Snakemake's working folder.
    """
    locks = sorted((folder / STATE / "locks").glob("*.lock"))
    marks = sorted(path for path in (folder / STATE / "incomplete").rglob("*") if path.is_file())
    if not locks + marks or other_runs(folder):
        return
    for mark in marks:
        _remove(folder / marked_output(mark.relative_to(folder / STATE / "incomplete")))
        mark.unlink(missing_ok=True)
    for lock in locks:
        lock.unlink(missing_ok=True)


def marked_output(mark: Path) -> str:
    """The output behind a mark: its path in URL-safe base 64, cut where file names get too long."""
    text = "".join(part.removeprefix("@") for part in mark.parts)
    return urlsafe_b64decode(text).decode()


def _remove(output: Path) -> None:
    if output.is_dir() and not output.is_symlink():
        shutil.rmtree(output)
    else:
        output.unlink(missing_ok=True)


def other_runs(folder: Path) -> list[int]:
    """Process numbers of other Snakemake runs in a folder; parents of this process do not count."""
    import psutil

    me = psutil.Process()
    own = {me.pid, *(parent.pid for parent in me.parents())}
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        command, place = process.info["cmdline"] or [], process.info["cwd"]
        is_snakemake = any(Path(part).name == "snakemake" for part in command[:4])
        here = place is not None and Path(place) == folder.resolve()
        if is_snakemake and here and process.pid not in own:
            found.append(process.pid)
    return sorted(found)
