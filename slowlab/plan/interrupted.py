"""A run that was killed goes on with the same command.

Snakemake by itself asks for ``--unlock`` and ``--rerun-incomplete`` after a kill. Neither is needed
here: outputs of a job that did not finish are made again, and a lock without owner is removed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

LOCKS = Path(".snakemake") / "locks"


def resume_interrupted(workflow: Any, folder: Path) -> None:
    """Let Snakemake make incomplete outputs again, and remove a lock that nobody holds.

    Args:
        workflow: Snakemake's workflow object.
        folder: its working folder.
    """
    if workflow.dag_settings is not None:
        workflow.dag_settings.force_incomplete = True
    locks = sorted((folder / LOCKS).glob("*.lock"))
    if locks and not other_runs(folder):
        for lock in locks:
            lock.unlink(missing_ok=True)


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
