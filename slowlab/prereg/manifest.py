"""The lock itself: one sorted list of what was locked, and its hash as its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from slowlab.canonical import JsonLimits, StrictJsonError, canonical_sha256, loads_strict
from slowlab.config import ConfigError, ConfigModel, validate_config
from slowlab.io import atomic_write_text
from slowlab.prereg.errors import LockError

FORMAT = "slowlab-lock-1"
SEALED = "sealed"
"""Stands for the hash of a prompt that cannot be rendered before a seed is opened."""
SHORT = 8
"""Characters of a lock's id in paths."""
_LIMITS = JsonLimits(max_bytes=64 * 1024 * 1024)

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Rendered = Annotated[str, Field(pattern=rf"^([0-9a-f]{{64}}|{SEALED})$")]


class Manifest(ConfigModel):
    """What was locked. Two manifests with the same content have the same id."""

    format: Literal["slowlab-lock-1"] = Field(default=FORMAT, description="Form of the file.")
    study: str = Field(min_length=1, description="Name of the confirmatory study.")
    config: str = Field(min_length=1, description="Its study file, from the root.")
    amendment: int = Field(ge=0, description="Number of the amendment; 0 for the first lock.")
    parent: Sha256 | None = Field(description="Lock that it amends; null for the first one.")
    parts: dict[str, Sha256] = Field(description="Hashes of the parts of the study file.")
    commitments: dict[str, Sha256] = Field(description="Digests of sealed seeds, by label.")
    prompts: dict[str, Rendered] = Field(description="Hashes of what agents are told, by name.")
    files: dict[str, Sha256] = Field(description="Hashes of files, by path from the root.")

    @property
    def id(self) -> str:
        """SHA-256 of the canonical JSON of the content: the name of the lock."""
        return canonical_sha256(self.model_dump(mode="json"))

    @property
    def results_name(self) -> str:
        """Name of the folder of results made under this lock, such as ``main@1a2b3c4d``."""
        return results_name(self.study, self.id)

    def text(self) -> str:
        """The manifest as a file: keys sorted, one hash a line, LF line ends."""
        content = self.model_dump(mode="json")
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def results_name(study: str, lock: str) -> str:
    """Name of the folder of a study's results under a lock.

    No study can be called so by its own file, and results of two locks never share a folder.
    """
    return f"{study}@{lock[:SHORT]}"


def read_manifest(path: Path) -> Manifest:
    """Read what :meth:`Manifest.text` made; Windows line ends are accepted.

    Raises:
        LockError: there is none, it cannot be read, or it was edited by hand.
    """
    try:
        content = path.read_bytes().replace(b"\r\n", b"\n")
        manifest = validate_config(loads_strict(content, _LIMITS), Manifest, str(path))
    except FileNotFoundError:
        raise LockError(f"{path}: there is no lock; make it with `slowlab prereg lock`") from None
    except OSError as error:
        raise LockError(f"{path}: {error.strerror or error}") from None
    except (StrictJsonError, ConfigError) as error:
        raise LockError(f"{path}: is no lock: {error}") from None
    if content != manifest.text().encode("utf-8"):
        raise LockError(f"{path}: was edited; a lock is only ever written by `slowlab prereg`")
    return manifest


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest in one step: after a kill the old file stands, or the new one.

    Raises:
        OSError: it cannot be written.
    """
    atomic_write_text(path, manifest.text())
