"""What one language model's campaign asked, answered, did and cost, counted from its transcript.

The records alone decide: a count never comes from the run itself. Tokens and money are summed over
what the endpoint told, None where it told nothing, and the answers and attempts about which nothing
is known are counted beside them. Every sum is also taken over the beginning that both branches of a
campaign share, so that totals over branches need not count it twice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from slowlab.agents.messages import Stage
from slowlab.agents.outages import AttemptFault
from slowlab.agents.parser import REPLY_LIMITS
from slowlab.agents.predictor_use import PREDICTOR, ReadingsSoFar
from slowlab.agents.prices import CostSource
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.budget import ActionKind
from slowlab.campaign.errors import ErrorKind
from slowlab.campaign.journal_format import Record
from slowlab.canonical import StrictJsonError, loads_strict

FLAGS = ("forced_advance", "context_exhausted", "identical_errors", "incumbent_recommended")
"""Flags that are counted by name."""
COUNTS = (
    "model_calls",
    *(f"calls_{stage}" for stage in Stage),
    "prompt_characters",
    "answers",
    "answers_of_unknown_length",
    "attempts",
    "failed_attempts",
    *(f"failed_{fault}" for fault in AttemptFault),
    "attempts_of_unknown_cost",
    "faulty_answers_used",
    "blocked",
    "format_errors",
    "actions",
    "invalid_actions",
    "observe_calls",
    "raw_records",
    "daily_rows",
    "tool_calls",
    "tool_errors",
    "predictor_attempts",
    "predictor_with_readings",
    "predictor_outputs",
    "predictor_outputs_with_readings",
    "notes_updates",
    "incumbents",
    "probes",
    *FLAGS,
    "records",
)
"""Names of all counts."""
SUMS = ("prompt_tokens", "completion_tokens", "cost_usd")
"""Names of all sums of which parts, or everything, may be unknown."""
SHARED = (
    "model_calls",
    *(f"calls_{stage}" for stage in Stage),
    "prompt_characters",
    *SUMS,
    "answers",
    "answers_of_unknown_length",
    "attempts",
    "attempts_of_unknown_cost",
    "failed_attempts",
    *(f"failed_{fault}" for fault in AttemptFault),
    "blocked",
    "format_errors",
    "actions",
    "invalid_actions",
    "tool_calls",
    "tool_errors",
    "records",
)
"""Names that are also counted over the shared beginning."""

_TELLING = (TranscriptKind.HEADER, TranscriptKind.ASSIGNMENT)


def transcript_counts(records: Sequence[Record]) -> dict[str, int | float | None]:
    """All counts and sums of one transcript.

    Args:
        records: its records, oldest first.

    Returns:
        Every name of :data:`COUNTS` and :data:`SUMS`; a sum is None where nothing is known of it.
    """
    tally = _Tally(_readings(records))
    for record in records:
        tally.take(record)
    return tally.result()


def shared_records(records: Sequence[Record]) -> list[Record]:
    """The beginning that both branches share: everything before the condition is told."""
    return list(takewhile(lambda record: record.kind is not TranscriptKind.ASSIGNMENT, records))


def transcript_header(records: Sequence[Record]) -> Mapping[str, Any]:
    """What the transcript says about itself; empty without a header."""
    return next((record.payload for record in records if record.kind is TranscriptKind.HEADER), {})


def transcript_ending(records: Sequence[Record]) -> str:
    """How the campaign ended, in one word; empty where it has not ended."""
    endings = [
        record.payload["ending"] for record in records if record.kind is TranscriptKind.ENDING
    ]
    return str(endings[-1]) if endings else ""


def transcript_feedback(records: Sequence[Record]) -> str:
    """The feedback condition that was told; empty where none was."""
    return next(
        (str(r.payload["feedback"]) for r in records if r.kind is TranscriptKind.ASSIGNMENT), ""
    )


def transcript_task(records: Sequence[Record]) -> Mapping[str, Any] | None:
    """The public task as it was told last; None where the transcript holds none."""
    told = [r.payload["task"] for r in records if r.kind in _TELLING and "task" in r.payload]
    return told[-1] if told else None


def _readings(records: Sequence[Record]) -> ReadingsSoFar:
    """Nothing read yet, under the calendar that the transcript tells."""
    told = transcript_task(records)
    return ReadingsSoFar.of_rules() if told is None else ReadingsSoFar.of_task(told)


class _Tally:
    """Counts so far.

    Args:
        readings: follows what was read.
    """

    def __init__(self, readings: ReadingsSoFar) -> None:
        self._readings = readings
        self._key, self._unknown = "", False
        self._notes: str | None = None
        self._told_notes: str | None = None
        self._counts: Counter[str] = Counter()
        self._known: dict[str, list[float]] = {name: [] for name in SUMS}
        self._takers: dict[Any, Callable[[Mapping[str, Any]], None]] = {
            TranscriptKind.CALL: self._call,
            TranscriptKind.ATTEMPT: self._attempt,
            TranscriptKind.FAILED_ATTEMPT: self._failed_attempt,
            TranscriptKind.REPLY: self._reply,
            TranscriptKind.EXCHANGE: self._exchange,
            TranscriptKind.TOOL: self._tool,
            TranscriptKind.ERROR: self._error,
            TranscriptKind.INCUMBENT: self._incumbent,
            TranscriptKind.PROBE: self._probe,
            TranscriptKind.FLAG: self._flag,
        }

    def take(self, record: Record) -> None:
        """Enter one record."""
        self._counts["records"] += 1
        taker = self._takers.get(record.kind)
        if taker is not None:
            taker(record.payload)

    def result(self) -> dict[str, int | float | None]:
        """All names with their counts and sums."""
        self._keep_notes()
        counts, sums = self._counts.copy(), {}
        answered = counts["answers"] + counts["failed_attempts"]
        counts["attempts_of_unknown_cost"] += counts["attempts"] - answered
        unknown = {"cost_usd": counts["attempts_of_unknown_cost"]}
        for name, found in self._known.items():
            gaps = unknown.get(name, counts["answers_of_unknown_length"])
            sums[name] = math.fsum(found) if found or not gaps else None
        return {**{name: counts[name] for name in COUNTS}, **sums}

    def _call(self, told: Mapping[str, Any]) -> None:
        self._key = ""
        self._keep_notes()
        self._counts["model_calls"] += 1
        self._counts[f"calls_{told['stage']}"] += 1
        self._counts["prompt_characters"] += told["characters"]

    def _attempt(self, told: Mapping[str, Any]) -> None:
        """An attempt under the key of the failed one before it is billed together with that one."""
        self._counts["attempts"] += 1
        if self._unknown and told["key"] == self._key:
            self._counts["attempts_of_unknown_cost"] -= 1
        self._key, self._unknown = told["key"], False

    def _failed_attempt(self, told: Mapping[str, Any]) -> None:
        self._counts["failed_attempts"] += 1
        self._counts[f"failed_{told['fault']}"] += 1
        self._cost(told)
        if told["reply"] is not None:
            self._usage(told["reply"]["usage"])

    def _reply(self, told: Mapping[str, Any]) -> None:
        self._counts["answers"] += 1
        self._counts["faulty_answers_used"] += told["used_although"] is not None
        self._told_notes = _notes_in(told["reply"])
        self._cost(told)
        self._usage(told["reply"]["usage"])

    def _cost(self, told: Mapping[str, Any]) -> None:
        self._unknown = told["cost_usd"] is None
        self._counts["attempts_of_unknown_cost"] += self._unknown
        if not self._unknown and told["cost_source"] != CostSource.NOT_BILLED:
            self._known["cost_usd"].append(told["cost_usd"])

    def _usage(self, usage: Mapping[str, Any]) -> None:
        known = [name for name in SUMS[:2] if usage[name] is not None]
        for name in known:
            self._known[name].append(usage[name])
        self._counts["answers_of_unknown_length"] += len(known) < 2

    def _exchange(self, told: Mapping[str, Any]) -> None:
        action, reply = told["action"], told["reply"]
        if not reply["ok"]:
            invalid = reply["error"]["kind"] == ErrorKind.INVALID_ACTION
            self._counts["invalid_actions"] += invalid
            return
        self._counts["actions"] += 1
        if action["action"] == ActionKind.OBSERVE:
            self._counts["observe_calls"] += 1
            records = reply["result"].get("records")
            if records:
                kind = "raw_records" if records["resolution"] == "raw" else "daily_rows"
                self._counts[kind] += len(records["rows"])
        self._readings.take(action, reply)

    def _tool(self, told: Mapping[str, Any]) -> None:
        ok = told["reply"]["ok"]
        self._counts["tool_calls"] += 1
        self._counts["tool_errors"] += not ok
        if told["tool"] == PREDICTOR:
            arguments = told["arguments"]
            enough = self._readings.enough(arguments.get("unit"), arguments.get("run_index"))
            self._counts["predictor_attempts"] += 1
            self._counts["predictor_outputs"] += ok
            self._counts["predictor_with_readings"] += enough
            self._counts["predictor_outputs_with_readings"] += enough and ok

    def _keep_notes(self) -> None:
        """Count the notes of the last answer, unless they are the old ones or it was of no use."""
        told, self._told_notes = self._told_notes, None
        if told is not None and told != self._notes:
            self._notes = told
            self._counts["notes_updates"] += 1

    def _error(self, told: Mapping[str, Any]) -> None:
        self._told_notes = None
        self._counts["format_errors"] += told["kind"] == "format_error"

    def _incumbent(self, told: Mapping[str, Any]) -> None:
        self._counts["incumbents"] += 1

    def _probe(self, told: Mapping[str, Any]) -> None:
        self._counts["probes"] += 1

    def _flag(self, told: Mapping[str, Any]) -> None:
        self._counts[str(told["flag"])] += 1


def _notes_in(reply: Mapping[str, Any]) -> str | None:
    """The notes that an answer brings; read by the rule of the parser, never refused here."""
    calls = reply["function_calls"]
    text = calls[0]["arguments"] if calls else reply["text"]
    begin, end = text.find("{"), text.rfind("}")
    try:
        given = loads_strict(text[begin : end + 1], REPLY_LIMITS)
    except StrictJsonError:
        return None
    notes = given.get("notes") if isinstance(given, dict) else None
    return notes if isinstance(notes, str) else None
