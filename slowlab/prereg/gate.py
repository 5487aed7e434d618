"""Which studies need a lock before anything of them may run."""

from __future__ import annotations

from pathlib import Path

from slowlab.plan.study import StudyConfig
from slowlab.prereg.agreement import CONFIRMATORY
from slowlab.prereg.checks import require_lock, require_study


def lock_for(root: Path, config: StudyConfig) -> str | None:
    """The lock under which a study runs; None for one that needs none.

    The confirmatory study must be locked and run as it was locked. Any other study on its sites may
    run only once the lock exists, and is exploratory: it has no lock of its own.

    Args:
        root: the repository.
        config: the study as it will run.

    Returns:
        Id of the lock, or None.

    Raises:
        LockError: the study needs a lock and has none, or does not fit it; names the file.
        ConfigError: ``preregistration/study.yaml`` or the partitions file does not fit.
    """
    if config.purpose == CONFIRMATORY:
        return require_study(root, config)
    if _is_sealed(root, config):
        from slowlab.prereg.declaration import load_declaration

        declaration = load_declaration(root)
        if config.partition == declaration.design.partition:
            require_lock(root, declaration.study)
    return None


def _is_sealed(root: Path, config: StudyConfig) -> bool:
    from slowlab.world.partitions import load_partitions

    partitions = load_partitions(root / "config" / "partitions" / f"{config.partitions}.yaml")
    return partitions.partition(config.partition).master_seed is None
