"""Campaigns of stand-ins on the made-up facility, without HTTP and transcript, so that many are
played in seconds. Stand-ins are scripted programs, not language models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slowlab.agents.client import request_body
from slowlab.agents.completions import read_completion
from slowlab.agents.course import course
from slowlab.agents.harness import AgentEnding, Harness
from slowlab.agents.messages import ModelCall, ModelReply, Stage
from slowlab.agents.models import ModelConfig, model_config
from slowlab.agents.profile import load_profile
from slowlab.agents.standins import model_name
from slowlab.agents.standins.completion import complete
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.executor import Executor
from slowlab.campaign.history import History
from slowlab.campaign.session import ToolCall
from slowlab.methods._base import Campaign, watched
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.tools.toolbox import Toolbox
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import step
from tests.methods.contract_world import ARTIFACTS, PRICES, RULES, SENSORS, ContractFacility

NO_ARTIFACTS = ArtifactFolder(Path("/nowhere"), RULES.id)


@dataclass
class ScriptDialogue:
    """Asks a script with the very request that an endpoint would get.

    Attributes:
        model: the stand-in.
        calls: every question.
        notes: kind and payload of everything that would be recorded beside them.
    """

    model: ModelConfig
    calls: list[ModelCall] = field(default_factory=list)
    notes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def ask(self, stage: Stage, call: ModelCall) -> ModelReply:
        """Let the script answer."""
        self.calls.append(call)
        body = json.dumps(complete(request_body(self.model, call)))
        return read_completion(body.encode())

    def note(self, kind: TranscriptKind, payload: Mapping[str, Any]) -> None:
        """Keep what would be recorded."""
        self.notes.append((kind.value, dict(payload)))


@dataclass
class ScriptedCampaign:
    """A campaign that has been played.

    Attributes:
        dialogue: what was said.
        harness: the harness.
        executor: the campaign.
        history: what was seen.
        ending: how the season ended.
    """

    dialogue: ScriptDialogue
    harness: Harness
    executor: Executor
    history: History
    ending: AgentEnding | None = None

    def noted(self, kind: str) -> list[dict[str, Any]]:
        """Payloads of one kind."""
        return [payload for name, payload in self.dialogue.notes if name == kind]

    def actions(self) -> list[Any]:
        """Actions in order."""
        return [note["action"] for note in self.noted("exchange")]

    def refused(self) -> list[dict[str, Any]]:
        """Actions that were rejected, and why."""
        return [note for note in self.noted("exchange") if not note["reply"]["ok"]]

    def tools(self, *, ok: bool = True) -> list[str]:
        """Names of the tools that were used with success, or without."""
        return [note["tool"] for note in self.noted("tool") if note["reply"]["ok"] is ok]


def play_script(
    script: str, feedback: Feedback, harness: str = "digest_notes", seed: int = 7
) -> ScriptedCampaign:
    """Play one campaign of a stand-in.

    Args:
        script: its name.
        feedback: assigned after the design.
        harness: name of the profile.
        seed: generation seed.
    """
    facility = ContractFacility(RULES, PRICES, grown=[[] for _ in range(4)])
    reference = RULES.fixed_reference
    executor = Executor.open(
        facility, RULES, SENSORS, PRICES, Feedback.UNASSIGNED, reference, stepping=step
    )
    history = History(executor.task())
    campaign, dialogue = Campaign(history), ScriptDialogue(model_config(model_name(script)))
    leader = Harness(load_profile(harness), dialogue, campaign, seed)
    played = ScriptedCampaign(dialogue, leader, executor, history)

    def assign() -> dict[str, Any]:
        executor.assign_feedback(feedback)
        return executor.task()

    def freeze(policy: Any) -> None:
        assert executor.freeze_initial_recommendation(policy) is None

    steps = course(leader, campaign, freeze_initial=freeze, assign=assign)
    artifacts = ARTIFACTS if feedback.releases_records else NO_ARTIFACTS
    tools = Toolbox(history, artifacts, 1, RULES.analysis_tools)
    played.ending = _carry_out(watched(steps, history), executor, tools)
    return played


def _carry_out(steps: Any, executor: Executor, tools: Toolbox) -> Any:
    """Answer every step; what the course returns."""
    try:
        item = next(steps)
        while True:
            is_tool = isinstance(item, ToolCall)
            item = steps.send(tools(item) if is_tool else executor.dispatch(item))
    except StopIteration as end:
        return end.value
