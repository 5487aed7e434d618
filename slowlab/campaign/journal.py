"""The journal of a campaign: append-only JSON lines, chained by hash, with one writer.

A line is one record in canonical JSON: sequence number (from 1), kind, payload and digest. The
digest is SHA-256 over the previous record's digest and the record itself, so an altered byte,
noise, a missing or a swapped line is found, with its number. What a chain alone cannot show is a
file cut at a line; therefore a second small file, the head (``FILE.head``), is replaced atomically
after every record and names the number of records and the last digest.

**Order of writes.** Line, then head, and only then may anybody act on the record. A process killed
in the middle of a line leaves a torn tail, which is dropped on reopening and noted in the head; one
killed between line and head leaves a record more than the head names, which is kept.

**Following.** An interrupted campaign is resumed by running it again from the start: as long as the
file holds records, :meth:`Journal.put` compares instead of appending. So a resumed journal has the
bytes of one that was never interrupted, and a run that takes another course is stopped at the first
record that differs.

**Durability** is a choice, see :class:`Durability`. The chain has no key: it finds accidents and
careless edits, and whoever can write both files can forge them.
"""

from __future__ import annotations

import fcntl
import os
import threading
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from slowlab.campaign.journal_format import (
    GENESIS,
    JOURNAL,
    ChainForm,
    Head,
    JournalContent,
    JournalError,
    JournalFault,
    Record,
    RecordKind,
    Repair,
    decode_journal,
    difference,
    encode_line,
    head_path,
    next_record,
    read_bytes,
)
from slowlab.io import atomic_write_bytes, remove_parts


class Durability(StrEnum):
    """What a record survives once :meth:`Journal.put` has returned.

    ``disk``: the loss of power; line and head are forced to disk, at the price of two waits for the
    disk a record. ``process``: the death of the process, by whatever signal; line and head are in
    the hands of the operating system, and the disk is waited for when the journal is closed.
    """

    DISK = "disk"
    PROCESS = "process"


class Journal:
    """The writer of one journal; see the module for the rules.

    Attributes:
        path: the file.
        form: what sort of chained file it is.
        recorded: the records that the file held when it was opened.
        notes: what was repaired then, in words.
    """

    def __init__(
        self,
        path: Path,
        descriptor: int,
        content: JournalContent,
        durability: Durability,
        form: ChainForm = JOURNAL,
    ) -> None:
        """Use :meth:`open`."""
        self.path = path
        self.form = form
        self.recorded = content.records
        self.notes = content.notes
        self._descriptor: int | None = descriptor
        self._durability = durability
        self._followed = 0
        self._head = content.head
        self._length = content.sound_bytes
        self._busy = threading.Lock()  # a method that hung may come back while its journal closes

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        durability: Durability = Durability.DISK,
        form: ChainForm = JOURNAL,
    ) -> Journal:
        """Open a journal for writing, making it if there is none; a torn tail is dropped.

        Args:
            path: the file; only its owner may read it.
            durability: what a record survives.
            form: what sort of chained file it is.

        Raises:
            JournalError: another process writes it, or its content does not verify.
            OSError: the file cannot be opened or made.
        """
        path = Path(path)
        descriptor = _open_alone(path, form)
        try:
            content = decode_journal(path, _read_all(descriptor), read_bytes(head_path(path)), form)
            journal = cls(path, descriptor, content, durability, form)
            journal._settle_opening(content)
        except BaseException:
            os.close(descriptor)
            raise
        return journal

    @property
    def following(self) -> bool:
        """Whether there are recorded records that have not been run again yet."""
        return self._followed < len(self.recorded)

    @property
    def count(self) -> int:
        """Number of records in the file."""
        return self._head.count

    @property
    def expected(self) -> Record | None:
        """The recorded record that the next one must equal, or None at the end."""
        return self.recorded[self._followed] if self.following else None

    def put(self, kind: StrEnum, payload: Any) -> Record:
        """Append a record, or compare it with the recorded one while there are any.

        Args:
            kind: what it is.
            payload: plain data with a canonical JSON form.

        Returns:
            The record as it stands in the file.

        Raises:
            JournalError: the recorded record is another one (``mismatch``), the file could not be
                written (``write``), or the journal is closed.
            CanonicalError: the payload has no canonical JSON form; nothing was written.
        """
        with self._busy:
            if self._descriptor is None:
                raise self._closed()
            recorded = self.expected
            if recorded is None:
                record = next_record(self._head, kind, payload)
                self._append(record)
                return record
            if not recorded.holds(kind, payload):
                detail = difference(recorded, kind, payload)
                raise JournalError(self.path, JournalFault.MISMATCH, detail, recorded.sequence)
            self._followed += 1
            return recorded

    def skip(self) -> None:
        """Take the next recorded record as followed without comparing it."""
        if self.following:
            self._followed += 1

    def drop_unfollowed(self) -> None:
        """Drop the recorded records that have not been followed, so that others can be appended.

        The head goes first: killed after it, the file still holds whole records beyond the head,
        which are as good as before.

        Raises:
            JournalError: the journal is closed.
            OSError: head or file could not be written.
        """
        with self._busy:
            descriptor = self._open_descriptor
            kept = self.recorded[: self._followed]
            digest = kept[-1].digest if kept else self.form.genesis
            self._head = Head(len(kept), digest, self._head.repairs)
            self._write_head(Durability.DISK)
            self._length = sum(len(encode_line(record)) for record in kept)
            os.ftruncate(descriptor, self._length)
            os.fsync(descriptor)
            self.recorded = kept

    def close(self) -> None:
        """Force everything to disk and release the file; a second call does nothing."""
        with self._busy:
            descriptor, self._descriptor = self._descriptor, None
            if descriptor is None:
                return
            try:
                if self._durability is Durability.PROCESS:
                    os.fsync(descriptor)
                    self._write_head(Durability.DISK)
            finally:
                os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _settle_opening(self, content: JournalContent) -> None:
        """Drop a torn tail, and let the head name what is there."""
        remove_parts(head_path(self.path))
        if content.torn_bytes:
            os.ftruncate(self._open_descriptor, content.sound_bytes)
            os.fsync(self._open_descriptor)
        if content.torn_bytes or content.head_lags or not head_path(self.path).exists():
            self._write_head(Durability.DISK)

    @property
    def _open_descriptor(self) -> int:
        if self._descriptor is None:
            raise self._closed()
        return self._descriptor

    def _closed(self) -> JournalError:
        return JournalError(self.path, JournalFault.WRITE, f"the {self.form.noun} is closed")

    def _append(self, record: Record) -> None:
        """Write the line, then the head; after a failure the file has its old length again."""
        line = encode_line(record)
        try:
            write_fully(self._open_descriptor, line)
            if self._durability is Durability.DISK:
                os.fsync(self._open_descriptor)
        except OSError as error:
            self._take_back()
            detail = f"record {record.sequence} could not be written: {error.strerror}"
            raise JournalError(self.path, JournalFault.WRITE, detail) from error
        self._length += len(line)
        self._head = Head(record.sequence, record.digest, self._head.repairs)
        try:
            self._write_head(self._durability)
        except OSError as error:
            detail = f"the head could not be written: {error.strerror}"
            raise JournalError(self.path, JournalFault.WRITE, detail) from error

    def _take_back(self) -> None:
        """Undo a half-written line as far as possible; what is left is a torn tail."""
        try:
            os.ftruncate(self._open_descriptor, self._length)
        except OSError:
            return

    def _write_head(self, durability: Durability) -> None:
        flush = durability is Durability.DISK
        atomic_write_bytes(head_path(self.path), self._head.to_bytes(), flush=flush)


def read_journal(path: str | Path, form: ChainForm = JOURNAL) -> JournalContent:
    """Read and verify a journal without changing anything; a torn tail is left out and noted.

    Raises:
        JournalError: the content does not verify; the message holds the line.
        OSError: the file cannot be read.
    """
    path = Path(path)
    head = read_bytes(head_path(path))  # first: a writer at work only adds to what it names
    return decode_journal(path, path.read_bytes(), head, form)


def write_fully(descriptor: int, content: bytes) -> None:
    """Write all bytes, also where the system takes only a part at a time."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _open_alone(path: Path, form: ChainForm) -> int:
    """Open or make the file and lock it; the lock ends with the process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        detail = f"another process is writing this {form.noun}; a {form.noun} has one writer"
        raise JournalError(path, JournalFault.LOCKED, detail) from None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _read_all(descriptor: int) -> bytes:
    """The whole content of an open file."""
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


__all__ = [
    "GENESIS",
    "Durability",
    "Head",
    "Journal",
    "JournalContent",
    "JournalError",
    "JournalFault",
    "Record",
    "RecordKind",
    "Repair",
    "read_journal",
]
