"""A campaign as a list of steps in words, from the records of its transcript or of its journal.

A step is what was done, why, and what came of it. The reason is the model's own text, unchanged;
everything else is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from slowlab.agents.step_words import (
    action_outcome,
    action_words,
    policy_words,
    tool_outcome,
    tool_words,
)
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.budget import ActionKind
from slowlab.campaign.journal_format import Record, RecordKind

MODEL, HARNESS, METHOD = "model", "harness", "method"
"""Who made a step: a language model, the harness for it, or a numerical method."""
TOTALS = "totals"
"""Kind of a read that returned the totals of a closed crop."""


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        sequence: number of its record.
        day: day on which it was made.
        stage: stage of the campaign; empty for a numerical method.
        kind: action, ``tool``, or the kind of the record; ``totals`` for a read of a closed crop.
        by: who made it: ``model``, ``harness`` or ``method``.
        action: what was done.
        reason: why, in the model's own words; empty where none was given.
        outcome: what came of it.
        ok: whether it was carried out.
        rows: rows of records that it returned.
    """

    sequence: int
    day: float
    stage: str
    kind: str
    by: str
    action: str
    reason: str = ""
    outcome: str = ""
    ok: bool = True
    rows: int = 0


def transcript_steps(records: Iterable[Record]) -> list[Step]:
    """Steps of a language model's campaign, oldest first."""
    walk = _TranscriptWalk()
    for record in records:
        walk.take(record)
    return walk.steps


def journal_steps(records: Iterable[Record]) -> list[Step]:
    """Steps of a numerical method's campaign, oldest first; a step without its reply is left out.

    Args:
        records: records of the journal.
    """
    steps, day, asked = [], 0.0, None
    for record in records:
        if record.kind in (RecordKind.REQUEST, RecordKind.TOOL_REQUEST):
            asked = record
        elif record.kind is RecordKind.REPLY and asked is not None:
            action = asked.payload if isinstance(asked.payload, Mapping) else None
            steps.append(_exchange(asked.sequence, day, "", METHOD, action, record.payload))
            day = _day_after(day, record.payload)
            asked = None
        elif record.kind is RecordKind.TOOL_REPLY and asked is not None:
            steps.append(_tool(asked.sequence, day, "", METHOD, asked.payload, record.payload))
            asked = None
        elif record.kind is RecordKind.REFUSED:
            steps.append(_exchange(record.sequence, day, "", METHOD, None, record.payload["reply"]))
    return steps


@dataclass
class _TranscriptWalk:
    """Where the reading of a transcript stands.

    Attributes:
        steps: so far.
        day: today.
        stage: of the last call.
        asked: whether the model was asked since the last step, so that the next one is its own.
    """

    steps: list[Step] = field(default_factory=list)
    day: float = 0.0
    stage: str = ""
    asked: bool = False

    def take(self, record: Record) -> None:
        """Enter one record."""
        if record.kind is TranscriptKind.CALL:
            self.stage, self.asked = str(record.payload["stage"]), True
            return
        makers: dict[Any, Callable[[Record], Step]] = {
            TranscriptKind.EXCHANGE: self._exchange,
            TranscriptKind.TOOL: self._tool,
            TranscriptKind.ERROR: self._error,
            TranscriptKind.INITIAL: self._initial,
            TranscriptKind.INCUMBENT: self._incumbent,
            TranscriptKind.PROBE: self._probe,
            TranscriptKind.ASSIGNMENT: self._assignment,
            TranscriptKind.FLAG: self._flag,
            TranscriptKind.ENDING: self._ending,
        }
        maker = makers.get(record.kind)
        if maker is not None:
            self.steps.append(maker(record))

    def _by(self) -> str:
        """Who makes the next step; a model makes one a call."""
        by = MODEL if self.asked else HARNESS
        self.asked = False
        return by

    def _exchange(self, record: Record) -> Step:
        told, day = record.payload, self.day
        self.day = _day_after(day, told["reply"])
        step = _exchange(
            record.sequence, day, self.stage, self._by(), told["action"], told["reply"]
        )
        return _because(step, told)

    def _tool(self, record: Record) -> Step:
        told = record.payload
        call = {"tool": told["tool"], "arguments": told["arguments"]}
        step = _tool(record.sequence, self.day, self.stage, self._by(), call, told["reply"])
        return _because(step, told)

    def _error(self, record: Record) -> Step:
        told = record.payload
        outcome = f"{told['code']}: {told['message']}".replace("_", " ")
        return self._step(record, self._by(), "gave no usable answer", outcome, ok=False)

    def _initial(self, record: Record) -> Step:
        policy = record.payload["policy"]
        words = policy_words(policy) or "no valid recommendation"
        return self._step(
            record, self._by(), f"recommend before any experiment: {words}", ok=policy is not None
        )

    def _incumbent(self, record: Record) -> Step:
        words = policy_words(record.payload["policy"])
        return self._step(record, MODEL, f"name the best so far: {words}")

    def _probe(self, record: Record) -> Step:
        policy = record.payload["policy"]
        words = policy_words(policy) or "none"
        step = self._step(
            record, self._by(), f"interim recommendation: {words}", ok=policy is not None
        )
        return _because(step, record.payload)

    def _assignment(self, record: Record) -> Step:
        self.asked = False
        feedback = record.payload["feedback"]
        return self._step(record, HARNESS, f"tell the feedback condition: {feedback}")

    def _flag(self, record: Record) -> Step:
        told = record.payload
        words = str(told["flag"]).replace("_", " ")
        return self._step(record, HARNESS, f"flag: {words}", str(told.get("detail") or ""))

    def _ending(self, record: Record) -> Step:
        """The end; a reading ends with its recommendation and the reason for it."""
        told = record.payload
        words = str(told["ending"]).replace("_", " ")
        policy = policy_words(told.get("policy"))
        by = self._by() if policy else HARNESS
        step = self._step(record, by, f"end: {words}" + (f": {policy}" if policy else ""))
        return _because(step, told)

    def _step(
        self, record: Record, by: str, action: str, outcome: str = "", *, ok: bool = True
    ) -> Step:
        return Step(
            sequence=record.sequence,
            day=self.day,
            stage=self.stage,
            kind=record.kind.value,
            by=by,
            action=action,
            outcome=outcome,
            ok=ok,
        )


def _exchange(
    sequence: int,
    day: float,
    stage: str,
    by: str,
    action: Mapping[str, Any] | None,
    reply: Mapping[str, Any],
) -> Step:
    name = (action or {}).get("action")
    kind = str(name) if name in list(ActionKind) else "unreadable"
    if kind == ActionKind.OBSERVE and reply["ok"] and _closed_crop(reply["result"]):
        kind = TOTALS
    words, outcome, ok = action_words(action), action_outcome(action, reply), bool(reply["ok"])
    rows = len((reply["result"].get("records") or {}).get("rows", ())) if ok else 0
    return Step(sequence, day, stage, kind, by, words, outcome=outcome, ok=ok, rows=rows)


def _tool(
    sequence: int,
    day: float,
    stage: str,
    by: str,
    call: Mapping[str, Any],
    reply: Mapping[str, Any],
) -> Step:
    name = call.get("tool")
    words = tool_words(name, call.get("arguments"))
    outcome = tool_outcome(name, reply)
    return Step(sequence, day, stage, "tool", by, words, outcome=outcome, ok=bool(reply["ok"]))


def _because(step: Step, told: Mapping[str, Any]) -> Step:
    """The step with the reason that was given for it."""
    return replace(step, reason=str(told.get("reason") or ""))


def _closed_crop(result: Mapping[str, Any]) -> bool:
    crop = result.get("crop")
    return bool(crop) and crop["state"] == "closed"


def _day_after(day: float, reply: Mapping[str, Any]) -> float:
    return float(reply["result"]["day"]) if reply["ok"] else day
