"""Where the results of a study lie: a locked study has a folder of its own under each lock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from slowlab.plan.items import StudyPaths
from slowlab.plan.study import StudyConfig
from slowlab.prereg.agreement import CONFIRMATORY
from slowlab.prereg.checks import current_lock
from slowlab.prereg.manifest import Manifest
from slowlab.prereg.receipts import LockedResults


@dataclass(frozen=True)
class ResultsPlace:
    """The folder of a study's results, and the lock that they were made under.

    Attributes:
        folder: from the repository's root.
        manifest: the lock in force; None for a study that has none.
    """

    folder: Path
    manifest: Manifest | None

    def require(self, results: Iterable[Path]) -> None:
        """Refuse results that do not belong to the lock; without a lock there is nothing to check.

        Raises:
            LockError: a result has no receipt of this lock, or differs from it.
        """
        if self.manifest is not None:
            LockedResults(self.folder, self.manifest.id).require(results)


def results_of(root: Path, config: StudyConfig) -> ResultsPlace:
    """The place of a study's results, finished or not.

    Args:
        root: the repository.
        config: the study.

    Raises:
        LockError: the study is confirmatory and there is no lock of it.
    """
    manifest = current_lock(root, config.study) if config.purpose == CONFIRMATORY else None
    name = config.study if manifest is None else manifest.results_name
    return ResultsPlace(root / StudyPaths(name).folder, manifest)
