"""What the process predictor reads from a history, whatever way it was read."""

import copy

import numpy as np
import pytest

from slowlab.campaign.history import History
from slowlab.tools.artifacts import ArtifactError, ArtifactFolder, write_artifact
from slowlab.tools.errors import ToolError
from slowlab.tools.predictor import Predictor, margin_of, predict_crop
from slowlab.tools.process_features import (
    CANOPY_CHANNEL,
    CHANNELS,
    METERS,
    UnitSeries,
    crop_readings,
    input_matrix,
    input_names,
)
from slowlab.world.contract import load_contract
from slowlab.world.policy import POLICY_FIELDS, FieldsError
from slowlab.world.sensors import load_sensors
from slowlab.world.task import Feedback, task_description
from tests.tools.campaigns import policy
from tests.tools.predictors import write_predictor

CONTRACT = load_contract()
TASK = task_description(CONTRACT, load_sensors(), CONTRACT.economics.default_prices, Feedback.FULL)
RATES = {
    METERS["harvest"]: 0.2,
    METERS["heat"]: 0.8,
    METERS["light"]: 0.6,
    METERS["co2"]: 0.05,
}


def value_at(channel, day):
    """A meter that runs all the time; the canopy grows with the day."""
    return RATES[channel] * day if channel in RATES else 1.0 + 0.01 * int(day)


def status(unit, phase="active", number=1):
    return {"unit": unit, "phase": phase, "run_index": number}


class Reader:
    """A history that is told what an executor would tell."""

    def __init__(self, start=0.0, now=90.0, unit=1):
        self.unit, self.history = unit, History(TASK)
        self.now, planted = start, {"action": "start", "unit": unit, "policy": vars_of(policy())}
        self._add(planted, {"unit": unit, "run_index": 1})
        self.now = now
        self._add({"action": "advance", "day": now}, {"statuses": [status(unit)]})

    def _add(self, action, result):
        self.history.add(action, {"ok": True, "result": {"day": self.now, **result}})

    def _records(self, channel, resolution, rows):
        action = {"action": "observe", "unit": self.unit, "variable": channel}
        records = {"variable": channel, "resolution": resolution, "rows": rows}
        self._add(action, {"records": records, "status": status(self.unit)})

    def daily(self, channel, first, last):
        """Days from the beginning of the first to a time on the last."""
        rows = []
        for day in range(int(first), int(last) + 1):
            n = min(288, round((last - day) * 288) + 1)
            low, high = value_at(channel, day), value_at(channel, day + (n - 1) / 288)
            rows.append({"day": day, "n": n, "mean": (low + high) / 2, "min": low, "max": high})
        self._records(channel, "daily", rows)
        return self

    def raw(self, channel, *days):
        rows = [{"time_s": round(day * 86400), "value": value_at(channel, day)} for day in days]
        self._records(channel, "raw", rows)
        return self

    def all_daily(self, first, last):
        for channel in CHANNELS:
            self.daily(channel, first, last)
        return self

    def readings(self, start=0.0, before=None):
        return crop_readings(UnitSeries(self.history, self.unit), start, before)


def vars_of(found):
    return found.model_dump()


@pytest.fixture
def artifacts(tmp_path):
    return write_predictor(tmp_path)


def test_daily_reads_count():
    found = Reader().all_daily(0, 90).readings()
    assert found.feature_set == "all"
    assert found.age_days == pytest.approx(90 - 1 / 288)
    assert found.canopy == pytest.approx(1.89)
    assert found.so_far["heat"] == pytest.approx(0.8 * (90 - 1 / 288))


def test_the_first_reading_of_a_day_does_not_stand_for_the_day():
    whole = Reader().all_daily(0, 90).readings()
    reader = Reader(now=90.6).all_daily(0, 90.6)
    assert reader.readings().age_days == pytest.approx(90.6, abs=1 / 288)
    assert whole.age_days < 90


def test_raw_reads_count_and_know_their_time():
    reader = Reader(now=90.0)
    for channel in CHANNELS:
        reader.raw(channel, 89.5, 90.0)
    found = reader.readings()
    assert found.age_days == pytest.approx(90.0)
    assert found.so_far["harvest"] == pytest.approx(18.0)


def test_training_and_deployment_see_the_same_crop():
    """A finished campaign cut at an age, and the campaign at that age."""
    deployed = Reader(start=30.0, now=75.0).all_daily(30, 75.0).readings(30.0)
    finished = Reader(start=30.0, now=200.0).all_daily(0, 200.0).readings(30.0, before=75.0)
    assert finished == deployed


@pytest.mark.parametrize("first", [29, 30])
def test_zero_point_from_the_day_before_or_the_day_of_planting(first):
    found = Reader(start=30.0, now=75.0).all_daily(first, 75.0).readings(30.0)
    for name, channel in METERS.items():
        assert found.so_far[name] == pytest.approx(RATES[channel] * 45, rel=1e-3)


def test_zero_point_from_raw_records_of_the_hour_before_planting():
    reader = Reader(start=30.5, now=75.0)
    for channel in METERS.values():
        reader.raw(channel, 30.48)
    reader.daily(METERS["harvest"], 70, 75.0).daily(CANOPY_CHANNEL, 70, 75.0)
    found = reader.readings(30.5)
    assert found.feature_set == "harvest_lai"  # heat was read at planting only
    assert found.so_far["harvest"] == pytest.approx(0.2 * (75.0 - 30.48), rel=1e-3)


def test_without_a_zero_point_there_is_no_prediction(artifacts):
    reader = Reader(start=30.0, now=75.0)
    reader.daily(METERS["harvest"], 60, 75.0).daily(CANOPY_CHANNEL, 60, 75.0)
    with pytest.raises(ToolError, match="at planting") as error:
        predict_crop(reader.history, 1, 1, artifacts.load("predictor"))
    assert error.value.reason == "no_readings"


def test_harvest_and_canopy_must_be_read_together(artifacts):
    reader = Reader().daily(METERS["harvest"], 0, 90.0).daily(CANOPY_CHANNEL, 0, 60.0)
    with pytest.raises(ToolError, match="within one day"):
        predict_crop(reader.history, 1, 1, artifacts.load("predictor"))


def test_readings_of_other_meters_count_only_if_all_are_recent(artifacts):
    reader = Reader().all_daily(0, 60.0)
    reader.daily(METERS["harvest"], 61, 90.0).daily(CANOPY_CHANNEL, 61, 90.0)
    found = predict_crop(reader.history, 1, 1, artifacts.load("predictor"))
    assert found.feature_set == "harvest_lai"
    assert found.age_days == pytest.approx(90, abs=0.01)


def test_young_closed_and_unknown_crops_are_refused(artifacts):
    predictor = artifacts.load("predictor")
    young = Reader(now=9.0).all_daily(0, 9.0)
    with pytest.raises(ToolError) as error:
        predict_crop(young.history, 1, 1, predictor)
    assert error.value.reason == "too_young"
    with pytest.raises(ToolError) as error:
        predict_crop(young.history, 2, 1, predictor)
    assert error.value.reason == "no_such_crop"
    old = Reader(now=100.0).all_daily(0, 100.0)
    old._add({"action": "stop", "unit": 1}, {"unit": 1, "run_index": 1, "ready_day": 102.0})
    with pytest.raises(ToolError) as error:
        predict_crop(old.history, 1, 1, predictor)
    assert error.value.reason == "not_growing"


def test_ten_days_are_enough(artifacts):
    reader = Reader(now=10.0).all_daily(0, 10.0)
    assert predict_crop(reader.history, 1, 1, artifacts.load("predictor")).age_days < 10.0


def test_prediction_is_so_far_plus_what_is_to_come_and_its_margin_is_public(artifacts):
    reader = Reader().all_daily(0, 90.0)
    predictor = Predictor.from_artifact(artifacts.load("predictor"))
    found = predict_crop(reader.history, 1, 1, predictor)
    readings = reader.readings()
    inputs = predictor.inputs("all", [policy()], [0.0], [readings])[0]
    rest = 5.0 + sum(value / (i + 2) for i, value in enumerate(inputs))
    assert found.harvest_kg_m2 == pytest.approx(readings.so_far["harvest"] + rest)
    prices = TASK["prices"]
    expected = (
        (prices["fruit_eur_per_kg_fresh"] - 0.05) * found.harvest_kg_m2
        - prices["delivered_heat_eur_per_kwh"] * found.heat_kwh_m2
        - prices["electricity_eur_per_kwh"] * found.light_kwh_m2
        - prices["co2_eur_per_kg"] * found.co2_kg_m2
        - 0.01 * 180
        - 2.5
    )
    assert found.margin_eur_m2 == pytest.approx(expected)
    assert found.typical_error_eur_m2 == pytest.approx(6.5, abs=0.01)


def test_orders_of_keys_and_numbers_of_compartments_change_nothing(artifacts):
    predictor = artifacts.load("predictor")
    one = predict_crop(Reader().all_daily(0, 90.0).history, 1, 1, predictor)
    other = Reader(unit=3).all_daily(0, 90.0)
    turned = History(dict(reversed(list(copy.deepcopy(TASK).items()))))
    for item in other.history.exchanges:
        action = dict(reversed(list(item.action.items())))
        if "policy" in action:
            action["policy"] = dict(sorted(action["policy"].items()))
        turned.add(action, dict(reversed(list(item.reply.items()))))
    two = predict_crop(turned, 3, 1, predictor)
    assert vars(two) | {"unit": 1} == vars(one)


def test_inputs_are_taken_by_name():
    readings = Reader().all_daily(0, 90.0).readings()
    arguments = (CONTRACT.policy, 180.0, [policy()], [0.0], [readings])
    plain = input_matrix("all", *arguments)[0]
    turned = input_matrix("all", *arguments, fields=tuple(reversed(POLICY_FIELDS)))[0]
    np.testing.assert_array_equal(turned[:6], plain[:6][::-1])
    np.testing.assert_array_equal(turned[6:], plain[6:])
    assert len(plain) == len(input_names("all")) == 14
    assert len(input_names("harvest_lai")) == 11
    with pytest.raises(FieldsError):
        input_matrix("all", *arguments, fields=POLICY_FIELDS[:5])


def test_an_artifact_with_other_inputs_is_refused(artifacts, tmp_path):
    found = artifacts.load("predictor")
    content = copy.deepcopy(found.content)
    inputs = list(content["sets"]["all"]["inputs"])
    content["sets"]["all"]["inputs"] = [*inputs[1:], inputs[0]]
    path = tmp_path / "other" / "predictor.json"
    write_artifact(path, contract=CONTRACT.id, fields=found.fields, provenance={}, content=content)
    with pytest.raises(ArtifactError, match="inputs"):
        Predictor.from_artifact(ArtifactFolder(path.parent, CONTRACT.id).load("predictor"))


def test_totals_cost_what_the_task_says():
    nothing = dict.fromkeys(("harvest", "heat", "light", "co2"), 0.0)
    assert margin_of(nothing, TASK["prices"], 180) == pytest.approx(-2.0 - 0.5 - 1.8)
