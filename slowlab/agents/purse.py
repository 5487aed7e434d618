"""The purse of a study: one file, shared by all its jobs, that no call can pass by.

The worst case of an attempt is reserved **before** it is sent, under a lock that all processes
share, and refused where a cap could be passed. Once the attempt is answered, its cost takes the
place of the reservation; a cost that nobody knows keeps the worst case booked and counts as
unknown.

The file holds one entry a line and only grows. An entry is on the disk before anybody acts on it.
A process killed in the middle of a line leaves a torn tail, on which nobody has acted; the next
writer cuts it off. Every entry names its attempt, so a resumed job books nothing twice. Each purse
reads on from where it stopped reading.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from slowlab.agents.books import (
    Amount,
    Books,
    BooksError,
    Caps,
    PurseTotals,
    UnknownPriceError,
    resend_entry,
    reserve_entry,
    settle_entry,
)
from slowlab.agents.prices import Cost
from slowlab.campaign.journal import Durability, write_fully
from slowlab.canonical import StrictJsonError, canonical_bytes, loads_strict


class PurseError(RuntimeError):
    """A purse that cannot be used: damaged, removed while in use, or closed.

    Attributes:
        path: the file.
        line: line in the file, from 1, or None.
    """

    def __init__(self, path: Path, detail: str, line: int | None = None) -> None:
        place = f"{path}" if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {detail}")
        self.path = path
        self.line = line


class Purse:
    """A purse in use; safe between threads and between processes. See the module for the rules.

    Attributes:
        path: the file.
        caps: what may be spent in all.
    """

    def __init__(self, path: Path, descriptor: int, caps: Caps, durability: Durability) -> None:
        """Use :meth:`open`."""
        self.path = path
        self.caps = caps
        self._descriptor: int | None = descriptor
        self._durability = durability
        self._books = Books()
        self._read = 0
        self._lines = 0
        self._busy = threading.Lock()

    @classmethod
    def open(
        cls, path: str | Path, caps: Caps, *, durability: Durability = Durability.DISK
    ) -> Purse:
        """Open a purse, making it if there is none.

        Args:
            path: the file; only its owner may read it.
            caps: what may be spent in all, with what other jobs spend.
            durability: what an entry survives; ``process`` is enough where nothing is billed.

        Raises:
            PurseError: the file is damaged.
            OSError: it cannot be opened or made.
        """
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        purse = cls(path, os.open(path, flags, 0o600), caps, durability)
        try:
            purse.totals()
            if durability is Durability.DISK:
                _flush_folder(path.parent)
        except BaseException:
            purse.close()
            raise
        return purse

    def reserve(self, key: str, worst: Amount) -> None:
        """Book the worst case of an attempt that is about to be sent; a known key changes nothing.

        Args:
            key: names the attempt, the same after a restart.
            worst: what it can use at most.

        Raises:
            CapReachedError: a cap could be passed; nothing was booked.
            UnknownPriceError: there is a cap in USD, and no price.
            PurseError: the file is damaged, removed or closed.
            OSError: the entry could not be written; nothing was booked.
        """
        with self._locked() as descriptor:
            if self._books.is_known(key):
                return
            self._books.check(worst, self.caps)
            self._append(descriptor, reserve_entry(key, worst))

    def resend(self, key: str, worst: Amount) -> None:
        """Book that an attempt of unknown fate is sent again.

        What it may have cost before stays booked as unknown, and its worst case is reserved again.
        Where nothing was reserved, nothing was sent: then it is a first reservation.

        Args:
            key: names the attempt.
            worst: what it can use at most.

        Raises:
            CapReachedError: a cap could be passed; nothing was booked.
            PurseError: the file is damaged, removed or closed.
            OSError: the entry could not be written; nothing was booked.
        """
        with self._locked() as descriptor:
            self._books.check(worst, self.caps)
            known = self._books.is_known(key)
            self._append(descriptor, resend_entry(key) if known else reserve_entry(key, worst))

    def settle(self, key: str, cost: Cost) -> None:
        """Book what an attempt has cost; a key that is settled changes nothing.

        An unknown cost keeps the worst case booked. A key without a reservation, because the purse
        was removed since, is booked with its cost.

        Raises:
            PurseError: the file is damaged, removed or closed.
            OSError: the entry could not be written.
        """
        with self._locked() as descriptor:
            if self._books.is_open(key) or not self._books.is_known(key):
                self._append(descriptor, settle_entry(key, cost))

    def totals(self) -> PurseTotals:
        """What all jobs have used so far.

        Raises:
            PurseError: the file is damaged, removed or closed.
        """
        with self._locked():
            return self._books.totals()

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        with self._busy:
            descriptor, self._descriptor = self._descriptor, None
            if descriptor is not None:
                os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Keep everybody else out and read what they have written."""
        with self._busy:
            descriptor = self._descriptor
            if descriptor is None:
                raise PurseError(self.path, "the purse is closed")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            try:
                self._catch_up(descriptor)
                yield descriptor
            finally:
                fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _catch_up(self, descriptor: int) -> None:
        """Book the lines that others have added."""
        state = os.fstat(descriptor)
        if state.st_nlink == 0 or state.st_size < self._read or not self._is_at_path(state):
            detail = "the purse was removed, replaced or cut while it was in use"
            raise PurseError(self.path, detail)
        content = os.pread(descriptor, state.st_size - self._read, self._read)
        *lines, _ = content.split(b"\n")
        for line in lines:
            try:
                self._books.enter(loads_strict(line))
            except (StrictJsonError, BooksError) as error:
                raise PurseError(self.path, str(error), self._lines + 1) from None
            self._read += len(line) + 1
            self._lines += 1

    def _is_at_path(self, state: os.stat_result) -> bool:
        try:
            return os.path.samestat(state, self.path.stat())
        except FileNotFoundError:
            return False

    def _append(self, descriptor: int, entry: Mapping[str, Any]) -> None:
        """Write one line after the last whole one, and book it."""
        line = canonical_bytes(entry) + b"\n"
        try:
            os.ftruncate(descriptor, self._read)
            write_fully(descriptor, line)
            if self._durability is Durability.DISK:
                os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, self._read)
            raise
        self._books.enter(entry)
        self._read += len(line)
        self._lines += 1


def _flush_folder(folder: Path) -> None:
    """Make sure that a new file is still there after a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


__all__ = ["Amount", "Caps", "Purse", "PurseError", "PurseTotals", "UnknownPriceError"]
