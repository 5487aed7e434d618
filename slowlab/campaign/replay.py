"""Running a journal's requests again: to resume a campaign, and to check every recorded byte.

Both are the same walk over the records, :func:`recorded_actions`. On resuming, the session's
recorder is the journal itself, which compares what comes again with what it holds and then goes on
appending. On checking, it is a :class:`Comparison`, which notes every difference and writes
nothing; many journals are checked in lockstep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from slowlab.campaign.errors import Reason
from slowlab.campaign.journal import Journal
from slowlab.campaign.journal_format import JournalContent, Record, RecordKind, difference
from slowlab.campaign.pool import Ending, Entry, PoolProgress, PoolResult, Steps, run_pool
from slowlab.campaign.session import DayProgress, Session, ToolCall, ToolHandler
from slowlab.canonical import canonical_json, loads_strict
from slowlab.world.task import Feedback


class Skipping(Protocol):
    """A recorder that follows records and may pass over one."""

    def skip(self) -> None:
        """Pass over the next record."""


@dataclass(frozen=True)
class Mismatch:
    """A record that came out otherwise.

    Attributes:
        line: its line in the journal.
        kind: what it is.
        detail: the difference in words.
    """

    line: int
    kind: RecordKind
    detail: str

    def sentence(self) -> str:
        """The difference with its place."""
        return f"line {self.line}: {self.detail}"


@dataclass(frozen=True)
class ReplayReport:
    """What running a journal again has shown.

    Attributes:
        path: the journal.
        records: its records.
        compared: how many of them were run again and compared; the others are uses of tools and
            texts that were no actions.
        mismatches: all differences.
        notes: what else a reader must know.
    """

    path: Path
    records: int
    compared: int
    mismatches: tuple[Mismatch, ...]
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether everything came out the same."""
        return not self.mismatches


class Comparison:
    """A recorder that compares with recorded records and writes nothing.

    Attributes:
        mismatches: differences so far.
        notes: remarks so far.
        compared: records compared so far.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records
        self._position = 0
        self.mismatches: list[Mismatch] = []
        self.notes: list[str] = []
        self.compared = 0

    @property
    def line(self) -> int:
        """Line of the next record."""
        return self._position + 1

    def put(self, kind: RecordKind, payload: Any) -> None:
        """Compare; a reply beyond the last record is the one that was never written."""
        if self._position >= len(self._records):
            return
        record = self._records[self._position]
        self._position += 1
        self.compared += 1
        if kind is record.kind and kind in _NAMING_THE_BUILD:
            payload = self._with_their_build(record, payload)
        if not record.holds(kind, payload):
            detail = difference(record, kind, payload)
            self.mismatches.append(Mismatch(record.sequence, record.kind, detail))

    def skip(self) -> None:
        """Pass over the next record."""
        self._position += 1

    def close(self) -> None:
        """Do nothing."""

    def _with_their_build(self, record: Record, payload: Any) -> Any:
        """Another build is a remark, not a difference: the replies tell whether it matters."""
        theirs, mine = _build(record.kind, record.payload), _build(record.kind, payload)
        if theirs is None or mine is None or theirs == mine:
            return payload
        if record.kind is RecordKind.HEADER:
            names = sorted(k for k in {*theirs, *mine} if theirs.get(k) != mine.get(k))
            self.notes.append(f"recorded by another build: {', '.join(names)} differ")
            return {**payload, "build": theirs}
        return {**payload, "private": {**payload["private"], "build": theirs}}


_NAMING_THE_BUILD = (RecordKind.HEADER, RecordKind.SETTLEMENT)


def _build(kind: RecordKind, payload: Any) -> dict[str, Any] | None:
    """The build that a header or a settlement names."""
    place = payload if kind is RecordKind.HEADER else payload.get("private", {})
    build = place.get("build")
    return build if isinstance(build, dict) else None


def recorded_actions(
    session: Session,
    records: Sequence[Record],
    recorder: Skipping,
    tools: ToolHandler | None = None,
) -> Steps:
    """Yield the recorded actions, in their order, for a session on a fresh facility.

    Everything else is done on the way: the feedback mode is assigned, tools are used again where
    they are given, and texts that were no actions are passed over. A settlement is left to the
    caller.

    Args:
        session: the campaign; its header has been recorded.
        records: all records, the header first.
        recorder: the session's recorder.
        tools: answers recorded tool calls, which are compared like actions; by default they are
            passed over.
    """
    for record in records[1:]:
        if session.failure is not None:
            return
        if record.kind is RecordKind.REQUEST:
            yield canonical_json(record.payload)
        elif record.kind is RecordKind.INITIAL:
            session.freeze_initial_recommendation(record.payload["policy"])
        elif record.kind is RecordKind.ASSIGNMENT:
            session.assign_feedback(Feedback(record.payload["feedback"]))
        elif record.kind is RecordKind.REFUSED:
            if record.payload.get("reason") == Reason.MALFORMED.value:
                session.repeat_malformed()
            recorder.skip()
        elif record.kind is RecordKind.TOOL_REQUEST and tools is not None:
            call = ToolCall(record.payload["tool"], record.payload["arguments"])
            session.use_tool(call, tools)
        elif record.kind in (RecordKind.TOOL_REQUEST, RecordKind.TOOL_REPLY) and tools is None:
            recorder.skip()


@dataclass(frozen=True)
class Resumed:
    """Where a resumed campaign stands; its agent may have missed the last reply.

    Attributes:
        actions: number of actions that were taken before.
        last_action: the last of them, as plain data.
        last_reply: its reply, as plain data.
    """

    actions: int
    last_action: Any
    last_reply: Any


def catch_up(
    session: Session,
    journal: Journal,
    on_day: DayProgress | None = None,
    tools: ToolHandler | None = None,
) -> Resumed:
    """Bring a freshly opened session to where its journal ends.

    A campaign that takes another course than its journal freezes the session.

    Args:
        session: recorded by the journal, of which only the header has been followed.
        journal: the journal.
        on_day: called while time passes.
        tools: the campaign's tools, which must also be brought to where they stood.
    """
    actions, last_action, last_reply = 0, None, None
    for action in recorded_actions(session, journal.recorded, journal, tools):
        last_action, last_reply = action, session.dispatch(action, on_day).payload()
        actions += 1
    return Resumed(actions, None if last_action is None else loads_strict(last_action), last_reply)


def replay_journals(
    contents: Mapping[Path, JournalContent],
    open_session: Callable[[Record, Comparison], Session],
    *,
    progress: Callable[[PoolProgress], None] | None = None,
    on_day: DayProgress | None = None,
) -> list[ReplayReport]:
    """Run the requests of journals again and compare every reply, byte by byte.

    Args:
        contents: verified journals by path; none of them empty.
        open_session: opens the campaign of a header on a fresh facility.
        progress: called after every joint advance.
        on_day: called while time passes.
    """
    comparisons = {path: Comparison(content.records) for path, content in contents.items()}
    entries = []
    for path, content in contents.items():
        session = open_session(content.records[0], comparisons[path])
        steps = recorded_actions(session, content.records, comparisons[path])
        settled = content.records[-1].kind is RecordKind.SETTLEMENT
        entries.append(Entry(str(path), session, steps, settle=settled))
    results = run_pool(entries, progress=progress, on_day=on_day)
    return [
        _report(path, content, comparisons[path], result)
        for (path, content), result in zip(contents.items(), results, strict=True)
    ]


def _report(
    path: Path, content: JournalContent, comparison: Comparison, result: PoolResult
) -> ReplayReport:
    """What one journal has shown; a replay that could not go on is a difference too."""
    mismatches, count = list(comparison.mismatches), len(content.records)
    stopped = result.failure or result.error
    if stopped is not None and comparison.line <= count:
        record = content.records[comparison.line - 1]
        mismatches.append(
            Mismatch(record.sequence, record.kind, f"could not be run again: {stopped}")
        )
    passed_over = count - comparison.compared
    notes = [*content.notes, *comparison.notes]
    if passed_over and result.ending is not Ending.INFRASTRUCTURE_FAILURE:
        notes.append(f"{passed_over} records of tools and of texts that are no actions: not rerun")
    return ReplayReport(path, count, comparison.compared, tuple(mismatches), tuple(notes))
