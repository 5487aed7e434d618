"""Salted commitments: publish a digest today, prove tomorrow what the secret was.

``digest = SHA-256(domain NUL label NUL salt NUL canonical-json(secret))``. The digest is public;
the opening (salt and secret) stays private until it is revealed.

Source of the scheme: SlowLab seed commitment v1.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import subprocess
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from slowlab.canonical import canonical_bytes, canonical_json, loads_strict
from slowlab.config import ConfigModel, validate_config
from slowlab.io import atomic_path

DOMAIN = "slowlab-seed-commitment-v1"
SALT_BYTES = 32
MIN_SALT_BYTES = 16


class CommitmentError(ValueError):
    """An opening that does not fit its commitment, or must not be written where it was asked."""


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not hold a NUL character")
    return text


class Commitment(ConfigModel):
    """The public half."""

    domain: str = Field(description="Name space of the scheme.")
    label: str = Field(min_length=1, description="What is committed to, such as `test`.")
    digest: str = Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256, hexadecimal.")

    _no_nul = field_validator("domain", "label")(_without_nul)


class Opening(ConfigModel):
    """The private half. Its text form shows neither salt nor secret."""

    domain: str = Field(description="Name space of the scheme.")
    label: str = Field(min_length=1, description="What is committed to.")
    salt_hex: str = Field(
        pattern=rf"^([0-9a-f]{{2}}){{{MIN_SALT_BYTES},}}$",
        repr=False,
        description=f"Salt, hexadecimal; at least {MIN_SALT_BYTES} bytes.",
    )
    secret: Any = Field(repr=False, description="The secret: any value with a canonical JSON form.")

    _no_nul = field_validator("domain", "label")(_without_nul)


def commit(
    secret: Any, label: str, *, domain: str = DOMAIN, salt: bytes | None = None
) -> tuple[Commitment, Opening]:
    """Commit to a secret.

    Args:
        secret: any value with a canonical JSON form.
        label: what is committed to.
        domain: name space; other domains give other digests.
        salt: at least 16 bytes; by default 32 fresh random bytes.

    Returns:
        The commitment to publish and the opening to keep.

    Raises:
        CommitmentError: the salt is too short.
        CanonicalError: the secret has no canonical JSON form.
    """
    salt = secrets.token_bytes(SALT_BYTES) if salt is None else salt
    if len(salt) < MIN_SALT_BYTES:
        raise CommitmentError(f"a salt has at least {MIN_SALT_BYTES} bytes")
    opening = Opening(domain=domain, label=label, salt_hex=salt.hex(), secret=secret)
    return Commitment(domain=domain, label=label, digest=_digest(opening)), opening


def verify(commitment: Commitment, opening: Opening) -> bool:
    """Whether an opening belongs to a commitment: same domain, same label, same digest."""
    same_names = (commitment.domain, commitment.label) == (opening.domain, opening.label)
    return same_names and hmac.compare_digest(commitment.digest, _digest(opening))


def reveal(path: str | Path, commitment: Commitment) -> Any:
    """Read an opening, check it against its commitment and return the secret.

    Raises:
        CommitmentError: the file is missing or does not belong to the commitment.
        StrictJsonError: the file is not acceptable JSON.
        ConfigError: the file does not hold an opening.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise CommitmentError(f"no opening for {commitment.label!r} at {path}: {reason}") from None
    opening = validate_config(loads_strict(content), Opening, str(path))
    if not verify(commitment, opening):
        raise CommitmentError(f"the opening at {path} does not fit commitment {commitment.label!r}")
    return opening.secret


def write_opening(path: str | Path, opening: Opening) -> Path:
    """Write an opening in one step, readable by its owner only.

    Raises:
        CommitmentError: the file exists, or git would track it. Neither is ever overridden.
    """
    target = Path(path)
    if target.exists():
        raise CommitmentError(f"{target} exists; an opening is never overwritten")
    if _git_would_track(target):
        raise CommitmentError(
            f"{target} lies in a git work tree and is not ignored; choose another place"
        )
    with atomic_path(target) as part:
        part.touch(mode=0o600)
        part.write_text(canonical_json(opening.model_dump(mode="json")) + "\n", encoding="utf-8")
    return target


def _digest(opening: Opening) -> str:
    parts = (
        opening.domain.encode("utf-8"),
        opening.label.encode("utf-8"),
        bytes.fromhex(opening.salt_hex),
        canonical_bytes(opening.secret),
    )
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _git_would_track(target: Path) -> bool:
    """Whether a path lies in a git work tree that does not ignore it; in doubt, yes."""
    folder = next(p for p in (target.absolute().parent, *target.absolute().parents) if p.is_dir())
    if not any((parent / ".git").exists() for parent in (folder, *folder.parents)):
        return False
    command = ["git", "-C", str(folder), "check-ignore", "--quiet", str(target.absolute())]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode != 0
    except OSError:
        return True
