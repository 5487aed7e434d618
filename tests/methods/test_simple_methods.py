"""What the simple methods plant and recommend."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.campaign.history import SeenCrop, Totals
from slowlab.methods._design import box_around, whole_box
from slowlab.methods._waves import best_seen, most_planted, random_policies, ranked
from slowlab.methods.repeat_best import best_mean_margin, best_two_again
from slowlab.world.policy import POLICY_FIELDS, PolicyBounds, encode, parse_policy, to_unit
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import COOKED_C
from tests.methods.contract_world import ARTIFACTS, RULES, Play, made, rules_for

ANCHOR = parse_policy(ARTIFACTS.load("fixed_reference").content["policy"], RULES.policy)
RADIUS = ARTIFACTS.load("radius").content["radius"]


def policy(**changes):
    return parse_policy(ANCHOR.model_dump() | changes, RULES.policy)


def crop(planted, margin, *, unit=0, day=0.0, reason="completed"):
    totals = Totals(1.0, 1.0, 1.0, 1.0, margin)
    return SeenCrop(unit, 1, planted, day, True, reason, day + 180, totals)


def starts(play):
    return [item for item in play.items if item["action"] == "start"]


def planted(play):
    return [parse_policy(item["policy"], RULES.policy) for item in starts(play)]


def test_random_search_is_two_waves_and_recommends_the_best_crop():
    play = Play(made("random_search"))
    settled = play.run().settlement
    kinds = "".join(item["action"][0] for item in play.items)
    assert kinds == "ssss" + "a" + "oooo" + "ssss" + "a" + "oooo" + "r"
    days = [item["day"] for item in play.items if item["action"] == "advance"]
    assert days == [182, 365]
    seen = [reply["result"]["crop"] for reply in play.replies if "crop" in reply["result"]]
    completed = [row for row in seen if row["reason"] == "completed"]
    best = max(completed, key=lambda row: row["margin_eur_m2"])
    number = 4 * (best["run_index"] - 1) + best["unit"]
    assert settled.policy == planted(play)[number]


@pytest.mark.parametrize("name", ["random_search", "two_wave_sobol"])
def test_the_anchor_is_knowledge_that_can_be_given(name):
    without, given_it = Play(made(name)), Play(made(name, anchor=True))
    for play in (without, given_it):
        play.run()
    assert ANCHOR not in planted(without)
    assert planted(given_it)[0] == ANCHOR
    assert planted(given_it)[1:] == planted(without)[1:]


@pytest.mark.parametrize("name", ["local_random_search", "repeat_best"])
@pytest.mark.parametrize("anchor", [True, False])
def test_local_methods_stay_near_their_centre(name, anchor):
    play = Play(made(name, anchor=anchor, radius=0.1))
    play.run()
    points = to_unit(encode(planted(play)), RULES.policy)
    assert (planted(play)[0] == ANCHOR) is anchor
    assert np.abs(points - points[0]).max() <= 0.1 + 0.005
    assert len(np.unique(points[:4], axis=0)) == 4


def test_the_radius_of_the_artifact_is_the_default():
    play = Play(made("local_random_search"), seed=3)
    play.run()
    widths = np.abs(
        to_unit(encode(planted(play)), RULES.policy) - to_unit(encode([ANCHOR]), RULES.policy)
    )
    assert 0.5 * RADIUS < widths.max() <= RADIUS + 0.005


def test_sobol_points_are_spread():
    play = Play(made("two_wave_sobol"))
    play.run()
    points = to_unit(encode(planted(play)), RULES.policy)
    day = POLICY_FIELDS.index("day_temperature_c")
    assert sorted(np.floor(points[:, day] * 8).astype(int)) == list(range(8))


def test_repeat_best_plants_the_best_two_again():
    play = Play(made("repeat_best"))
    settled = play.run().settlement
    first, second = planted(play)[:4], planted(play)[4:]
    assert second[0] == second[1]
    assert second[2] == second[3]
    assert second[0] != second[2]
    assert {str(p) for p in second} <= {str(p) for p in first}
    assert settled.policy in (second[0], second[2])


def test_the_best_two_of_few():
    two = [crop(policy(co2_target_ppm=500), 5.0), crop(ANCHOR, 7.0)]
    assert best_two_again(two, 4, ANCHOR) == [ANCHOR] * 2 + [policy(co2_target_ppm=500)] * 2
    assert best_two_again(two, 3, ANCHOR)[:2] == [ANCHOR] * 2
    assert best_two_again(two[1:], 2, ANCHOR) == [ANCHOR] * 2
    assert best_two_again([], 2, ANCHOR) == [ANCHOR] * 2


def test_a_policy_that_grew_in_both_seasons_is_preferred():
    """A spring crop alone has a higher mean than the same policy over spring and autumn."""
    both, spring = policy(co2_target_ppm=500), policy(co2_target_ppm=600)
    crops = [crop(both, 40.0), crop(spring, 39.0), crop(both, 10.0, day=182.0)]
    assert best_mean_margin(crops, ANCHOR) == both
    assert ranked(crops) == [spring, both]
    assert [c.policy for c in most_planted(crops)] == [both, both]
    assert best_mean_margin([], ANCHOR) == ANCHOR


def test_days_count_alike_whatever_was_planted_on_them():
    one, other = policy(co2_target_ppm=500), policy(co2_target_ppm=600)
    crops = [crop(one, 40.0), crop(one, 40.0), crop(one, 10.0, day=182.0)]
    crops += [crop(other, 26.0), crop(other, 26.0, day=182.0)]
    assert ranked(crops) == [other, one]


@pytest.mark.parametrize("name", ["random_search", "local_random_search", "repeat_best"])
def test_when_every_crop_fails_the_first_policy_is_recommended(name, monkeypatch):
    """Nothing completes: every crop is stopped for safety."""
    monkeypatch.setattr("tests.campaign.fake_facility.COOKED_C", 0.0)
    play = Play(made(name))
    settled = play.run().settlement
    assert settled.policy == planted(play)[0]
    assert settled.rejections == {}
    assert len(starts(play)) == 8


def test_stopped_crops_do_not_count():
    cooked = policy(day_temperature_c=COOKED_C)
    assert best_seen([], otherwise=cooked) == cooked
    play = Play(made("random_search", anchor=False), seed=4, feedback=Feedback.ENDPOINT)
    settled = play.run().settlement
    assert settled.policy.day_temperature_c < COOKED_C


def test_a_wave_is_as_large_as_the_budgets():
    play = Play(made("random_search"), rules=rules_for(4, interface_calls=12))
    play.run()
    assert len(starts(play)) == 4
    more = Play(made("random_search"), rules=rules_for(4, interface_calls=14))
    more.run()
    assert len(starts(more)) == 5


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.001, 1.0), st.booleans())
def test_random_policies_are_valid_and_in_their_box(seed, radius, local):
    bounds: PolicyBounds = RULES.policy
    box = box_around(ANCHOR, radius, bounds) if local else whole_box()
    drawn = random_policies(5, box, bounds, np.random.default_rng(seed))
    for item in drawn:
        assert parse_policy(item, bounds) == item
        assert all(round(value, 2) == value for value in item.model_dump().values())
    points = to_unit(encode(drawn), bounds)
    assert (points >= box.low - 0.005).all()
    assert (points <= box.high + 0.005).all()


def test_static_methods_recommend_what_their_artifacts_hold():
    task = Play(made("random_search")).entry().session.task()
    for name in ("fixed_reference", "common_policy"):
        content = ARTIFACTS.load(name).content["policy"]
        assert made(name).recommend(task) == parse_policy(content, RULES.policy)
