"""Branching: one prefix, two campaigns, nothing shared but bytes."""

import pytest

from slowlab.campaign.branching import prefix_step, replay_prefix
from slowlab.campaign.errors import ErrorKind, Reason
from slowlab.campaign.executor import CampaignMisuse
from slowlab.campaign.settlement import CampaignStatus
from slowlab.world.task import Feedback
from tests.campaign.moves import WARM, advance, observe, ok, refused, start
from tests.campaign.payloads import NESTED


def design(policy):
    """A day-0 design with everything that may go wrong in it."""
    return [
        start(0, policy),
        start(0, policy),
        start(1, {**policy, **WARM}),
        start(2, {**policy, "day_temperature_c": True}),
        observe(0),
        observe(0, run_index=1),
        observe(0, variable="co2_ppm"),
        observe(3, run_index=4),
        advance(10),
        {"action": "stop", "unit": 1},
        {"action": "recommend", "policy": policy},
        {"action": "status"},
        '{"action":"stop","unit":1,"unit":0}',
        {"action": "advance", "day": float("inf")},
        NESTED,
        None,
        "\ud83d",
    ]


@pytest.fixture
def branched(campaign, policy):
    """Plays the design once and gives the campaign and its prefix."""
    run = campaign(Feedback.UNASSIGNED)
    steps = [prefix_step(payload, run.dispatch(payload)) for payload in design(policy)]
    return run, steps


def test_the_prefix_replays_with_equal_bytes(campaign, branched):
    first, steps = branched
    second = campaign(Feedback.UNASSIGNED)
    assert replay_prefix(second, steps)
    assert second.status is CampaignStatus.RUNNING
    assert second.history.sha256() == first.history.sha256()
    first.assign_feedback(Feedback.FULL)
    second.assign_feedback(Feedback.ENDPOINT)
    assert first.task()["feedback"]["mode"] == "full"
    assert second.task()["feedback"]["mode"] == "endpoint"
    assert second.history.task == second.task()
    used = [ok(run.dispatch(observe(0)))["budget"] for run in (first, second)]
    assert used[0] == used[1]
    assert used[0]["calls"]["used"] == 12
    assert used[0]["starts"]["used"] == 2


def test_reads_in_one_branch_leave_the_other_alone(campaign, branched):
    first, steps = branched
    quiet, second = campaign(Feedback.UNASSIGNED), campaign(Feedback.UNASSIGNED)
    for run in (quiet, second):
        assert replay_prefix(run, steps)
        run.assign_feedback(Feedback.ENDPOINT)
    first.assign_feedback(Feedback.FULL)
    expected = [quiet.dispatch(a).canonical() for a in (advance(50), observe(0), advance(182))]
    seen = []
    for action in (advance(50), observe(0), advance(182)):
        ok(first.dispatch(observe(1, variable="heating_energy")))
        ok(first.dispatch(action))
        seen.append(second.dispatch(action).canonical())
    assert seen == expected
    assert second.history.channels() == []
    assert first.history.channels() != []


@pytest.mark.parametrize("number", [0, 2, 7, 12])
def test_another_reply_is_a_technical_failure(campaign, branched, number):
    _, steps = branched
    steps[number] = prefix_step(steps[number].payload, campaign().dispatch(advance(9)))
    second = campaign(Feedback.UNASSIGNED)
    assert not replay_prefix(second, steps)
    assert second.status is CampaignStatus.INFRASTRUCTURE_FAILURE
    assert f"step {number + 1} " in second.settle().failure
    reply = second.dispatch(observe(0))
    refused(reply, Reason.TECHNICAL_FAILURE, ErrorKind.INFRASTRUCTURE_FAILURE)


def test_an_unequal_facility_is_found(campaign, branched, contract):
    _, steps = branched
    second = campaign(Feedback.UNASSIGNED)
    second.facility.plant(0, contract.fixed_reference)
    assert not replay_prefix(second, steps)


def test_before_the_assignment_time_stands_still_and_nothing_is_read(campaign, policy):
    run = campaign(Feedback.UNASSIGNED)
    ok(run.dispatch(start(0, policy)))
    refused(run.dispatch(advance(1)), Reason.FEEDBACK_UNASSIGNED)
    message = refused(run.dispatch(observe(0, variable="co2_ppm")), Reason.FIELDS)
    assert "record" not in message
    assert run.facility.tick == 0
    run.assign_feedback(Feedback.FULL)
    ok(run.dispatch(observe(0, variable="co2_ppm")))
    ok(run.dispatch(advance(1)))


def test_a_mode_is_assigned_once_and_in_time(campaign):
    with pytest.raises(CampaignMisuse):
        campaign(Feedback.FULL).assign_feedback(Feedback.ENDPOINT)
    run = campaign(Feedback.UNASSIGNED)
    with pytest.raises(CampaignMisuse):
        run.assign_feedback(Feedback.UNASSIGNED)
    with pytest.raises(CampaignMisuse):
        run.assign_feedback(Feedback.SHUFFLED)
    run.assign_feedback(Feedback.DELAYED)
    with pytest.raises(CampaignMisuse):
        run.assign_feedback(Feedback.FULL)


def test_the_description_before_branching_names_the_sites_own_prices(campaign, prices):
    told = campaign(Feedback.UNASSIGNED).task()
    assert told["prices"]["fruit_eur_per_kg_fresh"] == prices.fruit_eur_per_kg_fresh
    assert told["feedback"]["mode"] == "assigned after the day-0 design"
