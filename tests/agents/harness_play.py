"""Campaigns of scripted models on the fake facility: the real harness, executor and tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slowlab.agents.budgets import HarnessBudgets
from slowlab.agents.course import course
from slowlab.agents.harness import Harness
from slowlab.agents.messages import FunctionCall, ModelCall, ModelReply, Role, Stage
from slowlab.agents.profile import HarnessProfile, load_profile
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.executor import Executor
from slowlab.campaign.history import History
from slowlab.campaign.session import ToolCall
from slowlab.canonical import canonical_json
from slowlab.config import CONFIG_ROOT
from slowlab.methods._base import Campaign, watched
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.tools.toolbox import Toolbox
from slowlab.world.contract import Contract, load_contract
from slowlab.world.economics import Prices
from slowlab.world.sensors import load_sensors
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import FakeFacility, step

RULES = load_contract()
SENSORS = load_sensors()
POLICY = RULES.fixed_reference.model_dump()
WARM = {**POLICY, "day_temperature_c": 25.0}
COOL = {**POLICY, "day_temperature_c": 20.0}
LAST_DAY = RULES.calendar.campaign_days
ARTIFACTS = ArtifactFolder(CONFIG_ROOT / "artifacts" / "v8", RULES.id)

Answers = Callable[[Stage, ModelCall], Any]
"""What a scripted model says to a prompt: a reply, plain data, or text."""


def campaign(name: str, *, reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """A reply that is a campaign action."""
    return _said({"type": "campaign", "action": {"action": name, **fields}}, reason)


def tool(name: str, *, reason: str | None = None, **arguments: Any) -> dict[str, Any]:
    """A reply that uses a tool."""
    return _said({"type": "tool", "name": name, "args": arguments}, reason)


def _said(reply: dict[str, Any], reason: str | None) -> dict[str, Any]:
    return reply if reason is None else {**reply, "reason": reason}


INITIAL = {"type": "initial_recommendation", "policy": COOL, "reason": "a guess"}
DONE = {"type": "design_complete"}
RECOMMEND = campaign("recommend", policy=WARM)
FINISH = [campaign("advance", day=LAST_DAY), RECOMMEND]


def start(unit: int = 0, policy: Mapping[str, float] = POLICY) -> dict[str, Any]:
    """Plant a crop."""
    return campaign("start", unit=unit, policy=dict(policy))


def advance(day: float) -> dict[str, Any]:
    """Let time pass."""
    return campaign("advance", day=day)


def as_reply(said: Any) -> ModelReply:
    """What a scripted model says, as a reply."""
    if isinstance(said, ModelReply):
        return said
    return ModelReply(said if isinstance(said, str) else json.dumps(said))


def as_function(said: Mapping[str, Any]) -> ModelReply:
    """A reply of the text form as the call of a function."""
    rest = {name: said[name] for name in ("reason", "notes", "incumbent") if name in said}
    if said["type"] == "campaign":
        fields = dict(said["action"])
        name = fields.pop("action")
    elif said["type"] == "tool":
        name, fields = said["name"], said.get("args", {})
    else:
        name = said["type"]
        fields = {"policy": said["policy"]} if "policy" in said else {}
    return ModelReply("", (FunctionCall(name, json.dumps({**fields, **rest})),))


def in_order(steps: Iterable[Any], otherwise: Any = RECOMMEND) -> Answers:
    """A model that answers each stage's own question and then goes through a list of steps."""
    rest = iter(steps)

    def answer(stage: Stage, call: ModelCall) -> Any:
        if stage is Stage.INITIAL:
            return INITIAL
        if stage is Stage.DESIGN:
            return DONE
        return next(rest, otherwise)

    return answer


@dataclass
class FakeDialogue:
    """A conversation without transcript: a scripted model, and everything that was said.

    Attributes:
        answers: the model.
        asked: stage and call of every question.
        notes: kind and payload of everything else that would be recorded.
    """

    answers: Answers
    asked: list[tuple[Stage, ModelCall]] = field(default_factory=list)
    notes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def ask(self, stage: Stage, call: ModelCall) -> ModelReply:
        """Let the model answer."""
        self.asked.append((stage, call))
        return as_reply(self.answers(stage, call))

    def note(self, kind: TranscriptKind, payload: Mapping[str, Any]) -> None:
        """Keep what would be recorded."""
        self.notes.append((kind.value, json.loads(canonical_json(dict(payload)))))


@dataclass
class Played:
    """A campaign that has been played.

    Attributes:
        dialogue: what was said.
        harness: the harness.
        executor: the campaign.
        initial: the recommendation from before the experiments.
        ending: what the season returned.
    """

    dialogue: FakeDialogue
    harness: Harness
    executor: Executor
    initial: list[Any]
    ending: Any = None

    def stages(self) -> list[str]:
        """Stages of all questions, in order."""
        return [stage.value for stage, _ in self.dialogue.asked]

    def calls(self, stage: Stage) -> list[ModelCall]:
        """Questions of one stage."""
        return [call for asked, call in self.dialogue.asked if asked is stage]

    def last_messages(self, stage: Stage) -> list[dict[str, Any]]:
        """Last messages of the questions of a stage."""
        return [json.loads(call.messages[-1].content) for call in self.calls(stage)]

    def noted(self, kind: str) -> list[dict[str, Any]]:
        """Payloads of one kind."""
        return [payload for name, payload in self.dialogue.notes if name == kind]

    def actions(self) -> list[Any]:
        """Names of all actions that reached the campaign."""
        return [note["action"]["action"] for note in self.noted("exchange")]

    def flags(self) -> list[str]:
        """Flags, in order."""
        return [note["flag"] for note in self.noted("flag")]


def profile(name: str = "digest_notes", **changes: Any) -> HarnessProfile:
    """A profile with other budgets (by name), or with other members."""
    base = load_profile(name)
    budgets = {k: v for k, v in changes.items() if k in HarnessBudgets.model_fields}
    others = {k: v for k, v in changes.items() if k not in HarnessBudgets.model_fields}
    wanted = base.model_dump(mode="json") | others
    wanted["budgets"] = base.budgets.model_dump() | budgets
    return HarnessProfile.model_validate_json(canonical_json(wanted))


def play(
    answers: Answers | Sequence[Any],
    used: HarnessProfile | None = None,
    *,
    feedback: Feedback = Feedback.FULL,
    rules: Contract = RULES,
    prices: Prices | None = None,
    reference: Any = None,
    seed: int | None = 7,
    **fake: Any,
) -> Played:
    """Play one campaign from the initial recommendation to its end.

    Args:
        answers: the model; a list is gone through in design and season alike.
        used: the profile.
        feedback: assigned after the design.
        rules: the contract.
        prices: of the site.
        reference: fixed reference policy.
        seed: generation seed.
        fake: of the fake facility.
    """
    model = answers if callable(answers) else _list(answers)
    costs = prices or rules.economics.default_prices
    facility = FakeFacility(rules, costs, **fake)
    executor = Executor.open(
        facility,
        rules,
        SENSORS,
        costs,
        Feedback.UNASSIGNED,
        rules.fixed_reference,
        shuffle_key="",
        stepping=step,
    )
    history, dialogue = History(executor.task()), FakeDialogue(model)
    seen = Campaign(history)
    harness = Harness(used or profile(), dialogue, seen, seed, reference)
    played = Played(dialogue, harness, executor, [])

    def freeze(policy: Any) -> None:
        played.initial.append(policy)
        assert executor.freeze_initial_recommendation(policy) is None

    def assign() -> dict[str, Any]:
        executor.assign_feedback(feedback)
        return executor.task()

    steps = watched(course(harness, seen, freeze_initial=freeze, assign=assign), history)
    toolbox = Toolbox(history, ARTIFACTS, 1)
    played.ending = _drive(steps, executor, toolbox)
    return played


def _list(steps: Sequence[Any]) -> Answers:
    rest = iter(steps)

    def answer(stage: Stage, call: ModelCall) -> Any:
        return INITIAL if stage is Stage.INITIAL else next(rest)

    return answer


def _drive(steps: Any, executor: Executor, toolbox: Toolbox) -> Any:
    """Answer every step until there is none."""
    try:
        item = next(steps)
        while True:
            reply = toolbox(item) if isinstance(item, ToolCall) else executor.dispatch(item)
            item = steps.send(reply)
    except StopIteration as end:
        return end.value


def text_of(call: ModelCall) -> str:
    """All that a prompt says, but for what the model said itself."""
    return "\n".join(m.content for m in call.messages if m.role is not Role.ASSISTANT)


def system_task(call: ModelCall) -> dict[str, Any]:
    """The task in the system message."""
    lines = call.messages[0].content.splitlines()
    return json.loads(next(line for line in lines if line.startswith('{"actions":')))
