"""Decisions of the local optimisers, and the campaigns that they make of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from slowlab.campaign.history import SeenCrop, Totals
from slowlab.config import ConfigError
from slowlab.methods import _local_bo as local
from slowlab.methods._field_work import Estimate
from slowlab.methods._registry import build_method
from slowlab.tools.season_kernel import SeasonKernel
from slowlab.world.policy import Policy, encode, to_unit
from slowlab.world.task import Feedback, task_description
from tests.campaign import fake_facility
from tests.toy_world import (
    CONTRACT,
    PRICES,
    SENSORS,
    ToyTools,
    planted,
    play_toys,
    smaller,
    toy_artifacts,
)

TASK = task_description(CONTRACT, SENSORS, PRICES, Feedback.FULL)
ANCHOR = CONTRACT.fixed_reference
BOUNDS = CONTRACT.policy
NOTHING = Totals(0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory):
    return toy_artifacts(tmp_path_factory.mktemp("artifacts"))


@pytest.fixture(scope="module")
def kernel(artifacts):
    return SeasonKernel.from_artifact(artifacts.load("kernel"))


def crop(unit, index, day, margin=None, reason="completed", **fields) -> SeenCrop:
    """A crop of the anchor with some fields changed; it grows where it has no margin."""
    policy = Policy(**(ANCHOR.model_dump() | fields))
    if margin is None:
        return SeenCrop(unit, index, policy, float(day))
    totals = replace(NOTHING, margin_eur_m2=margin)
    return SeenCrop(unit, index, policy, float(day), True, reason, day + 180.0, totals)


SEEN = [
    crop(0, 1, 0, 24.0),
    crop(1, 1, 0, 31.0, supplemental_light_hours=8.0),
    crop(2, 1, 90, None, supplemental_light_hours=7.0, day_temperature_c=22.0),
    crop(3, 1, 90, 60.0, "safety_stop", day_temperature_c=25.5),
]


def known(kernel, **changes) -> local.Knowledge:
    return replace(local.Knowledge(ANCHOR, 0.3, kernel, 64), **changes)


def choose(kernel, crops, estimates=None, **changes):
    rng = np.random.default_rng(2)
    return local.choose_next(known(kernel, **changes), TASK, crops, estimates or {}, 2, 182, rng)


def test_only_normally_completed_crops_and_predictions_are_observed():
    seen = local.observations(SEEN, {(2, 1): Estimate(35.0, 6.0), (3, 1): Estimate(1.0, 1.0)})
    assert seen.margins_eur_m2 == (31.0, 24.0, 35.0)
    assert seen.error_sd_eur_m2 == (0.0, 0.0, 6.0)
    assert len(local.observations(SEEN)) == 2


def test_renaming_compartments_changes_no_decision(kernel):
    estimates = {(2, 1): Estimate(35.0, 6.0)}
    names = {0: 3, 1: 2, 2: 0, 3: 1}
    renamed = [replace(item, unit=names[item.unit]) for item in SEEN[::-1]]
    moved = {(names[unit], index): value for (unit, index), value in estimates.items()}
    for model in (kernel, None):
        assert choose(model, SEEN, estimates) == choose(model, renamed, moved)
        assert local.best_tried(model, TASK, SEEN) == local.best_tried(model, TASK, renamed)


def test_choices_are_new_and_near_the_best_policy(kernel):
    crops = [SEEN[0], SEEN[1], SEEN[3]]
    chosen = choose(kernel, crops)
    assert len(set(chosen)) == 2
    assert not set(chosen) & {item.policy for item in crops}
    centre = to_unit(encode([SEEN[1].policy]), BOUNDS)
    away = np.abs(to_unit(encode(chosen), BOUNDS) - centre)
    assert away.max() <= 0.3 + 2e-3


def test_a_crop_that_was_stopped_is_never_the_best(kernel):
    assert local.best_tried(kernel, TASK, SEEN) == SEEN[1].policy
    assert SEEN[3].policy not in local.candidates_worth_a_score(SEEN)


def test_nothing_is_chosen_before_anything_is_known(kernel):
    assert choose(kernel, [SEEN[2]]) == []
    assert local.best_tried(kernel, TASK, [SEEN[2]], otherwise=ANCHOR) == ANCHOR
    with pytest.raises(ValueError, match="no crop was completed"):
        local.best_tried(kernel, TASK, [SEEN[3]])


def test_an_uncertain_prediction_counts_less(kernel):
    crops = [crop(0, 1, 0), crop(1, 1, 0, supplemental_light_hours=7.0)]

    def gap(error):
        estimates = {(0, 1): Estimate(20.0, error), (1, 1): Estimate(40.0, error)}
        seen = local.observations(crops, estimates)
        means, _ = local.fit(kernel, BOUNDS, seen).scored([c.policy for c in crops], [0, 182])
        return means[1] - means[0]

    assert gap(0.0) > 18 > 2 * gap(15.0) > 0


def test_a_running_crop_keeps_its_surroundings_from_being_chosen_again(kernel):
    seen = local.observations(SEEN)
    plain = local.fit(kernel, BOUNDS, seen)
    believed = local.believe_running(plain, SEEN, seen)
    point = [SEEN[2].policy]
    assert believed.at(point, 90)[1][0] < 0.5 * plain.at(point, 90)[1][0]


def test_the_four_cells_of_knowledge_are_configuration(artifacts):
    for anchor in (True, False):
        for kind in ("frozen", "free"):
            settings = local.LocalBoSettings(anchor=anchor, kernel=kind, radius=0.2)
            rng = np.random.default_rng(1)
            found = local.local_knowledge(settings, artifacts, TASK, rng)
            assert (found.centre == ANCHOR) == anchor
            assert (found.kernel is None) == (kind == "free")
            assert found.radius == 0.2
    found = local.local_knowledge(local.LocalBoSettings(), artifacts, TASK, np.random.default_rng())
    assert found.radius == artifacts.load("radius").content["radius"]


def test_knowing_nothing_needs_no_artifact(tmp_path):
    nowhere = replace(toy_artifacts(tmp_path / "a"), folder=tmp_path / "empty")
    settings = {"anchor": False, "kernel": "free", "radius": 0.3}
    (run,) = play_toys("prior_bo", nowhere, [0], settings=settings)
    assert run.settlement.fallback_reason is None


def test_settings_are_checked(artifacts):
    with pytest.raises(ConfigError, match="radius"):
        build_method("prior_bo", {"radius": 2.0}, artifacts)
    with pytest.raises(ConfigError, match="frozen"):
        build_method("prior_bo_two_wave", {"kernel": "thawed"}, artifacts)


def starts(run):
    return [(crop.start_day, crop.unit) for crop in run.history.crops()]


def test_staggered_campaigns_follow_the_calendar(artifacts):
    for feedback in (Feedback.FULL, Feedback.ENDPOINT):
        (run,) = play_toys("prior_bo", artifacts, [2], feedback=feedback)
        assert sorted(starts(run)) == [(0, 0), (0, 1), (90, 2), (90, 3), (182, 0), (182, 1)]
        assert planted(run)[0] == ANCHOR.model_dump()
        assert run.recommended.model_dump() in planted(run)
        assert all(crop.totals is not None for crop in run.history.crops())


def test_the_day_of_the_second_wave_is_a_setting(artifacts):
    (run,) = play_toys("prior_bo", artifacts, [2], settings={"second_wave_day": 60})
    assert sorted({day for day, _ in starts(run)}) == [0, 60, 182]
    (run,) = play_toys("prior_bo", artifacts, [2], settings={"second_wave_day": 60.001})
    assert sorted({day for day, _ in starts(run)}) == [0, 60, 182]
    assert run.settlement.rejections == {}
    (run,) = play_toys("prior_bo", artifacts, [2], settings={"second_wave_day": 0})
    assert len(starts(run)) == 8


@pytest.mark.parametrize("name", ["prior_bo_two_wave", "global_bo"])
def test_synchronous_campaigns_grow_eight_crops(name, artifacts):
    (run,) = play_toys(name, artifacts, [2])
    assert sorted(starts(run)) == [(day, unit) for day in (0, 182) for unit in range(4)]
    assert len({str(policy) for policy in planted(run)}) == 8


def test_five_channels_of_every_running_crop_are_read_before_it_is_predicted(artifacts):
    (run,) = play_toys("prior_bo", artifacts, [2])
    tools = [action["arguments"] for action in run.actions if "tool" in action]
    wanted = [(0, 1), (1, 1), (2, 1), (3, 1)]
    assert [(call["unit"], call["run_index"]) for call in tools] == wanted
    reads = [action for action in run.actions if "variable" in action]
    assert len(reads) == 20
    assert {action["resolution"] for action in reads} == {"daily"}
    assert {action["start_day"] for action in reads if action["unit"] == 2} == {89.0}


def test_predictions_change_what_is_planted_next(artifacts, monkeypatch):
    def plan():
        return planted(play_toys("prior_bo", artifacts, [2])[0])

    usual = plan()
    native = ToyTools._predicted

    def other(self, unit, index):
        reply = native(self, unit, index)
        margin = 60.0 if unit == 1 else 5.0
        return replace(reply, result=reply.result | {"margin_eur_m2": margin})

    monkeypatch.setattr(ToyTools, "_predicted", other)
    assert plan()[:2] == usual[:2]
    assert plan()[2:4] != usual[2:4]


def test_records_are_not_read_where_calls_are_short(artifacts):
    contract = smaller(interface_calls=26)
    (run,) = play_toys("prior_bo", artifacts, [2], contract=contract)
    assert len(starts(run)) == 6
    assert all(crop.totals is not None for crop in run.history.crops())


@pytest.mark.parametrize("name", ["prior_bo", "prior_bo_two_wave", "global_bo"])
def test_when_every_crop_fails_the_first_policy_is_recommended(name, artifacts, monkeypatch):
    monkeypatch.setattr(fake_facility, "COOKED_C", -math.inf)
    for feedback in (Feedback.FULL, Feedback.ENDPOINT):
        (run,) = play_toys(name, artifacts, [2], feedback=feedback)
        assert {crop.reason for crop in run.history.crops()} == {"safety_stop"}
        assert run.recommended.model_dump() == planted(run)[0]
        assert run.settlement.rejections == {}
