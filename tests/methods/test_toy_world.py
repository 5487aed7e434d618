"""The world with a known answer: thresholds, and changes of form that must not matter."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from slowlab.methods._registry import registered
from slowlab.world.policy import POLICY_FIELDS, Policy
from slowlab.world.task import Feedback
from tests.toy_checks import THRESHOLDS, check_ranking, check_threshold
from tests.toy_world import (
    BEST_MARGIN_EUR_M2,
    CONTRACT,
    OPTIMUM,
    SEASON_EUR_M2,
    TurnedHistory,
    planted,
    play_toys,
    smaller,
    toy_artifacts,
    toy_margin,
    toy_score,
    turned,
)

OPTIMISERS = ("prior_bo", "prior_bo_two_wave", "global_bo")
SHIPPED = sorted(name for name, kind in registered().items() if kind.experiments)
BOTH = (Feedback.FULL, Feedback.ENDPOINT)


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory):
    return toy_artifacts(tmp_path_factory.mktemp("artifacts"))


def test_the_answer_is_known_and_no_two_fields_can_be_exchanged():
    best = Policy(**OPTIMUM)
    assert toy_margin(best, 0) == BEST_MARGIN_EUR_M2 - SEASON_EUR_M2
    low, high = CONTRACT.policy.limits(POLICY_FIELDS)
    unit = (np.array([OPTIMUM[name] for name in POLICY_FIELDS]) - low) / (high - low)
    for i, j in itertools.combinations(range(6), 2):
        swapped = unit.copy()
        swapped[[i, j]] = unit[[j, i]]
        other = dict(zip(POLICY_FIELDS, (low + swapped * (high - low)).tolist(), strict=True))
        other["day_temperature_c"] = max(other["day_temperature_c"], other["night_temperature_c"])
        assert toy_score(Policy(**other)) < toy_score(best)


def test_every_experimenting_method_has_a_threshold():
    assert set(SHIPPED) == set(THRESHOLDS)


@pytest.mark.parametrize("feedback", BOTH)
@pytest.mark.parametrize("name", SHIPPED)
def test_every_method_reaches_its_threshold(name, feedback, artifacts):
    check_threshold(name, artifacts, feedback)


def test_the_kernel_ranks_unseen_policies(artifacts):
    check_ranking(artifacts)


@pytest.mark.parametrize("feedback", BOTH)
@pytest.mark.parametrize("name", SHIPPED)
def test_order_of_keys_and_fields_changes_no_action(name, feedback, artifacts):
    usual = play_toys(name, artifacts, [3, 4], feedback=feedback)
    other = play_toys(name, artifacts, [3, 4], feedback=feedback, history_kind=TurnedHistory)
    assert [run.actions for run in usual] == [run.actions for run in other]


def test_turned_data_is_the_same_data_in_another_order():
    data = {"a": [1, {"b": 2, "c": 3}], "fields": [{"name": "x"}, {"name": "y"}]}
    assert list(turned(data)) == ["fields", "a"]
    assert turned(data)["fields"] == [{"name": "y"}, {"name": "x"}]
    assert turned(turned(data)) == data


@pytest.mark.parametrize("name", SHIPPED)
def test_one_seed_gives_one_campaign_and_two_give_two(name, artifacts):
    once, again = (play_toys(name, artifacts, [5])[0].actions for _ in range(2))
    assert once == again
    assert play_toys(name, artifacts, [5], repeat=1)[0].actions != once


@pytest.mark.parametrize("name", OPTIMISERS)
def test_conditions_are_equal_until_records_are_read(name, artifacts):
    full, endpoint = (play_toys(name, artifacts, [6], feedback=mode)[0].actions for mode in BOTH)
    reads = [number for number, action in enumerate(full) if "variable" in action]
    assert bool(reads) == (name == "prior_bo")
    until = reads[0] if reads else len(full)
    assert full[:until] == endpoint[:until]
    assert (full == endpoint) == (not reads)


def test_no_two_sites_repeats_or_methods_share_a_design(artifacts):
    designs = []
    for name in ("prior_bo", "prior_bo_two_wave", "local_random_search"):
        for repeat in (0, 1):
            runs = play_toys(name, artifacts, range(8), feedback=Feedback.ENDPOINT, repeat=repeat)
            first = [tuple(map(tuple, (p.items() for p in planted(run)[1:4]))) for run in runs]
            designs += first
    assert len(set(designs)) == len(designs) == 48


@pytest.mark.parametrize("feedback", [*BOTH, Feedback.DELAYED])
@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize(
    "changes",
    [
        {"compartments": 1},
        {"compartments": 2},
        {"compartments": 6, "starts": 5},
        {"compartments": 10, "interface_calls": 400},
        {"interface_calls": 12},
        {"interface_calls": 3, "starts": 1},
        {"decision_calls": 4},
        {"decision_calls": 6, "reserved_decision_calls": 0, "reserved_interface_calls": 0},
    ],
    ids=str,
)
def test_small_tasks_are_played_to_the_end_without_a_rejection(name, feedback, changes, artifacts):
    contract = smaller(**changes)
    (run,) = play_toys(name, artifacts, [1], feedback=feedback, contract=contract)
    assert run.settlement.rejections == {}
    assert run.settlement.fallback_reason is None
    assert run.actions[-1]["action"] == "recommend"
    assert run.history.day == contract.calendar.campaign_days
