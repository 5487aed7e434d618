"""A batch of lanes with its books: what is saved between days, and how it is saved.

Books are float64 totals since the campaign's start, kept on the host; the compiled day returns
float32 sums of one day. A saved batch remembers the build that made it (definition files,
settings, source code, library versions), because only the same build continues bit-exactly.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from slowlab.greenlight import lanes
from slowlab.greenlight.lanes import LEDGER, Ending, LaneState
from slowlab.io import atomic_path

_FORMAT = 1


class SavedStateError(RuntimeError):
    """A saved batch cannot be used: damaged, incomplete, or made by another build."""


class LaneBatch(NamedTuple):
    """Lane state and float64 books [5, lanes] in the order of ``LEDGER``.

    ``totals`` since the campaign's start; ``totals_at_planting`` their values when the latest crop
    was planted; ``latest_crop`` what the latest ended crop used and gave (zero before the first).
    """

    state: LaneState
    totals: np.ndarray
    totals_at_planting: np.ndarray
    latest_crop: np.ndarray

    @property
    def lanes(self) -> int:
        """Number of lanes."""
        return self.totals.shape[1]

    def plant(self, where: np.ndarray) -> LaneBatch:
        """Plant crops now in the idle lanes ``where`` (boolean [lanes]).

        Raises:
            ValueError: a lane is not idle.
        """
        return self._replace(
            state=lanes.plant(self.state, where),
            totals_at_planting=np.where(where, self.totals, self.totals_at_planting),
        )

    def stop(self, where: np.ndarray) -> LaneBatch:
        """Stop the growing crops of the lanes ``where`` now, on request.

        Raises:
            ValueError: a lane has no crop.
        """
        return self._replace(
            state=lanes.stop(self.state, where, Ending.STOPPED),
            latest_crop=np.where(where, self.totals - self.totals_at_planting, self.latest_crop),
        )

    def ended_crop(self) -> dict[str, np.ndarray]:
        """Flows of the latest ended crop per lane by ``LEDGER`` name; zero where none has ended."""
        return dict(zip(LEDGER, self.latest_crop, strict=True))

    def take(self, index: np.ndarray) -> LaneBatch:
        """The lanes ``index`` (integers, any order, repeats allowed) as a batch."""
        picked = LaneState(*(np.asarray(a)[..., index] for a in self.state))
        return LaneBatch(picked, *(a[:, index] for a in self[1:]))


def open_batch(count: int, dtype: Any) -> LaneBatch:
    """A batch of empty lanes at tick 0 with empty books."""
    books = [np.zeros((len(LEDGER), count)) for _ in range(3)]
    return LaneBatch(lanes.open_lanes(count, dtype), *books)


def save_batch(path: str | Path, batch: LaneBatch, build: Mapping[str, str]) -> None:
    """Write a batch to one file, atomically.

    Args:
        path: target, by convention ``.npz``.
        batch: lanes and books.
        build: identity of the build, see ``Stepper.build``.
    """
    save_arrays(path, batch_arrays(batch), build)


def load_batch(path: str | Path, build: Mapping[str, str]) -> LaneBatch:
    """Read a batch written by the same build.

    Raises:
        SavedStateError: the file is missing, damaged, or from another build; says which.
    """
    arrays, _ = load_arrays(path, build)
    return batch_from_arrays(arrays)


def batch_arrays(batch: LaneBatch) -> dict[str, np.ndarray]:
    """Every array of a batch by name."""
    state = {f"state.{k}": np.asarray(v) for k, v in batch.state._asdict().items()}
    return state | {name: getattr(batch, name) for name in LaneBatch._fields[1:]}


def batch_from_arrays(arrays: Mapping[str, np.ndarray]) -> LaneBatch:
    """The batch from its arrays by name; further arrays are left alone."""
    state = LaneState(*(arrays[f"state.{name}"] for name in LaneState._fields))
    return LaneBatch(state, *(arrays[name] for name in LaneBatch._fields[1:]))


def save_arrays(
    path: str | Path,
    arrays: Mapping[str, np.ndarray],
    build: Mapping[str, str],
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Write named arrays and what belongs to them to one file, atomically.

    Args:
        path: target, by convention ``.npz``.
        arrays: by name; ``header`` is taken.
        build: identity of the build, see ``Stepper.build``.
        facts: plain data for JSON.
    """
    facts = dict(facts or {})
    digest = arrays_sha256(arrays, facts)
    header = {"format": _FORMAT, "build": dict(build), "facts": facts, "sha256": digest}
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, header=np.array(json.dumps(header, sort_keys=True)), **arrays)


def load_arrays(
    path: str | Path, build: Mapping[str, str]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read arrays and facts written by the same build.

    Raises:
        SavedStateError: the file is missing, damaged, or from another build; says which.
    """
    # A damaged archive can make the readers of NumPy and zip raise almost anything.
    try:
        with np.load(io.BytesIO(Path(path).read_bytes()), allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            arrays = {name: file[name] for name in file.files if name != "header"}
        saved_by, digest = dict(header["build"]), header["sha256"]
        facts = dict(header["facts"])
    except Exception as error:
        raise SavedStateError(f"{path}: not a readable saved state ({error})") from error
    if header.get("format") != _FORMAT:
        raise SavedStateError(f"{path}: format {header.get('format')}, expected {_FORMAT}")
    different = sorted(k for k in build.keys() | saved_by.keys() if build.get(k) != saved_by.get(k))
    if different:
        k = different[0]
        raise SavedStateError(
            f"{path}: saved by another build; {', '.join(different)} differ "
            f"({k} was {saved_by.get(k)}, is {build.get(k)})"
        )
    if arrays_sha256(arrays, facts) != digest:
        raise SavedStateError(f"{path}: content does not match its checksum")
    return arrays, facts


def arrays_sha256(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any] | None = None) -> str:
    """SHA-256 over names, types, shapes and bytes of arrays, and over the facts beside them."""
    digest = hashlib.sha256(json.dumps(facts or {}, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
