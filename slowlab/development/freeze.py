"""Copying the artifacts of the development stage to where studies read them, and checking both.

Source of the rule that fitted numbers carry names and hashes: SlowLab, the field-order error.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slowlab.development.artifact_files import ARTIFACTS
from slowlab.io import atomic_write_bytes
from slowlab.methods._registry import registered
from slowlab.tools.artifacts import ArtifactError, ArtifactFolder


def problems_of(store: ArtifactFolder, names: Sequence[str] = ARTIFACTS) -> list[str]:
    """What is wrong with the artifacts of a folder: damaged, missing, provisional or unknown.

    Args:
        store: folder and contract.
        names: what must be there; what methods use must be among it.
    """
    found = []
    for name in names:
        try:
            artifact = store.load(name)
        except (ArtifactError, ValueError) as error:
            found.append(str(error))
            continue
        if artifact.provenance.get("provisional", True):
            found.append(f"{store.path(name)}: is provisional")
    known = set(names)
    found += [
        f"{path}: no artifact of that name is known"
        for path in sorted(store.folder.glob("*.json"))
        if path.stem not in known
    ]
    needed = {name for method in registered().values() for name in method.uses_artifacts}
    found += [
        f"methods use an artifact {name}, which is not made" for name in sorted(needed - known)
    ]
    return found


def differences(frozen: ArtifactFolder, fresh: ArtifactFolder) -> list[str]:
    """Names of artifacts whose frozen and fresh files have other content."""
    return [name for name in ARTIFACTS if frozen.load(name).sha256 != fresh.load(name).sha256]


def freeze(fresh: ArtifactFolder, frozen: Path) -> list[str]:
    """Copy all artifacts after checking them.

    Args:
        fresh: what the development stage has left.
        frozen: the folder that studies read.

    Returns:
        Names of those that have changed.

    Raises:
        ArtifactError: something is wrong with one of them; nothing was copied.
    """
    problems = problems_of(fresh)
    if problems:
        raise ArtifactError("\n".join(problems))
    changed = []
    for name in ARTIFACTS:
        content, target = fresh.path(name).read_bytes(), frozen / f"{name}.json"
        if not target.is_file() or target.read_bytes() != content:
            atomic_write_bytes(target, content)
            changed.append(name)
    return changed
