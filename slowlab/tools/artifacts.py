"""What the development stage leaves for the study: fitted numbers with names and provenance.

An artifact is one JSON file. It carries the policy fields that it was fitted with, where it comes
from, and the hash of its content; a file that was changed by hand, was made for another contract or
names other fields is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from slowlab.canonical import (
    JsonLimits,
    StrictJsonError,
    canonical_json,
    canonical_sha256,
    loads_strict,
)
from slowlab.config import ConfigError, ConfigModel, validate_config
from slowlab.io import atomic_write_text
from slowlab.world.policy import checked_fields

FORMAT = "slowlab-artifact-1"
_LIMITS = JsonLimits(max_bytes=64 * 1024 * 1024)


class ArtifactError(ValueError):
    """An artifact that cannot be used; the message names the file and says why."""


class Artifact(ConfigModel):
    """One fitted result."""

    format: str = Field(pattern=f"^{FORMAT}$", description="Version of this form.")
    name: str = Field(pattern=r"^[a-z0-9_]+$", description="What it is; also the file's name.")
    contract: str = Field(description="Identity of the contract it was made for.")
    fields: tuple[str, ...] = Field(description="Policy fields, in the order of its numbers.")
    provenance: dict[str, Any] = Field(description="Sites, years, settings and build behind it.")
    content: dict[str, Any] = Field(description="The numbers.")
    sha256: str = Field(description="Hash of all other members.")


@dataclass(frozen=True)
class ArtifactFolder:
    """The artifacts of one contract.

    Attributes:
        folder: where they lie.
        contract: identity of the contract they must have been made for.
    """

    folder: Path
    contract: str

    def path(self, name: str) -> Path:
        """The file of an artifact."""
        return self.folder / f"{name}.json"

    def load(self, name: str) -> Artifact:
        """Read and check an artifact.

        Raises:
            ArtifactError: missing, damaged, changed, or of another contract.
        """
        path = self.path(name)
        try:
            text = path.read_bytes()
        except OSError as error:
            raise ArtifactError(f"{path}: {error.strerror or 'cannot be read'}") from None
        try:
            found = validate_config(loads_strict(text, _LIMITS), Artifact, str(path))
        except (StrictJsonError, ConfigError) as error:
            raise ArtifactError(f"{path}: {error}") from None
        checked_fields(found.fields)
        if found.sha256 != _sha256(found.model_dump(mode="json")):
            raise ArtifactError(f"{path}: its content does not have the hash that it names")
        if found.name != name or found.contract != self.contract:
            raise ArtifactError(
                f"{path}: is {found.name} for {found.contract}, not {name} for {self.contract}"
            )
        return found


def write_artifact(
    path: Path,
    *,
    contract: str,
    fields: tuple[str, ...],
    provenance: Mapping[str, Any],
    content: Mapping[str, Any],
) -> Artifact:
    """Write an artifact in one step; its name is the file's.

    Raises:
        CanonicalError: no plain data.
        OSError: the file cannot be written.
    """
    members = {
        "format": FORMAT,
        "name": path.stem,
        "contract": contract,
        "fields": list(checked_fields(fields)),
        "provenance": dict(provenance),
        "content": dict(content),
    }
    data = {**members, "sha256": _sha256(members)}
    atomic_write_text(path, canonical_json(data) + "\n")
    return validate_config(data, Artifact, str(path))


def _sha256(members: Mapping[str, Any]) -> str:
    return canonical_sha256({name: value for name, value in members.items() if name != "sha256"})
