"""The bytes of a journal and its head, and how they are verified: pure functions of bytes.

See :mod:`slowlab.campaign.journal` for the rules and :class:`~slowlab.campaign.journal.Journal` for
the writer. Other chained files are kept in the same way, with records of other kinds and a chain
that starts elsewhere; see :class:`ChainForm`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from slowlab.canonical import (
    CanonicalError,
    JsonLimits,
    StrictJsonError,
    canonical_bytes,
    canonical_sha256,
    loads_strict,
)

_LIMITS = JsonLimits(max_bytes=256 * 1024 * 1024)
_LINE_KEYS = {"digest", "kind", "payload", "sequence"}


class RecordKind(StrEnum):
    """What a record is.

    ``header``: what opens the campaign. ``request``, ``reply``: one action and its answer.
    ``refused``: something that is no action at all, with its answer; the text is not kept.
    ``initial``: the recommendation from before the experiments. ``assignment``: the feedback mode,
    told after the day-0 design. ``tool_request``, ``tool_reply``: one use of an analysis tool.
    ``settlement``: the end.
    """

    HEADER = "header"
    REQUEST = "request"
    REPLY = "reply"
    REFUSED = "refused"
    INITIAL = "initial"
    ASSIGNMENT = "assignment"
    TOOL_REQUEST = "tool_request"
    TOOL_REPLY = "tool_reply"
    SETTLEMENT = "settlement"


@dataclass(frozen=True)
class ChainForm:
    """What tells one sort of chained file from another.

    Attributes:
        version: name and version of the form; the chain starts from its hash.
        kinds: kinds of records.
        noun: what such a file is called in messages.
    """

    version: str
    kinds: type[StrEnum]
    noun: str

    @property
    def genesis(self) -> str:
        """The digest before the first record."""
        return hashlib.sha256(self.version.encode()).hexdigest()


JOURNAL = ChainForm("slowlab-journal-1", RecordKind, "journal")
GENESIS = JOURNAL.genesis
"""The digest before the first record of a journal."""


class JournalFault(StrEnum):
    """What is wrong with a journal."""

    NOISE = "noise"
    NOT_CANONICAL = "not_canonical"
    SEQUENCE = "sequence"
    CHAIN = "chain"
    SHRUNK = "shrunk"
    HEAD_MISSING = "head_missing"
    HEAD_DAMAGED = "head_damaged"
    HEAD_DIFFERS = "head_differs"
    LOCKED = "locked"
    WRITE = "write"
    MISMATCH = "mismatch"


class JournalStatus(StrEnum):
    """How far the campaign of a journal has come.

    ``empty``: no record. ``open``: between two actions. ``waiting``: an action without its reply.
    ``failed``: the last reply or the settlement is an infrastructure failure. ``settled``: the end.
    """

    EMPTY = "empty"
    OPEN = "open"
    WAITING = "waiting"
    FAILED = "failed"
    SETTLED = "settled"


class JournalError(RuntimeError):
    """A journal that cannot be used, or a record that it cannot take.

    Attributes:
        path: the file.
        fault: the rule that is broken.
        detail: the fault in words.
        line: line in the file, from 1, or None.
    """

    def __init__(
        self, path: str | Path, fault: JournalFault, detail: str, line: int | None = None
    ) -> None:
        place = f"{path}" if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {detail}")
        self.path = Path(path)
        self.fault = fault
        self.detail = detail
        self.line = line

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor."""
        return type(self), (self.path, self.fault, self.detail, self.line)


@dataclass(frozen=True)
class Record:
    """One record.

    Attributes:
        sequence: number, from 1; also the line.
        kind: what it is.
        payload: plain data.
        digest: SHA-256, hexadecimal, over the previous digest and this record.
    """

    sequence: int
    kind: StrEnum
    payload: Any
    digest: str

    def holds(self, kind: StrEnum, payload: Any) -> bool:
        """Whether the record is of this kind and its payload has the same canonical bytes."""
        return kind is self.kind and canonical_bytes([payload]) == canonical_bytes([self.payload])


@dataclass(frozen=True)
class Repair:
    """A torn tail that was dropped.

    Attributes:
        line: line of the unfinished record.
        dropped_bytes: its length.
        confirmed: whether the head already named it, so that it may have been acted upon.
    """

    line: int
    dropped_bytes: int
    confirmed: bool

    def note(self) -> str:
        """The repair in words."""
        text = f"line {self.line}: an unfinished record of {self.dropped_bytes} bytes was dropped"
        return text + ("; the head had confirmed it" if self.confirmed else "")


@dataclass(frozen=True)
class Head:
    """The checkpoint beside a journal.

    Attributes:
        count: number of records.
        digest: digest of the last one.
        repairs: every torn tail that was ever dropped.
    """

    count: int = 0
    digest: str = GENESIS
    repairs: tuple[Repair, ...] = ()

    def to_bytes(self) -> bytes:
        """The content of the head file."""
        rows = [vars(repair) for repair in self.repairs]
        head = {"count": self.count, "digest": self.digest, "repairs": rows}
        return canonical_bytes(head) + b"\n"


@dataclass(frozen=True)
class JournalContent:
    """A verified journal.

    Attributes:
        records: all complete records.
        head: the head as it should now read.
        sound_bytes: length of the complete records.
        torn_bytes: length of the torn tail; 0 where there is none.
        head_lags: whether the head file names fewer records.
    """

    records: tuple[Record, ...]
    head: Head
    sound_bytes: int
    torn_bytes: int
    head_lags: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """All repairs, in words."""
        return tuple(repair.note() for repair in self.head.repairs)

    @property
    def status(self) -> JournalStatus:
        """How far the campaign has come."""
        return journal_status(self.records)


def journal_status(records: tuple[Record, ...]) -> JournalStatus:
    """How far the campaign with these records has come."""
    if not records:
        return JournalStatus.EMPTY
    last = records[-1]
    if last.kind is RecordKind.SETTLEMENT:
        failed = isinstance(last.payload, dict) and last.payload.get("status") == _FAILURE
        return JournalStatus.FAILED if failed else JournalStatus.SETTLED
    if last.kind in (RecordKind.REQUEST, RecordKind.TOOL_REQUEST):
        return JournalStatus.WAITING
    if last.kind is RecordKind.REPLY and _is_failure(last.payload):
        return JournalStatus.FAILED
    return JournalStatus.OPEN


def _is_failure(reply: Any) -> bool:
    error = reply.get("error") if isinstance(reply, dict) else None
    return isinstance(error, dict) and error.get("kind") == _FAILURE


_FAILURE = "infrastructure_failure"


def next_record(head: Head, kind: StrEnum, payload: Any) -> Record:
    """The record that follows a head; raises CanonicalError for an impossible payload."""
    sequence = head.count + 1
    return Record(sequence, kind, payload, _digest(head.digest, sequence, kind, payload))


def encode_line(record: Record) -> bytes:
    """The line of a record, with its line end."""
    line = {
        "digest": record.digest,
        "kind": record.kind.value,
        "payload": record.payload,
        "sequence": record.sequence,
    }
    return canonical_bytes(line) + b"\n"


def head_path(path: Path) -> Path:
    """The head's file beside a journal."""
    return path.with_name(f"{path.name}.head")


def read_bytes(path: Path) -> bytes | None:
    """Content of a file, or None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def decode_journal(
    path: Path, content: bytes, head: bytes | None, form: ChainForm = JOURNAL
) -> JournalContent:
    """Verify the bytes of a journal and of its head (None: there is none).

    Raises:
        JournalError: the first fault found, with its line.
    """
    *lines, torn = content.split(b"\n")
    records, digest = [], form.genesis
    for number, line in enumerate(lines, 1):
        record = _decode_line(path, number, line, digest, form)
        records.append(record)
        digest = record.digest
    sound = len(content) - len(torn)
    known = _decode_head(path, head, form, empty=not content)
    _check_head(path, known, records, torn=bool(torn))
    repairs = known.repairs
    if torn:
        line = len(records) + 1
        repairs += (Repair(line, len(torn), confirmed=known.count >= line),)
    new_head = Head(len(records), digest, repairs)
    return JournalContent(tuple(records), new_head, sound, len(torn), known.count < len(records))


def _digest(previous: str, sequence: int, kind: StrEnum, payload: Any) -> str:
    """Digest of a record after the record with the digest ``previous``."""
    content = canonical_bytes({"kind": kind.value, "payload": payload, "sequence": sequence})
    return hashlib.sha256(previous.encode("ascii") + b"\n" + content).hexdigest()


def _decode_line(path: Path, number: int, line: bytes, previous: str, form: ChainForm) -> Record:
    """One verified record."""

    def fault(kind: JournalFault, detail: str) -> JournalError:
        return JournalError(path, kind, detail, number)

    try:
        data = loads_strict(line, _LIMITS)
    except StrictJsonError as error:
        raise fault(JournalFault.NOISE, f"not a record ({error})") from None
    if not isinstance(data, dict) or set(data) != _LINE_KEYS or not _is_kind(data, form):
        raise fault(JournalFault.NOISE, f"not a record of a {form.noun}")
    if not _is_count(data["sequence"]) or data["sequence"] != number:
        raise fault(JournalFault.SEQUENCE, f"holds record {data['sequence']!r}, not {number}")
    kind = form.kinds(data["kind"])
    if _digest(previous, number, kind, data["payload"]) != data["digest"]:
        detail = "the digest does not fit this record and the one before it"
        raise fault(JournalFault.CHAIN, detail)
    record = Record(number, kind, data["payload"], data["digest"])
    if encode_line(record) != line + b"\n":
        raise fault(JournalFault.NOT_CANONICAL, "the record is not written in canonical form")
    return record


def _is_kind(line: dict[str, Any], form: ChainForm) -> bool:
    return isinstance(line["kind"], str) and line["kind"] in form.kinds


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _decode_head(path: Path, content: bytes | None, form: ChainForm, *, empty: bool) -> Head:
    """The head file's content; a journal without any byte needs none."""
    where = head_path(path)
    if content is None:
        if empty:
            return Head(digest=form.genesis)
        detail = "the head is missing, so a cut at a line could not be seen"
        raise JournalError(where, JournalFault.HEAD_MISSING, detail)
    try:
        data = loads_strict(content)
        repairs = tuple(Repair(**row) for row in data["repairs"])
        head = Head(data["count"], data["digest"], repairs)
        sound = _is_count(head.count) and head.to_bytes() == content
    except (StrictJsonError, CanonicalError, TypeError, KeyError):
        sound = False
    if not sound:
        raise JournalError(where, JournalFault.HEAD_DAMAGED, "the head is damaged")
    return head


def _check_head(path: Path, head: Head, records: list[Record], *, torn: bool) -> None:
    """Compare what the head names with what is there."""
    count = len(records)
    if head.count > count + torn:
        detail = f"the head names {head.count} records, but only {count} are left"
        raise JournalError(path, JournalFault.SHRUNK, detail, count + 1)
    if 0 < head.count <= count and records[head.count - 1].digest != head.digest:
        detail = "the digest is not the one that the head names"
        raise JournalError(path, JournalFault.HEAD_DIFFERS, detail, head.count)


def difference(record: Record, kind: StrEnum, payload: Any) -> str:
    """How a record differs from what came again, in words without any recorded text."""
    if kind is not record.kind:
        return f"a {record.kind} is recorded, a {kind} came"
    places = ", ".join(_differing(record.payload, payload, "")[:5])
    hashes = f"recorded {canonical_sha256([record.payload])[:12]}"
    return f"the {kind} differs in {places} ({hashes}, now {canonical_sha256([payload])[:12]})"


def _differing(recorded: Any, now: Any, place: str) -> list[str]:
    """Key paths at which two pieces of plain data differ."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        missing = object()
        return [
            found
            for key in sorted(recorded.keys() | now.keys())
            for found in _differing(
                recorded.get(key, missing), now.get(key, missing), f"{place}.{key}"
            )
        ]
    if isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        pairs = enumerate(zip(recorded, now, strict=True))
        return [f for i, (r, n) in pairs for f in _differing(r, n, f"{place}[{i}]")]
    same = type(recorded) is type(now) and recorded == now
    return [] if same else [place.removeprefix(".") or "everything"]
