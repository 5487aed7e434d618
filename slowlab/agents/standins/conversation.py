"""What a script reads in the messages of one request, always by name.

Nothing else reaches a script: equal messages and an equal seed give an equal answer. Whatever is
missing or unreadable is taken as empty, so that a script never fails on an odd prompt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slowlab.campaign.history import History

TASK_LINE = '{"actions":'
"""How the line of the system message begins that holds the public task."""
_MOST_COMPARTMENTS = 64
_TOO_LARGE = 1e12


@dataclass(frozen=True)
class Turn:
    """One answer and what it led to, both empty where they are not readable."""

    said: dict[str, Any]
    told: dict[str, Any]

    @property
    def passed_time(self) -> bool:
        """Whether it let time pass."""
        advanced = _part(self.said, "action").get("action") == "advance"
        return advanced and self.told.get("kind") == "result"


@dataclass(frozen=True)
class Conversation:
    """One request to a script.

    Attributes:
        task: the public task; empty where none was sent.
        stage: stage of the campaign as the last message names it, or an empty text.
        state: digest of the campaign.
        packet: evidence to read, in the stage ``reading``.
        turns: its answers so far, as far as they are shown, each with what it led to.
        keeps_notes: whether the system message offers notes.
        seed: generation seed; 0 where none was sent.
        characters: length of all messages.
    """

    task: dict[str, Any]
    stage: str
    state: dict[str, Any]
    packet: dict[str, Any]
    turns: tuple[Turn, ...]
    keeps_notes: bool
    seed: int
    characters: int

    @classmethod
    def read(cls, messages: Sequence[Mapping[str, Any]], seed: int | None = None) -> Conversation:
        """Read the messages of a request.

        Args:
            messages: objects with ``role`` and ``content``.
            seed: generation seed.
        """
        texts = [(str(item.get("role", "")), _text(item.get("content"))) for item in messages]
        rules = "\n".join(text for role, text in texts if role == "system")
        users = [text for role, text in texts if role == "user"]
        final = _object(users[-1]) if users else {}
        packet = _part(final, "packet")
        task = _task(rules) or _part(packet, "task")
        turns = _turns(texts, _part(final, "latest_result"))
        state = _part(final, "state")
        return cls(
            task=task,
            stage=str(final.get("stage", "")),
            state=state if "crops" in state else {**_remembered(task, turns), **state},
            packet=packet,
            turns=turns,
            keeps_notes=_offers_notes(rules),
            seed=seed or 0,
            characters=sum(len(text) for _, text in texts),
        )

    @property
    def said(self) -> dict[str, Any]:
        """Its own last answer, or an empty object."""
        return self.turns[-1].said if self.turns else {}

    @property
    def today(self) -> tuple[Turn, ...]:
        """Turns since time passed, as far as they are shown."""
        passed = [place for place, turn in enumerate(self.turns, start=1) if turn.passed_time]
        return self.turns[passed[-1] if passed else 0 :]

    @property
    def day(self) -> float:
        """Today."""
        return number(self.state.get("day"), 0.0)

    @property
    def last_day(self) -> float:
        """Day on which the campaign ends."""
        return number(self.calendar.get("campaign_days"), self.day)

    @property
    def calendar(self) -> dict[str, Any]:
        """Days of the campaign, of a crop and of cleaning, and the latest start."""
        return _part(self.task, "calendar")

    @property
    def second_start_day(self) -> float:
        """First day on which a compartment that was planted on day 0 can be planted again."""
        crop = number(self.calendar.get("crop_days"), self.last_day)
        return crop + number(self.calendar.get("cleaning_days"), 0.0)

    @property
    def reads_records(self) -> bool:
        """Whether records of growing crops can be read now."""
        mode = _part(self.task, "feedback").get("mode")
        return mode in ("full", "delayed") and "channels" in self.task

    @property
    def units(self) -> list[int]:
        """Numbers of the compartments."""
        count = number(_part(self.task, "compartments").get("count"), 1.0)
        return list(range(int(min(max(count, 1.0), _MOST_COMPARTMENTS))))

    @property
    def crops(self) -> list[dict[str, Any]]:
        """Crops so far, from the digest or the packet."""
        return objects(self.state.get("crops") or self.packet.get("crops"))

    @property
    def growing(self) -> list[dict[str, Any]]:
        """Crops that have not closed."""
        return [crop for crop in self.crops if not crop.get("closed")]

    @property
    def unread(self) -> list[dict[str, Any]]:
        """Closed crops whose totals were not read."""
        return [c for c in self.crops if c.get("closed") and c.get("margin_eur_m2") is None]

    @property
    def idle(self) -> list[int]:
        """Compartments in which nothing grows and that are clean."""
        rows = objects(self.state.get("compartments"))
        phases = {number(row.get("unit"), -1.0): row.get("phase") for row in rows}
        busy = {number(crop.get("unit"), -1.0) for crop in self.growing}
        return [u for u in self.units if u not in busy and phases.get(u, "idle") == "idle"]

    def left(self, name: str) -> float:
        """What is left of a budget, as the digest tells it; 0 where it does not."""
        return number(_part(self.state, "left").get(name), 0.0)

    def results(self, member: str) -> list[dict[str, Any]]:
        """Visible results that have a member, oldest first."""
        found = [_part(turn.told, "result") for turn in self.turns]
        return [result for result in found if member in result]

    def next_crop_fits(self) -> bool:
        """Whether a crop that starts today grows to its full length."""
        latest = number(self.calendar.get("latest_start_day"), -1.0)
        crop = number(self.calendar.get("crop_days"), self.last_day)
        return self.day <= latest and self.day + crop <= self.last_day


def number(value: object, otherwise: float) -> float:
    """The value as a number, or another number where it is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < _TOO_LARGE else otherwise


def objects(value: object) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(content: object) -> str:
    """The content of a message; of a list of parts, their texts."""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in objects(content))


def _part(whole: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = whole.get(name)
    return value if isinstance(value, dict) else {}


def _object(text: str) -> dict[str, Any]:
    """The first JSON object in a text, or an empty one."""
    begin = text.find("{")
    try:
        value, _ = json.JSONDecoder().raw_decode(text, begin) if begin >= 0 else ({}, 0)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _task(rules: str) -> dict[str, Any]:
    lines = rules.splitlines()
    return next((_object(line) for line in lines if line.startswith(TASK_LINE)), {})


def _offers_notes(rules: str) -> bool:
    """Whether notes are spoken of outside the task, which has notes of its own."""
    lines = rules.splitlines()
    return any('"notes"' in line for line in lines if not line.startswith(TASK_LINE))


def _turns(texts: Sequence[tuple[str, str]], latest: dict[str, Any]) -> tuple[Turn, ...]:
    """Each answer with the message after it; what the last one led to is in the last message."""
    places = [place for place, (role, _) in enumerate(texts) if role == "assistant"]
    told = [_object(texts[place + 1][1]) for place in places[:-1]] + [latest] * bool(places)
    return tuple(
        Turn(_object(texts[place][1]), result) for place, result in zip(places, told, strict=True)
    )


def _remembered(task: Mapping[str, Any], turns: Sequence[Turn]) -> dict[str, Any]:
    """The digest of the campaign from the turns in sight, where none is given."""
    try:
        history = History(task)
        for turn in turns:
            action, result = _part(turn.said, "action"), _part(turn.told, "result")
            if turn.said.get("type") == "campaign" and result:
                history.add(action, {"ok": True, "result": result})
        return history.digest()
    except (KeyError, TypeError, ValueError):  # no campaign that can be followed
        return {}
