"""Budgets: what is charged, what is not, and that the end can always be reached."""

import pytest

from slowlab.campaign.budget import ActionKind, BudgetAccount, Usage
from slowlab.campaign.errors import ActionRejected, Reason, Reply
from slowlab.config import override
from slowlab.world.task import Feedback

NO_ACTION = [None, 5, "no JSON", '{"action":"advance","day":1e999}', {"action": "status"}, {}]


def used(executor):
    return executor._account.usage


def reason(reply):
    return reply.error.reason


def test_what_each_action_uses(campaign, policy):
    run = campaign()
    steps = [
        ({"action": "start", "unit": 0, "policy": policy}, Usage(1, 1, 1)),
        ({"action": "observe", "unit": 0}, Usage(2, 1, 1)),
        ({"action": "observe", "unit": 0, "variable": "co2_ppm"}, Usage(3, 1, 1)),
        ({"action": "advance", "day": 10}, Usage(4, 1, 1)),
        ({"action": "advance", "day": 10}, Usage(5, 1, 1)),
        ({"action": "stop", "unit": 0}, Usage(6, 2, 1)),
        ({"action": "advance", "day": 365}, Usage(7, 2, 1)),
        ({"action": "recommend", "policy": policy}, Usage(8, 3, 1)),
        ({"action": "recommend", "policy": policy}, Usage(9, 4, 1)),
    ]
    for payload, expected in steps:
        reply = run.dispatch(payload)
        assert reply.ok, reply.error
        assert used(run) == expected
        assert reply.result["budget"] == {
            "calls": {"used": expected.calls, "max": 128},
            "decisions": {"used": expected.decisions, "max": 32},
            "starts": {"used": expected.starts, "max": 16},
        }


def test_a_rejection_uses_a_call_and_a_decision_if_its_kind_does(campaign, policy):
    run = campaign()
    bad_policy = {**policy, "day_temperature_c": 99}
    steps = [
        ({"action": "start", "unit": 0, "policy": bad_policy}, Usage(1, 1, 0)),
        ({"action": "start", "unit": 9, "policy": policy}, Usage(2, 2, 0)),
        ({"action": "stop", "unit": 0}, Usage(3, 3, 0)),
        ({"action": "recommend", "policy": policy}, Usage(4, 4, 0)),
        ({"action": "advance", "day": 366}, Usage(5, 4, 0)),
        ({"action": "observe", "unit": 0, "run_index": 7}, Usage(6, 4, 0)),
        ({"action": "observe"}, Usage(7, 4, 0)),
    ]
    for payload, expected in steps:
        reply = run.dispatch(payload)
        assert not reply.ok
        assert used(run) == expected
        assert reply.error.budget["calls"] == {"used": expected.calls, "max": 128}
    assert run.facility.tick == 0


@pytest.mark.parametrize("payload", NO_ACTION)
def test_no_action_uses_nothing(campaign, payload):
    run = campaign()
    assert not run.dispatch(payload).ok
    assert used(run) == Usage()


def spend_calls(run):
    """Advance in small steps until only the reserve is left; the day reached."""
    day = 0
    while True:
        reply = run.dispatch({"action": "advance", "day": day + 1})
        if not reply.ok:
            return reply
        day += 1


@pytest.mark.parametrize("feedback", [Feedback.FULL, Feedback.ENDPOINT])
def test_an_agent_that_spends_its_calls_still_ends_properly(campaign, policy, feedback):
    run = campaign(feedback)
    refused = spend_calls(run)
    assert reason(refused) is Reason.CALLS_RESERVED
    assert "advance to the last day" in refused.error.message
    assert used(run) == Usage(calls=126)
    for payload in (
        {"action": "observe", "unit": 0},
        {"action": "start", "unit": 0, "policy": policy},
        {"action": "recommend", "policy": policy},
        {"action": "advance", "day": 200},
        {"action": "advance", "day": 366},
        {"action": "stop"},
        *NO_ACTION,
    ):
        assert not run.dispatch(payload).ok
        assert used(run) == Usage(calls=126)
    assert run.dispatch({"action": "advance", "day": 365}).ok
    for payload in ({"action": "observe", "unit": 0}, {"action": "advance", "day": 365}):
        assert reason(run.dispatch(payload)) is Reason.CALLS_RESERVED
    assert run.dispatch({"action": "recommend", "policy": policy}).ok
    assert used(run) == Usage(calls=128, decisions=1)
    gone = run.dispatch({"action": "observe", "unit": 0})
    assert reason(gone) is Reason.CALLS_USED_UP
    assert used(run).calls == 128
    settlement = run.settle()
    assert not settlement.flagged


def test_an_agent_that_spends_its_decisions_can_still_recommend(campaign, policy):
    run = campaign()
    for _ in range(31):
        assert not run.dispatch({"action": "stop", "unit": 0}).ok
    assert used(run) == Usage(calls=31, decisions=31)
    refused = run.dispatch({"action": "start", "unit": 0, "policy": policy})
    assert reason(refused) is Reason.DECISIONS_RESERVED
    assert used(run) == Usage(calls=32, decisions=31)
    assert run.dispatch({"action": "advance", "day": 365}).ok
    assert run.dispatch({"action": "recommend", "policy": policy}).ok
    assert used(run) == Usage(calls=34, decisions=32)
    gone = run.dispatch({"action": "recommend", "policy": policy})
    assert reason(gone) is Reason.DECISIONS_USED_UP
    assert used(run) == Usage(calls=35, decisions=32)


def test_an_invalid_recommendation_does_not_release_the_reserve(campaign, policy):
    run = campaign()
    assert run.dispatch({"action": "advance", "day": 365}).ok
    while run.dispatch({"action": "observe", "unit": 0}).ok:
        pass
    assert used(run).calls == 126
    assert run.dispatch({"action": "recommend", "policy": {}}).ok
    assert reason(run.dispatch({"action": "observe", "unit": 0})) is Reason.CALLS_RESERVED
    assert run.dispatch({"action": "recommend", "policy": policy}).ok
    assert used(run).calls == 128
    assert not run.settle().flagged


def test_a_recommendation_releases_the_reserve(campaign, policy):
    run = campaign()
    assert run.dispatch({"action": "advance", "day": 365}).ok
    assert run.dispatch({"action": "recommend", "policy": policy}).ok
    for _ in range(126):
        assert run.dispatch({"action": "observe", "unit": 0}).ok
    assert used(run).calls == 128


def test_starts_run_out(campaign, contract, policy):
    run = campaign(rules=override(contract, {"budget.starts": 2}))
    for unit in (0, 1):
        assert run.dispatch({"action": "start", "unit": unit, "policy": policy}).ok
    refused = run.dispatch({"action": "start", "unit": 2, "policy": policy})
    assert reason(refused) is Reason.STARTS_USED_UP
    assert used(run) == Usage(calls=3, decisions=3, starts=2)


def test_without_a_reserve_the_original_budget_applies(campaign, contract):
    rules = override(
        contract, {"budget.reserved_interface_calls": 0, "budget.reserved_decision_calls": 0}
    )
    run = campaign(rules=rules)
    assert reason(spend_calls(run)) is Reason.CALLS_USED_UP
    assert used(run).calls == 128
    assert not any("are kept" in rule for rule in run.task()["rules"])


def test_the_reserve_is_what_the_description_says(campaign):
    told = campaign().task()
    assert told["budgets"]["calls"] - told["budgets"]["calls_kept_for_the_end"] == 126
    assert told["budgets"]["decision_calls_kept_for_the_end"] == 1
    assert any("only an advance to day 365" in rule for rule in told["rules"])


def test_the_account_never_charges_a_rejection_to_the_reserve(contract):
    account = BudgetAccount(contract.budget)
    for _ in range(500):
        account.charge_rejection(ActionKind.STOP)
    assert account.usage == Usage(calls=126, decisions=31)
    with pytest.raises(ActionRejected):
        account.check(ActionKind.STOP, closing=False)
    account.check(ActionKind.RECOMMEND, closing=True)


def test_replies_have_one_form():
    reply = Reply.success({"day": 1.0})
    assert reply.canonical() == b'{"ok":true,"result":{"day":1.0}}'
    assert reply.sha256() == Reply.success({"day": 1.0}).sha256()
