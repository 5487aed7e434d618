"""Campaigns of stand-ins on a made-up facility: real endpoint, harness, executor and transcript.

Stand-ins are scripted programs, not language models, and the facility grows by a few formulas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowlab.agents.books import Caps
from slowlab.agents.connection import connect
from slowlab.agents.course import course
from slowlab.agents.harness import Harness
from slowlab.agents.models import model_config
from slowlab.agents.profile import load_profile
from slowlab.campaign.executor import Executor
from slowlab.campaign.history import History
from slowlab.campaign.journal import Durability, Journal
from slowlab.campaign.pool import Entry, run_pool
from slowlab.campaign.session import Session, ToolCall
from slowlab.methods._base import Campaign, Steps, watched
from slowlab.stages.agent_campaigns import _Play
from slowlab.stages.campaigns import CampaignRecord, CountedTools
from slowlab.tools.toolbox import Toolbox
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import step
from tests.campaign.sessions import FakeStepping, fake_session
from tests.methods.contract_world import ARTIFACTS, PRICES, RULES, SENSORS, ContractFacility

EXACT_PRICES = PRICES.model_copy(update={"electricity_eur_per_kwh": 0.2345678912})
"""Prices with a number that has digits enough to be told from others."""


@dataclass(frozen=True)
class StandInCampaign:
    """A campaign that was played: its transcript, who led it, what it saw and what came of it."""

    path: Path
    harness: Harness
    history: History
    executor: Executor


def play_stand_in(
    script: str, folder: Path, feedback: str = "endpoint", profile: str = "digest_notes"
) -> tuple[Path, Harness]:
    """Play one campaign; its transcript, and the harness that led it."""
    played = play_whole(script, folder, feedback, profile)
    return played.path, played.harness


def play_whole(
    script: str, folder: Path, feedback: str = "endpoint", profile: str = "digest_notes"
) -> StandInCampaign:
    """Play one campaign, and keep everything of it; it is not settled."""
    path = folder / f"site-000.{feedback}.transcript.jsonl"
    facility = ContractFacility(RULES, PRICES, grown=[[] for _ in range(4)])
    reference = RULES.fixed_reference
    executor = Executor.open(
        facility, RULES, SENSORS, PRICES, Feedback.UNASSIGNED, reference, stepping=step
    )
    history, used = History(executor.task()), load_profile(profile)
    with connect(model_config(f"stand-in-{script}"), folder / "purse.jsonl", Caps()) as connection:
        header = {
            "kind": "campaign",
            "site": 0,
            "method": script.replace("-", "_"),
            "repeat": 0,
            "model": connection.public_model(),
            "harness": used.model_dump(mode="json"),
            "task": executor.task(),
        }
        with connection.dialogue(path, header, []) as dialogue:
            harness = Harness(used, dialogue, Campaign(history), 1, reference)
            steps = watched(_steps(harness, history, executor, Feedback(feedback)), history)
            _drive(steps, executor, Toolbox(history, ARTIFACTS, 1, RULES.analysis_tools))
    return StandInCampaign(path, harness, history, executor)


def _steps(harness: Harness, history: History, executor: Executor, feedback: Feedback) -> Any:
    def assign() -> dict[str, Any]:
        executor.assign_feedback(feedback)
        return executor.task()

    def freeze(policy: Any) -> None:
        executor.freeze_initial_recommendation(policy.model_dump())

    return course(harness, Campaign(history), freeze_initial=freeze, assign=assign)


def _drive(steps: Any, executor: Executor, tools: Toolbox) -> None:
    try:
        item = next(steps)
        while True:
            item = steps.send(
                tools(item) if isinstance(item, ToolCall) else executor.dispatch(item)
            )
    except StopIteration:
        return


def play_in_pool(
    script: str,
    folder: Path,
    *,
    feedback: str = "endpoint",
    hidden: Sequence[tuple[str, float]] = (),
    fails_at: int | None = None,
) -> tuple[CampaignRecord, Path]:
    """Play one campaign as a job of a study does, and settle it; its record and its transcript.

    Args:
        script: name of the stand-in.
        folder: of transcript and purse.
        feedback: condition that is assigned after day 0.
        hidden: name and value of what no prompt may show.
        fails_at: tick at which the facility's state is no longer finite.
    """
    path = folder / f"site-000.{feedback}.transcript.jsonl"
    session = _session(Feedback.UNASSIGNED, fails_at=fails_at)
    history, used = History(session.task()), load_profile("digest_notes")
    tools = CountedTools(Toolbox(history, ARTIFACTS, 1, RULES.analysis_tools))
    with connect(model_config(f"stand-in-{script}"), folder / "purse.jsonl", Caps()) as connection:
        header = {
            "kind": "campaign",
            "model": connection.public_model(),
            "harness": used.model_dump(mode="json"),
            "task": session.task(),
        }
        with connection.dialogue(path, header, hidden) as dialogue:
            harness = Harness(used, dialogue, Campaign(history), 1, RULES.fixed_reference)
            play = _Play(session, history, tools, harness, Feedback(feedback))
            (result,) = run_pool([play.entry("campaign")])
    return CampaignRecord(0, history, result, tuple(tools.uses)), path


def take_in_pool(steps: Iterable[Mapping[str, Any]], journal: Path) -> CampaignRecord:
    """Take given steps as a numerical method would, with full feedback, and settle the campaign."""
    session = _session(Feedback.FULL, Journal.open(journal, durability=Durability.PROCESS))
    history = History(session.task())
    entry = Entry("campaign", session, watched(_each(steps), history))
    (result,) = run_pool([entry])
    return CampaignRecord(0, history, result, ())


def _each(steps: Iterable[Mapping[str, Any]]) -> Steps:
    for step_taken in steps:  # noqa: UP028  a plain sequence takes no replies
        yield step_taken


def _session(
    feedback: Feedback, journal: Journal | None = None, fails_at: int | None = None
) -> Session:
    facility = ContractFacility(
        RULES, EXACT_PRICES, grown=[[] for _ in range(4)], fails_at=fails_at
    )
    executor = Executor.open(
        facility, RULES, SENSORS, EXACT_PRICES, feedback, RULES.fixed_reference, stepping=step
    )
    return fake_session(executor, FakeStepping(), journal)
