"""The transcript of a conversation with a language model, as it is written, resumed and forked.

**Following.** A transcript that holds records is followed: what comes again is compared with what
is recorded, and from the last record on the conversation goes on live. So one that was interrupted
has, in the end, the bytes of one that never was, and nothing is paid for twice.

**Another course.** Where a record comes out otherwise (prompts or code have changed), the file is
kept aside as ``NAME.superseded-N.jsonl``, the records before the difference stay, and the
conversation goes on live from there.

**Branches.** :func:`fork` lets a branch begin with the records of the conversation that it leaves.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from slowlab.agents.transcript_format import (
    TRANSCRIPT,
    TranscriptKind,
    header_payload,
    superseded_path,
)
from slowlab.campaign.journal import Durability, Journal, read_journal
from slowlab.campaign.journal_format import (
    JournalContent,
    JournalError,
    JournalFault,
    Record,
    head_path,
    read_bytes,
)
from slowlab.io import atomic_write_bytes, remove_parts

_log = logging.getLogger(__name__)


class Transcript:
    """The writer of one transcript; see the module.

    Attributes:
        path: the file.
        texts: names of the texts that the records so far hold.
        superseded_calls: answered calls that were set aside because the course has changed.
    """

    def __init__(self, journal: Journal) -> None:
        """Use :meth:`open`."""
        self.path = journal.path
        self.texts: set[str] = set()
        self.superseded_calls = 0
        self._journal = journal

    @classmethod
    def open(
        cls,
        path: str | Path,
        header: Mapping[str, Any],
        *,
        durability: Durability = Durability.PROCESS,
    ) -> Transcript:
        """Open a transcript, making it if there is none.

        Args:
            path: the file; only its owner may read it.
            header: what the conversation is about; plain data.
            durability: what a record survives; ``disk`` for answers that are paid for.

        Raises:
            JournalError: another process writes it, or its content does not verify.
            OSError: it cannot be opened or made.
        """
        transcript = cls(Journal.open(path, durability=durability, form=TRANSCRIPT))
        try:
            transcript.put(TranscriptKind.HEADER, header_payload(header))
        except BaseException:
            transcript.close()
            raise
        return transcript

    @property
    def expected(self) -> Record | None:
        """The recorded record that comes next, or None where the conversation is live."""
        return self._journal.expected

    def put(self, kind: TranscriptKind, payload: Mapping[str, Any]) -> Record:
        """Append a record; while records are followed, compare it with the recorded one.

        Where they differ, what is recorded from there on is set aside.

        Args:
            kind: what it is.
            payload: plain data with a canonical JSON form.

        Returns:
            The record as it stands in the file.

        Raises:
            JournalError: the file could not be written, or is closed.
            CanonicalError: the payload has no canonical JSON form; nothing was written.
            OSError: what is recorded could not be set aside.
        """
        try:
            record = self._journal.put(kind, payload)
        except JournalError as error:
            if error.fault is not JournalFault.MISMATCH:
                raise
            self.set_aside(error.detail)
            record = self._journal.put(kind, payload)
        if kind is TranscriptKind.CALL:
            self.texts |= payload["texts"].keys()
        return record

    def take(self) -> Record:
        """Follow the next recorded record as it is.

        Raises:
            LookupError: there is none.
        """
        record = self.expected
        if record is None:
            raise LookupError(f"{self.path}: nothing more is recorded")
        self._journal.skip()
        return record

    def set_aside(self, why: str) -> None:
        """Keep the file aside and drop what is recorded from here on.

        Args:
            why: how the course differs, for the log.

        Raises:
            JournalError: the transcript is closed.
            OSError: a file could not be written.
        """
        place = self.expected
        if place is None:
            return
        dropped = self._journal.recorded[place.sequence - 1 :]
        calls = sum(record.kind is TranscriptKind.REPLY for record in dropped)
        kept_at = _keep_copy(self.path)
        self._journal.drop_unfollowed()
        self.superseded_calls += calls
        _log.warning(
            "%s:%d: %s; %d records with %d answered calls are superseded and kept as %s",
            self.path,
            place.sequence,
            why,
            len(dropped),
            calls,
            kept_at.name,
        )

    def close(self) -> None:
        """Force everything to disk and release the file; a second call does nothing."""
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def fork(
    prefix: str | Path, branch: str | Path, *, durability: Durability = Durability.PROCESS
) -> None:
    """Let a branch begin with the records of another transcript.

    A branch that begins so already is kept as it is; of any other, what differs is set aside.

    Args:
        prefix: the transcript from which the branch leaves, whole; it must not be open.
        branch: the transcript of the branch; it must not be open.
        durability: as for :meth:`Transcript.open`.

    Raises:
        JournalError: one of them does not verify, or is in use.
        OSError: one of them cannot be read or written.
    """
    content = read_transcript(prefix)
    journal = Journal.open(branch, durability=durability, form=TRANSCRIPT)
    with Transcript(journal) as transcript:
        for record in content.records:
            transcript.put(record.kind, record.payload)


def read_transcript(path: str | Path) -> JournalContent:
    """Read and verify a transcript without changing anything; a torn tail is left out and noted.

    Raises:
        JournalError: the content does not verify; the message holds the line.
        OSError: the file cannot be read.
    """
    return read_journal(path, TRANSCRIPT)


def _keep_copy(path: Path) -> Path:
    """Copy a transcript and its head aside, once: a resumed job may come here again."""
    content, number = path.read_bytes(), 1
    while (kept := read_bytes(superseded_path(path, number))) not in (None, content):
        number += 1
    target = superseded_path(path, number)
    for file in (target, head_path(target)):
        remove_parts(file)
    atomic_write_bytes(head_path(target), head_path(path).read_bytes())
    if kept is None:
        atomic_write_bytes(target, content)
    return target
