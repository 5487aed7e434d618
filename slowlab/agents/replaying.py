"""Running a recorded conversation again: the same code, recorded answers, no model and no network.

What is compared is everything that the harness sends and notes; what is given back is what was
recorded. Nothing is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowlab.agents.messages import ModelCall, ModelReply, Stage
from slowlab.agents.transcript import read_transcript
from slowlab.agents.transcript_difference import call_difference, payload_difference
from slowlab.agents.transcript_format import (
    BLOCKED,
    FORMAT,
    SUFFIX,
    TranscriptKind,
    call_payload,
    text_key,
)
from slowlab.campaign.journal_format import Record


class TranscriptMismatchError(RuntimeError):
    """A conversation that takes another course than its transcript, so it cannot go on."""


class TranscriptEndError(RuntimeError):
    """A conversation goes on where its transcript ends; the message says how that one ends."""


@dataclass(frozen=True)
class TranscriptMismatch:
    """A record that came out otherwise.

    Attributes:
        line: line of the record, from 1.
        detail: the difference, in words.
    """

    line: int
    detail: str


@dataclass(frozen=True)
class TranscriptReplay:
    """What the replay of one transcript has shown.

    Attributes:
        path: the file.
        records: number of records in it.
        followed: how many of them came again.
        mismatches: records that came out otherwise.
        notes: what is to be known beside: repairs, an early end.
    """

    path: Path
    records: int
    followed: int
    mismatches: tuple[TranscriptMismatch, ...]
    notes: tuple[str, ...]


class ReplayDialogue:
    """Stands in for a dialogue: compares what comes, and answers with what is recorded.

    Args:
        records: all records of a transcript, the header first.

    Attributes:
        mismatches: records that came out otherwise so far.
        followed: records that have come again, with the header.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.mismatches: list[TranscriptMismatch] = []
        self.followed = 1
        self._records = records
        self._recorded_texts: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    @property
    def line(self) -> int:
        """Line of the next record."""
        return self.followed + 1

    @property
    def expected(self) -> Record | None:
        """The next record, or None at the end."""
        done = self.followed >= len(self._records)
        return None if done else self._records[self.followed]

    def ask(self, stage: Stage, call: ModelCall) -> ModelReply:
        """Compare a call with the recorded one and give the recorded answer.

        Raises:
            TranscriptEndError: no further call, or no answer to this one, is recorded.
            TranscriptMismatchError: something else is recorded.
        """
        record = self.expected
        if record is not None and _is_blocked(record):
            self.followed += 1
            raise TranscriptEndError("the firewall stopped the next call")
        record = self._next(TranscriptKind.CALL)
        payload = call_payload(stage, call, self._texts)
        self._recorded_texts |= record.payload["texts"]
        self._texts |= payload["texts"]
        self._compare_call(record, payload)
        while self._is_next(TranscriptKind.ATTEMPT, TranscriptKind.FAILED_ATTEMPT):
            self.followed += 1
        return ModelReply.from_payload(self._next(TranscriptKind.REPLY).payload["reply"])

    def note(self, kind: TranscriptKind, payload: Mapping[str, Any]) -> None:
        """Compare what is noted with what is recorded.

        Raises:
            TranscriptEndError: nothing more is recorded.
            TranscriptMismatchError: something else is recorded.
        """
        record = self._next(kind)
        if not record.holds(kind, payload):
            detail = payload_difference(record.payload, json.loads(json.dumps(payload)))
            self._differs(record.sequence, f"{kind}: {detail}")

    def upcoming(self, kind: TranscriptKind) -> Any:
        """Payload of the next record of a kind, which stays to be compared.

        Raises:
            TranscriptEndError: there is none.
        """
        for record in self._records[self.followed :]:
            if record.kind is kind:
                return record.payload
        raise TranscriptEndError(f"no further {kind} is recorded")

    def close(self) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Note records that should have come and did not."""
        record = self.expected
        if record is not None:
            detail = f"the course has ended, but a record ({record.kind}) follows"
            self._differs(record.sequence, detail)

    def fail(self, detail: str) -> None:
        """Note why the replay could not go on."""
        self._differs(min(self.line, len(self._records)), detail)

    def _next(self, kind: TranscriptKind) -> Record:
        """The next record, which must be of a kind."""
        record = self.expected
        if record is None:
            raise TranscriptEndError(f"the next record would be: {kind}")
        if record.kind is not kind:
            detail = f"recorded is: {record.kind}, now comes: {kind}"
            self._differs(record.sequence, detail)
            raise TranscriptMismatchError(detail)
        self.followed += 1
        return record

    def _is_next(self, *kinds: TranscriptKind) -> bool:
        return self.expected is not None and self.expected.kind in kinds

    def _compare_call(self, record: Record, payload: Mapping[str, Any]) -> None:
        damaged = [key for key, text in record.payload["texts"].items() if text_key(text) != key]
        if damaged:
            self._differs(record.sequence, f"{len(damaged)} texts do not fit their names")
        if record.holds(TranscriptKind.CALL, payload):
            return
        texts = {**self._recorded_texts, **self._texts}
        detail = call_difference(record.payload, payload, texts)
        if not detail and not self.mismatches:
            detail = "texts are kept in another record"
        if detail:
            self._differs(record.sequence, f"call: {detail}")

    def _differs(self, line: int, detail: str) -> None:
        self.mismatches.append(TranscriptMismatch(line, detail))


Player = Callable[[Mapping[str, Any], ReplayDialogue], None]
"""Leads a conversation again, from its header, through a replay dialogue."""


def replay_transcript(path: str | Path, players: Mapping[str, Player]) -> TranscriptReplay:
    """Replay one transcript.

    Args:
        path: the file.
        players: who leads a conversation again, by the kind that its header names.

    Raises:
        JournalError: the transcript does not verify; the message holds the line.
        OSError: it cannot be read.
    """
    content = read_transcript(path)
    records, notes = content.records, list(content.notes)
    if not records:
        return TranscriptReplay(Path(path), 0, 0, (), (*notes, "holds no record"))
    dialogue = ReplayDialogue(records)
    notes += _play(records, dialogue, players)
    mismatches = tuple(dialogue.mismatches)
    return TranscriptReplay(Path(path), len(records), dialogue.followed, mismatches, tuple(notes))


def is_transcript(path: Path) -> bool:
    """Whether a file is a transcript, by its first record or, where that is damaged, its name.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        first = file.readline()
    try:
        return json.loads(first)["payload"]["format"] == FORMAT
    except (ValueError, TypeError, KeyError, RecursionError):
        return path.name.endswith(SUFFIX)


def _play(
    records: Sequence[Record], dialogue: ReplayDialogue, players: Mapping[str, Player]
) -> list[str]:
    """Lead the conversation again; what is to be known about its end."""
    header = records[0].payload
    ended = records[-1].kind is TranscriptKind.ENDING
    if records[0].kind is not TranscriptKind.HEADER or header.get("kind") not in players:
        dialogue.fail(f"no header of a {' or a '.join(sorted(players))}")
        return []
    try:
        players[header["kind"]](header, dialogue)
    except TranscriptMismatchError:
        return []
    except TranscriptEndError as end:
        if ended:
            dialogue.fail(f"the course goes on after its recorded end: {end}")
            return []
        return [f"interrupted after record {len(records)}: {end}"]
    except Exception as error:
        dialogue.fail(f"could not be run again: {type(error).__name__}: {error}")
        return []
    dialogue.finish()
    return [] if ended else ["whole so far, without an end of its own"]


def _is_blocked(record: Record) -> bool:
    return record.kind is TranscriptKind.FLAG and record.payload.get("flag") == BLOCKED
