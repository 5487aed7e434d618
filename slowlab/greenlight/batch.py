"""A batch of lanes with its books: what is saved between days, and how it is saved.

Books are float64 totals since the campaign's start, kept on the host; the compiled day returns
float32 sums of one day. A saved batch remembers the build that made it (definition files,
settings, source code, library versions), because only the same build continues bit-exactly.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
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
    arrays = _flatten(batch)
    header = {"format": _FORMAT, "build": dict(build), "sha256": _digest(arrays)}
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, header=np.array(json.dumps(header, sort_keys=True)), **arrays)


def load_batch(path: str | Path, build: Mapping[str, str]) -> LaneBatch:
    """Read a batch written by the same build.

    Raises:
        SavedStateError: the file is missing, damaged, or from another build; says which.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            arrays = {name: file[name] for name in file.files if name != "header"}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
        raise SavedStateError(f"{path}: not a readable saved state ({error})") from error
    if header.get("format") != _FORMAT:
        raise SavedStateError(f"{path}: format {header.get('format')}, expected {_FORMAT}")
    different = sorted(
        k for k in build.keys() | header["build"].keys() if build.get(k) != header["build"].get(k)
    )
    if different:
        k = different[0]
        raise SavedStateError(
            f"{path}: saved by another build; {', '.join(different)} differ "
            f"({k} was {header['build'].get(k)}, is {build.get(k)})"
        )
    if _digest(arrays) != header["sha256"]:
        raise SavedStateError(f"{path}: content does not match its checksum")
    state = LaneState(*(arrays[f"state.{name}"] for name in LaneState._fields))
    return LaneBatch(state, *(arrays[name] for name in LaneBatch._fields[1:]))


def _flatten(batch: LaneBatch) -> dict[str, np.ndarray]:
    state = {f"state.{k}": np.asarray(v) for k, v in batch.state._asdict().items()}
    return state | {name: getattr(batch, name) for name in LaneBatch._fields[1:]}


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
