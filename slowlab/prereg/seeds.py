"""Sealed seeds: commit before the lock, reveal after the study, verify at any time.

The public half of a commitment stands in ``preregistration/commitments`` and in the partitions
file. The opening lies in a private folder outside the repository and is shown to nobody.
"""

from __future__ import annotations

import re
from pathlib import Path

from slowlab.canonical import canonical_json, loads_strict
from slowlab.config import validate_config
from slowlab.io import atomic_write_text
from slowlab.plan.study import StudyConfig
from slowlab.prereg.errors import LockError
from slowlab.prereg.scope import COMMITMENT_SUFFIX, COMMITMENTS
from slowlab.world.commitments import Commitment, Opening, commit, verify
from slowlab.world.partitions import (
    Partitions,
    load_partitions,
    opening_path,
    private_folder,
    seal_partition,
)

OPENING_SUFFIX = ".opening.json"
_LARGEST_OPENING = 65_536


def commit_seed(root: Path, partition: str, *, partitions: str = "v1") -> Commitment:
    """Draw the secret seed of a partition and publish its commitment.

    The opening is written first. A second call after a kill goes on with that opening and never
    draws another seed.

    Args:
        root: the repository.
        partition: the partition.
        partitions: file under ``config/partitions``, without ``.yaml``.

    Raises:
        LockError: the seed is public or committed already, or the private folder lies inside the
            repository.
        CommitmentError: the opening on disk cannot be used.
        PartitionError: no such partition.
    """
    path = _partitions_file(root, partitions)
    item = load_partitions(path).partition(partition)
    if item.master_seed is not None:
        raise LockError(f"{path}: the seed of partition {partition!r} is public")
    if item.commitment is not None:
        raise LockError(f"{path}: the seed of partition {partition!r} is committed already")
    if private_folder().resolve().is_relative_to(root.resolve()):
        raise LockError(
            f"{private_folder()}: openings lie outside the repository; set SLOWLAB_PRIVATE_DIR"
        )
    kept = opening_path(partition)
    commitment = commitment_of(kept) if kept.exists() else seal_partition(partition)
    _write_record(root, commitment)
    _publish(path, partition, commitment.digest)
    return commitment


def reveal_seed(root: Path, partition: str, opening: Path | None = None) -> Path:
    """Publish the opening of a partition's seed, after checking it.

    Its sites are known to everybody from then on.

    Args:
        root: the repository.
        partition: the partition.
        opening: its opening; by default the one in the private folder.

    Returns:
        Where the opening was published.

    Raises:
        LockError: there is no commitment, or the opening does not fit it.
    """
    found = _read_opening(opening or opening_path(partition))
    _require_fit(root, partition, found)
    target = root / COMMITMENTS / f"{partition}{OPENING_SUFFIX}"
    return atomic_write_text(target, canonical_json(found.model_dump(mode="json")) + "\n")


def verify_seed(root: Path, partition: str, opening: Path | None = None) -> Path:
    """Check that an opening fits the published commitment; the seed is not shown.

    Args:
        root: the repository.
        partition: the partition.
        opening: an opening; by default the published one, else the private one.

    Returns:
        The opening that was checked.

    Raises:
        LockError: there is no commitment or no opening, or the two do not fit.
    """
    published = root / COMMITMENTS / f"{partition}{OPENING_SUFFIX}"
    path = opening or (published if published.is_file() else opening_path(partition))
    _require_fit(root, partition, _read_opening(path))
    return path


def committed_digests(root: Path, config: StudyConfig) -> dict[str, str]:
    """Digests of all sealed seeds that the study's partitions file publishes, by partition."""
    items = _load(root, config).partitions.items()
    return {name: item.commitment for name, item in items if item.commitment is not None}


def seed_problems(root: Path, config: StudyConfig) -> list[str]:
    """Why the seed of a study's partition cannot be locked, as sentences."""
    where = f"config/partitions/{config.partitions}.yaml"
    if not (root / where).is_file():
        return []  # the missing file is named elsewhere
    partitions = _load(root, config)
    item = partitions.partition(config.partition)
    found = []
    if config.first_site + config.sites > item.sites:
        found.append(f"{where}: partition {config.partition!r} has {item.sites} sites only")
    if item.commitment is None:
        how = "is public" if item.master_seed is not None else "is not committed"
        return [*found, f"{where}: the seed of partition {config.partition!r} {how}"]
    record = _record_path(root, config.partition)
    if not record.is_file():
        return [*found, f"{record.relative_to(root).as_posix()}: is missing"]
    if _read_record(record).digest != item.commitment:
        found.append(f"{record.relative_to(root).as_posix()}: differs from {where}")
    return found


def commitment_of(path: Path) -> Commitment:
    """The commitment that an opening belongs to.

    Raises:
        LockError: the opening cannot be read.
    """
    opening = _read_opening(path)
    salt = bytes.fromhex(opening.salt_hex)
    return commit(opening.secret, opening.label, domain=opening.domain, salt=salt)[0]


def _load(root: Path, config: StudyConfig) -> Partitions:
    return load_partitions(_partitions_file(root, config.partitions))


def _partitions_file(root: Path, name: str) -> Path:
    return root / "config" / "partitions" / f"{name}.yaml"


def _record_path(root: Path, partition: str) -> Path:
    return root / COMMITMENTS / f"{partition}{COMMITMENT_SUFFIX}"


def _write_record(root: Path, commitment: Commitment) -> None:
    text = canonical_json(commitment.model_dump(mode="json")) + "\n"
    atomic_write_text(_record_path(root, commitment.label), text)


def _read_record(path: Path) -> Commitment:
    try:
        return validate_config(loads_strict(path.read_bytes()), Commitment, str(path))
    except FileNotFoundError:
        raise LockError(f"{path}: there is no commitment") from None
    except ValueError as error:
        raise LockError(f"{path}: is no commitment: {error}") from None


def _read_opening(path: Path) -> Opening:
    """An opening; its content never enters a message."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LockError(f"{path}: {error.strerror or 'cannot be read'}") from None
    try:
        if len(content) > _LARGEST_OPENING:
            raise ValueError
        return validate_config(loads_strict(content), Opening, str(path))
    except ValueError:
        raise LockError(f"{path}: is no opening of a commitment") from None


def _require_fit(root: Path, partition: str, opening: Opening) -> None:
    if not verify(_read_record(_record_path(root, partition)), opening):
        raise LockError(f"the opening does not fit the commitment of partition {partition!r}")


def _publish(path: Path, partition: str, digest: str) -> None:
    """Write a digest into the partitions file in place of ``null``, and leave the rest as it is."""
    text = path.read_bytes().decode("utf-8")
    block = rf"(^  {re.escape(partition)}:\r?\n(?:    .*\r?\n)*?    commitment: )null(?=\s*$)"
    changed, count = re.subn(block, rf"\g<1>{digest}", text, count=1, flags=re.MULTILINE)
    if count != 1:
        raise LockError(f"{path}: write `commitment: {digest}` under partition {partition!r}")
    atomic_write_text(path, changed)
    if load_partitions(path).partition(partition).commitment != digest:
        raise LockError(f"{path}: partition {partition!r} does not show commitment {digest}")
