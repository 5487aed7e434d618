"""A transcript as turns, ready to be shown: what was asked, what came back, what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slowlab.agents.steps import Step, transcript_steps
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.journal_format import Record


@dataclass(frozen=True)
class ShownMessage:
    """One message of a prompt.

    Attributes:
        role: who speaks.
        name: short name of the text, by which it is linked.
        text: the text; None where an earlier turn shows it.
        first: number of the turn that shows it.
    """

    role: str
    name: str
    text: str | None
    first: int

    @property
    def characters(self) -> int:
        """Length of a text that is shown here."""
        return len(self.text or "")


@dataclass(frozen=True)
class ShownStep:
    """A step with the whole result behind it."""

    step: Step
    detail: str


@dataclass
class Turn:
    """One call and all that followed from it; number 0 is what came before the first call.

    Attributes:
        number: number of the call, from 1.
        day: day on which it was made.
        stage: stage of the campaign.
        messages: the prompt.
        extras: what else was sent, such as an answer's schema, by what it is.
        characters: length of the prompt.
        failed: failed attempts, each with its fault and detail.
        answer: the answer as it came; None where there was none.
        functions: functions that were called instead, each with its arguments.
        facts: what the endpoint told about the answer, by name.
        although: why the answer is faulty; empty for a whole one.
        steps: what followed.
    """

    number: int
    day: float = 0.0
    stage: str = ""
    messages: list[ShownMessage] = field(default_factory=list)
    extras: list[ShownMessage] = field(default_factory=list)
    characters: int = 0
    failed: list[Mapping[str, Any]] = field(default_factory=list)
    answer: str | None = None
    functions: list[Mapping[str, str]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    although: str = ""
    steps: list[ShownStep] = field(default_factory=list)

    @property
    def marks(self) -> list[str]:
        """What is out of the ordinary in the turn, in a word each."""
        marks = ["failed attempt"] if self.failed else []
        marks += ["faulty answer used"] if self.although else []
        marks += ["flag" for shown in self.steps if shown.step.kind == TranscriptKind.FLAG]
        marks += ["error" for shown in self.steps if not shown.step.ok]
        return list(dict.fromkeys(marks))


def transcript_turns(records: Sequence[Record]) -> list[Turn]:
    """All turns of a transcript, oldest first; a text is shown where it was sent first."""
    steps = {step.sequence: step for step in transcript_steps(records)}
    turns, shown = [Turn(0)], dict[str, int]()
    day = 0.0
    for record in records:
        if record.kind is TranscriptKind.CALL:
            turns.append(_asked(len(turns), day, record.payload, shown))
        elif record.kind is TranscriptKind.FAILED_ATTEMPT:
            turns[-1].failed.append(_failed(record.payload))
        elif record.kind is TranscriptKind.REPLY:
            _answered(turns[-1], record.payload)
        elif record.sequence in steps:
            turns[-1].steps.append(ShownStep(steps[record.sequence], _detail(record)))
            day = _day_after(day, record)
    return turns if turns[0].steps else turns[1:]


def _asked(number: int, day: float, told: Mapping[str, Any], shown: dict[str, int]) -> Turn:
    texts = told["texts"]

    def message(role: str, key: str) -> ShownMessage:
        text = None if key in shown else texts.get(key)
        return ShownMessage(role, key[:16], text, shown.setdefault(key, number))

    extras = {"answer's schema": "response_schema_sha256", "functions": "functions_sha256"}
    return Turn(
        number=number,
        day=day,
        stage=str(told["stage"]),
        messages=[message(item["role"], item["sha256"]) for item in told["messages"]],
        extras=[message(what, told[key]) for what, key in extras.items() if told.get(key)],
        characters=told["characters"],
    )


def _failed(told: Mapping[str, Any]) -> dict[str, str]:
    reply = told["reply"]
    return {
        "number": str(told["number"]),
        "fault": str(told["fault"]).replace("_", " "),
        "detail": str(told["detail"] or ""),
        "answer": "" if reply is None else str(reply["text"]),
    }


def _answered(turn: Turn, told: Mapping[str, Any]) -> None:
    reply, usage = told["reply"], told["reply"]["usage"]
    turn.answer = reply["text"]
    turn.functions = list(reply["function_calls"])
    turn.although = str(told["used_although"] or "").replace("_", " ")
    facts = {
        "attempt": told["number"],
        "ended": reply["finish_reason"],
        "model": reply["served_model"],
        "provider": reply["provider"],
        "prompt tokens": usage["prompt_tokens"],
        "answer tokens": usage["completion_tokens"],
        "hidden reasoning tokens": usage["reasoning_tokens"],
        "USD": told["cost_usd"],
    }
    turn.facts = {name: str(value) for name, value in facts.items() if value is not None}


def _detail(record: Record) -> str:
    """The record itself, for whoever wants to see everything."""
    told = {key: value for key, value in record.payload.items() if key != "task"}
    return json.dumps(told, ensure_ascii=True, sort_keys=True, indent=1)


def _day_after(day: float, record: Record) -> float:
    reply = record.payload.get("reply") if record.kind is TranscriptKind.EXCHANGE else None
    return float(reply["result"]["day"]) if reply and reply["ok"] else day
