"""Receipts: what says of every result under which lock it was made.

Each result (a file, or a folder of files) has a small file beside the study's other results,
``receipts/<path of the result>.json``: its path, its hash and the lock. A result that was edited,
copied from another study, moved to another place or made under another lock does not fit its
receipt. Times of files say nothing here, so ``snakemake --touch`` does not help either.

Two kinds of file also carry the lock inside, for readers who get them alone: ``numbers.json`` under
``provenance.lock``, and Parquet tables in their metadata.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from slowlab.canonical import StrictJsonError, canonical_json, canonical_sha256, loads_strict
from slowlab.config import ConfigError, ConfigModel, validate_config
from slowlab.io import atomic_write_text
from slowlab.prereg.errors import LockError, refuse
from slowlab.prereg.manifest import Sha256

FOLDER = "receipts"
PARQUET_KEY = b"slowlab.lock"


class Receipt(ConfigModel):
    """Under which lock a result stands."""

    format: Literal["slowlab-receipt-1"] = Field(default="slowlab-receipt-1", description="Form.")
    result: str = Field(min_length=1, description="Path of the result in the study's folder.")
    sha256: Sha256 = Field(description="Hash of its content.")
    lock: Sha256 = Field(description="Lock that it belongs to.")
    made_under: Sha256 = Field(description="Lock under which it was made; an earlier one if kept.")


@dataclass(frozen=True)
class LockedResults:
    """The results of a study under one lock.

    Attributes:
        folder: the study's folder of results.
        lock: id of the lock.
    """

    folder: Path
    lock: str

    def write(self, results: Iterable[Path], made_under: str | None = None) -> None:
        """Write the receipts of finished results.

        Args:
            results: files and folders below :attr:`folder`.
            made_under: lock under which they were made; None for this one.

        Raises:
            LockError: a result lies elsewhere or is not there.
            OSError: a result cannot be read, or a receipt cannot be written.
        """
        for path in results:
            receipt = Receipt(
                result=self._named(path),
                sha256=result_sha256(path),
                lock=self.lock,
                made_under=made_under or self.lock,
            )
            text = canonical_json(receipt.model_dump(mode="json")) + "\n"
            atomic_write_text(self._receipt_path(path), text)

    def read(self, path: Path) -> Receipt:
        """The receipt of a result.

        Raises:
            LockError: there is none, or it is not one.
        """
        place = self._receipt_path(path)
        try:
            return validate_config(loads_strict(place.read_bytes()), Receipt, str(place))
        except OSError:
            raise LockError(f"{path}: has no receipt of a lock") from None
        except (StrictJsonError, ConfigError) as error:
            raise LockError(f"{place}: is no receipt: {error}") from None

    def fault(self, path: Path) -> str | None:
        """Why a result does not belong to this lock, as a sentence; None if it does."""
        if not path.exists():
            return f"{path}: is missing"
        try:
            return self._fault_of(path, self.read(path))
        except LockError as error:
            return str(error)

    def _fault_of(self, path: Path, receipt: Receipt) -> str | None:
        """As :meth:`fault`, of a result that is there and has a receipt."""
        if receipt.lock != self.lock:
            return f"{path}: belongs to lock {receipt.lock[:12]}, not to {self.lock[:12]}"
        if receipt.result != self._named(path):
            return f"{path}: is a copy of {receipt.result}"
        if receipt.sha256 != result_sha256(path):
            return f"{path}: changed after it was made"
        inside = lock_inside(path)
        if inside not in (None, receipt.made_under):
            return f"{path}: says that it was made under lock {inside[:12]}"
        return None

    def require(self, results: Iterable[Path]) -> None:
        """Stop where a result does not belong to this lock.

        Raises:
            LockError: names every such result.
        """
        faults = [fault for path in results if (fault := self.fault(path)) is not None]
        refuse(f"results do not belong to lock {self.lock[:12]}:", faults)

    def known(self) -> list[Path]:
        """All results that have a receipt, sorted."""
        base = self.folder / FOLDER
        names = (path.relative_to(base).as_posix() for path in base.rglob("*.json"))
        return sorted(self.folder / name.removesuffix(".json") for name in names)

    def _receipt_path(self, path: Path) -> Path:
        return self.folder / FOLDER / f"{self._named(path)}.json"

    def _named(self, path: Path) -> str:
        try:
            return path.resolve().relative_to(self.folder.resolve()).as_posix()
        except ValueError:
            raise LockError(f"{path}: does not lie in {self.folder}") from None


def result_belongs(lock: str, path: Path, folder: Path) -> bool:
    """Whether a result belongs to a lock, by its receipt and by its content.

    Args:
        lock: id of the lock.
        path: the result.
        folder: the study's folder of results.
    """
    return LockedResults(folder, lock).fault(path) is None


def result_sha256(path: Path) -> str:
    """Hash of a file's bytes, or of names and bytes of all files in a folder but hidden ones.

    Raises:
        LockError: there is no such file or folder.
        OSError: a file cannot be read.
    """
    if path.is_dir():
        files = sorted(item for item in path.rglob("[!.]*") if item.is_file())
        return canonical_sha256({f.relative_to(path).as_posix(): _sha256(f) for f in files})
    if not path.is_file():
        raise LockError(f"{path}: is missing")
    return _sha256(path)


def lock_inside(path: Path) -> str | None:
    """The lock that a numbers file or a Parquet table carries itself; None for anything else.

    Raises:
        LockError: the file cannot be read as what its name says.
    """
    try:
        if path.name == "numbers.json":
            return json.loads(path.read_bytes())["provenance"]["lock"]
        return parquet_lock(path) if path.suffix == ".parquet" else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LockError(f"{path}: cannot be read: {error}") from None


def stamp_parquet(content: bytes, lock: str) -> bytes:
    """A Parquet table with the lock in its metadata; equal tables and locks give equal bytes.

    Args:
        content: what ``slowlab.evaluation.tables.TableSchema.parquet`` made.
        lock: id of the lock.
    """
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(content))
    known: dict[bytes, Any] = dict(table.schema.metadata or {})
    stamped = table.replace_schema_metadata({**known, PARQUET_KEY: lock.encode()})
    buffer = io.BytesIO()
    pq.write_table(stamped, buffer, compression="zstd")
    return buffer.getvalue()


def parquet_lock(path: Path) -> str | None:
    """The lock in a Parquet table's metadata; None where there is none.

    Raises:
        OSError, ValueError: it is no Parquet table.
    """
    import pyarrow.parquet as pq

    found = (pq.read_schema(path).metadata or {}).get(PARQUET_KEY)
    return None if found is None else found.decode()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
