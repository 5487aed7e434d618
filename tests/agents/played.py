"""Campaigns of stand-ins, played live with the real harness on a made-up facility.

The stand-in answers in this process; everything else (harness, dialogue, transcript, purse,
firewall, executor, session, tools) is the real thing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from slowlab.agents.client import request_body
from slowlab.agents.completions import read_completion
from slowlab.agents.course import course
from slowlab.agents.dialogue import Dialogue
from slowlab.agents.firewall import Firewall
from slowlab.agents.harness import Harness
from slowlab.agents.messages import ModelCall, ModelReply
from slowlab.agents.models import ModelConfig, model_config
from slowlab.agents.profile import load_profile
from slowlab.agents.purse import Caps, Purse
from slowlab.agents.standins.completion import complete
from slowlab.agents.transcript import Transcript, fork
from slowlab.campaign.executor import Executor
from slowlab.campaign.history import History
from slowlab.campaign.journal import Durability
from slowlab.campaign.pool import Entry, run_pool
from slowlab.methods._base import Campaign, watched
from slowlab.tools.toolbox import Toolbox
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import Hidden, step
from tests.campaign.sessions import FakeStepping, fake_session
from tests.methods.contract_world import ARTIFACTS, PRICES, RULES, SENSORS, ContractFacility

MODES = ("initial", "full", "endpoint")
NOISE_SEED = 6_060_842_157_319_001
"""Hidden, and none of what the hostile stand-in pretends to know."""


class StandInClient:
    """A stand-in without a server.

    Args:
        config: which one.
        stops_after: calls after which the process seems to die.

    Attributes:
        sent: number of calls.
    """

    def __init__(self, config: ModelConfig, stops_after: int | None = None) -> None:
        self.config, self.sent = config, 0
        self._stops_after = stops_after

    def send(self, call: ModelCall, idempotency_key: str) -> ModelReply:
        if self.sent == self._stops_after:
            raise KeyboardInterrupt
        self.sent += 1
        return read_completion(json.dumps(complete(request_body(self.config, call))).encode())


def play(
    folder: Path,
    mode: str,
    *,
    script: str = "two_wave",
    profile: str = "digest_notes",
    stops_after: int | None = None,
    hidden: Hidden | None = None,
) -> StandInClient:
    """Play one branch, or the beginning that the branches share.

    Args:
        folder: of transcripts and purse.
        mode: ``initial``, or a feedback condition.
        script: which stand-in.
        profile: which harness profile.
        stops_after: calls after which the process seems to die.
        hidden: what is hidden about the facility.
    """
    config = model_config(f"stand-in-{script.replace('_', '-')}")
    client = StandInClient(config, stops_after)
    if mode != "initial":
        fork(transcript_path(folder, "initial"), transcript_path(folder, mode))
    facility = ContractFacility(
        RULES, PRICES, grown=[[] for _ in range(4)], hidden=hidden or Hidden()
    )
    reference = RULES.fixed_reference
    executor = Executor.open(
        facility, RULES, SENSORS, PRICES, Feedback.UNASSIGNED, reference, stepping=step
    )
    session = fake_session(executor, FakeStepping())
    history = History(session.task())
    used = load_profile(profile)
    header = _header(config, used.model_dump(mode="json"), session.task())
    transcript = Transcript.open(transcript_path(folder, mode), header)
    purse = Purse.open(folder / "purse", Caps(), durability=Durability.PROCESS)
    firewall = Firewall([("noise_seed", NOISE_SEED)])
    dialogue = Dialogue(transcript, config, client, purse, firewall)  # type: ignore[arg-type]
    with closing(purse), closing(dialogue):
        harness = Harness(used, dialogue, Campaign(history), 11, reference)

        def assign() -> Mapping[str, Any] | None:
            if mode == "initial":
                return None
            assert session.assign_feedback(Feedback(mode))
            return session.task()

        steps = course(
            harness,
            Campaign(history),
            freeze_initial=lambda policy: session.freeze_initial_recommendation(
                policy.model_dump()
            ),
            assign=assign,
        )
        tools = Toolbox(history, ARTIFACTS, seed=7, limits=RULES.analysis_tools)
        entry = Entry(mode, session, watched(steps, history), tools, settle=mode != "initial")
        (result,) = run_pool([entry])
    assert result.error is None, result.error
    return client


def play_all(folder: Path, **options: Any) -> list[Path]:
    """The beginning and both branches; their transcripts."""
    folder.mkdir(parents=True, exist_ok=True)
    for mode in MODES:
        play(folder, mode, **options)
    return [transcript_path(folder, mode) for mode in MODES]


def transcript_path(folder: Path, mode: str) -> Path:
    return folder / f"site-003.{mode}.transcript.jsonl"


def _header(config: ModelConfig, profile: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "campaign",
        "study": "tests",
        "partition": "made-up",
        "site": 3,
        "method": "two_wave",
        "repeat": 0,
        "model": config.public(),
        "harness": profile,
        "generation_seed": 11,
        "reference": RULES.fixed_reference.model_dump(),
        "task": task,
    }
