"""What a job of a locked study does before and after its work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from slowlab.plan.fingerprint import PACKAGE
from slowlab.prereg.checks import require_lock
from slowlab.prereg.errors import LockError
from slowlab.prereg.manifest import SHORT
from slowlab.prereg.receipts import LockedResults

_LOCKED_FOLDER = re.compile(rf"([a-z][a-z0-9-]*)@([0-9a-f]{{{SHORT}}})")


@contextmanager
def locked_job(
    inputs: Iterable[str | Path], outputs: Iterable[str | Path], root: Path = PACKAGE.parent
) -> Iterator[str | None]:
    """A job under a lock: nothing locked has changed, and its inputs belong to the lock.

    Whether there is a lock, and which, is known by the folder of its outputs, ``<study>@<lock>``.
    The outputs get receipts when the block ends without an error.

    Args:
        inputs: files and folders that the job reads; those outside the folder are no results.
        outputs: results that it makes in the block, all in one study's folder.
        root: the repository; that of the running package.

    Yields:
        Id of the lock; None where the study has none, then nothing is checked or written.

    Raises:
        LockError: a locked file differs, an input does not belong to the lock, or an output was not
            made; the message names it.
    """
    made = [Path(path) for path in outputs]
    folders = {locked_folder(path) for path in made}
    if len(folders) > 1:
        raise LockError(f"outputs in folders of several locks: {', '.join(map(str, made))}")
    folder = folders.pop() if folders else None
    if folder is None:
        yield None
        return
    study, _, short = folder.name.partition("@")
    results = LockedResults(folder, require_lock(root, study, short))
    place = folder.resolve()
    results.require(path for path in map(Path, inputs) if path.resolve().is_relative_to(place))
    yield results.lock
    results.write(made)


def locked_folder(path: Path) -> Path | None:
    """The folder of a locked study's results that holds a path; None where there is none."""
    above = (path, *path.parents)
    return next((item for item in above if _LOCKED_FOLDER.fullmatch(item.name)), None)
