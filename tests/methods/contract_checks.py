"""What every method must keep to; each check takes the name of a registered method."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowlab.campaign.pool import Ending, run_pool
from slowlab.campaign.settlement import CampaignStatus, PolicySource
from slowlab.canonical import canonical_bytes
from slowlab.methods._base import Campaign
from slowlab.world.policy import parse_policy
from slowlab.world.simulation import CropEnding
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import Hidden
from tests.campaign.sessions import files
from tests.methods.contract_world import (
    LAST_DAY,
    RULES,
    Interrupted,
    Play,
    made,
    rules_for,
    scrambled,
)

MODES = (Feedback.FULL, Feedback.ENDPOINT)
TWIN = Hidden(transpiration=1.0, poles=9, safety=CropEnding.COLLAPSED, seed=2, standby_heat=3.0)
SMALL = {
    "one compartment": rules_for(1),
    "two compartments": rules_for(2),
    "six compartments": rules_for(6),
    "one start": rules_for(4, starts=1),
    "few decisions": rules_for(4, decision_calls=4),
    "few calls": rules_for(4, interface_calls=9),
    "no decision to spare": rules_for(4, decision_calls=2),
    "no call to spare": rules_for(2, interface_calls=3, starts=1),
    "nothing is kept": rules_for(
        2, interface_calls=8, reserved_interface_calls=0, reserved_decision_calls=0
    ),
}
"""The smallest tasks and budgets, and a larger one."""


def ends_well(play: Play) -> None:
    """It recommends for itself on the last day, and nothing was rejected on the way."""
    result = play.run()
    assert result.error is None, result.error
    assert result.failure is None, result.failure
    assert result.ending is Ending.SETTLED
    settled = result.settlement
    assert settled.rejections == {}
    assert settled.status is CampaignStatus.FINISHED
    assert settled.day == LAST_DAY
    assert settled.source is PolicySource.RECOMMENDATION
    assert play.tool_calls <= play.rules.analysis_tools.calls
    parse_policy(settled.policy, play.rules.policy)
    planted = [item["policy"] for item in play.items if item.get("action") == "start"]
    for policy in [*planted, settled.policy.model_dump()]:
        assert all(round(value, 2) == value for value in policy.values())


def only_legal_actions(name: str, folder: Path) -> None:
    """In both feedback modes; without records it reads none."""
    for feedback in MODES:
        play = Play(made(name), feedback=feedback)
        ends_well(play)
        assert sum(item.get("action") == "start" for item in play.items) >= 2


def small_tasks(name: str, folder: Path) -> None:
    """It adapts to the task's compartments and budgets."""
    for rules in SMALL.values():
        for feedback in MODES if rules.facility.compartments == 2 else MODES[:1]:
            ends_well(Play(made(name), rules=rules, feedback=feedback))


def seeds(name: str, folder: Path) -> None:
    """One seed, the same bytes; another seed, other actions."""
    mode = Feedback.ENDPOINT  # the quicker one
    one, again, other = (Play(made(name), seed=seed, feedback=mode) for seed in (5, 5, 6))
    for play in (one, again, other):
        play.run()
    assert canonical_bytes(one.items) == canonical_bytes(again.items)
    assert canonical_bytes(one.items) != canonical_bytes(other.items)


def nothing_hidden(name: str, folder: Path) -> None:
    """Twins: equal public history, different hidden state, equal actions."""
    for feedback in MODES:
        one = Play(made(name), feedback=feedback)
        twin = Play(made(name), feedback=feedback, hidden=TWIN)
        settled = one.run().settlement, twin.run().settlement
        assert canonical_bytes(one.items) == canonical_bytes(twin.items)
        assert settled[0].private != settled[1].private


def order_of_members(name: str, folder: Path) -> None:
    """Neither the order of keys nor that of the listed fields matters."""
    for feedback in MODES:
        plain = Play(made(name), feedback=feedback)
        turned = Play(made(name), feedback=feedback, scramble=scrambled)
        settled = plain.run().settlement, turned.run().settlement
        assert canonical_bytes(plain.items) == canonical_bytes(turned.items)
        assert settled[0].policy == settled[1].policy


def stop_and_replay(name: str, folder: Path) -> None:
    """Interrupted and started again on its journal, it ends with the same bytes."""
    whole = Play(made(name), journal=folder / "whole")
    whole.run()
    count = len(whole.items)
    for number, stop in enumerate((count // 2, count - 1)):
        path = folder / f"cut{number}"
        with pytest.raises(Interrupted):
            Play(made(name), journal=path, stops_after=stop).run()
        assert files(path) != files(folder / "whole")
        Play(made(name), journal=path).run()
        assert files(path) == files(folder / "whole")


def no_state_between_campaigns(name: str, folder: Path) -> None:
    """One object plays two campaigns at once, and a third afterwards, as fresh ones would."""
    method = made(name)
    shared = [Play(method, seed=n, feedback=mode) for n, mode in enumerate(MODES, start=1)]
    run_pool([play.entry(f"{number}") for number, play in enumerate(shared)])
    later = Play(method, seed=1, feedback=Feedback.ENDPOINT)
    later.run()
    fresh = [Play(made(name), seed=play.seed, feedback=play.feedback) for play in (*shared, later)]
    for play, alone in zip((*shared, later), fresh, strict=True):
        alone.run()
        assert canonical_bytes(play.items) == canonical_bytes(alone.items)


def first_day_is_blind(name: str, folder: Path) -> None:
    """Until time passes, nothing depends on the feedback condition."""
    full, endpoint = (Play(made(name), feedback=feedback) for feedback in MODES)
    for play in (full, endpoint):
        play.run()
        play.items = play.items[: next(n for n, i in enumerate(play.items) if "day" in i)]
    assert canonical_bytes(full.items) == canonical_bytes(endpoint.items)


EXPERIMENTING = (
    only_legal_actions,
    small_tasks,
    seeds,
    nothing_hidden,
    order_of_members,
    stop_and_replay,
    no_state_between_campaigns,
    first_day_is_blind,
)
"""Checks of methods that run campaigns."""


def recommends_from_the_task_alone(name: str, folder: Path) -> None:
    """A method without experiments: one valid policy, whatever the order of members."""
    method = made(name)
    task = Play(method).entry().session.task()
    policy = method.recommend(task)
    parse_policy(policy, RULES.policy)
    assert method.recommend(scrambled(task)) == policy == made(name).recommend(task)
    assert list(method.play(Campaign(None), None)) == []


STATIC = (recommends_from_the_task_alone,)
"""Checks of methods that recommend without a campaign."""
