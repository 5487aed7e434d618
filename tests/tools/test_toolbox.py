"""The six analysis tools: what they return, what they refuse, what has no effect on them."""

import json

import numpy as np
import pytest

from slowlab.campaign.history import History
from slowlab.campaign.session import ToolCall
from slowlab.canonical import canonical_bytes
from slowlab.tools import arguments
from slowlab.tools.toolbox import rounded
from slowlab.world.economics import Prices
from slowlab.world.policy import POLICY_FIELDS, Policy
from tests.campaign.moves import advance, observe, ok, start
from tests.tools.campaigns import (
    CANOPY,
    HARVEST,
    HEAT,
    PLANTED,
    contract,
    open_campaign,
    played_campaign,
    policy,
    rebuilt,
    toolbox,
    turned,
    use,
)

ASKED = policy(day=23.0, night=16.0, co2=950.0).model_dump()


def every_call(unit=0, change=lambda data: data):
    """A call of each tool that works in the played campaign."""
    calls = [
        ("runs", {}),
        ("fit_outcome_model", {}),
        ("predict", {"policies": [ASKED, PLANTED[1].model_dump()]}),
        ("predict", {"policies": [ASKED], "planting_day": 90}),
        ("space_filling_candidates", {"n": 5, "fixed": {"co2_target_ppm": 900}}),
        ("series_summary", {"unit": unit, "variable": HARVEST, "start_day": 190}),
        ("predict_crop_outcome", {"unit": unit, "run_index": 2}),
    ]
    return [ToolCall(name, change(given)) for name, given in calls]


def answers(tools, calls):
    """Replies as bytes."""
    return [tools(call).canonical() for call in calls]


def test_all_announced_tools_exist_and_no_others(history):
    announced = {row["tool"] for row in history.task["analysis_tools"]}
    assert {call.name for call in every_call()} == announced


def test_runs_lists_every_crop_with_the_policy_that_was_sent(tools):
    rows = use(tools, "runs")["runs"]
    assert [(row["unit"], row["run_index"]) for row in rows] == [
        (0, 1),
        (0, 2),
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
        (3, 1),
    ]
    assert [row["policy"] for row in rows if row["run_index"] == 1] == [
        item.model_dump() for item in PLANTED
    ]
    assert rows[0]["state"] == "closed"
    assert rows[0]["reason"] == "completed"
    growing = rows[1]
    assert (growing["state"], growing["start_day"]) == ("growing", 182.0)
    assert growing["margin_eur_m2"] is None


def test_margins_follow_the_prices_of_the_site():
    dear = Prices(
        fruit_eur_per_kg_fresh=3.0,
        electricity_eur_per_kwh=0.5,
        delivered_heat_eur_per_kwh=0.2,
        co2_eur_per_kg=0.4,
    )
    run = played_campaign(prices=dear)
    row = use(toolbox(run.history), "runs")["runs"][0]
    told = run.history.task["prices"]
    assert told["fruit_eur_per_kg_fresh"] == 3.0
    expected = (
        (3.0 - told["harvest_handling_eur_per_kg"]) * row["harvest_kg_m2"]
        - 0.2 * row["heat_kwh_m2"]
        - 0.5 * row["light_kwh_m2"]
        - 0.4 * row["co2_kg_m2"]
        - told["background_service_eur_per_m2_day"] * 180
        - told["planting_eur_per_m2"]
        - told["cleaning_eur_per_m2"]
    )
    assert row["margin_eur_m2"] == pytest.approx(expected, rel=1e-5)


def test_predicted_margins_of_a_crop_follow_the_prices_too(artifacts):
    found = []
    for fruit in (2.0, 4.0):
        prices = contract().economics.default_prices.model_copy(
            update={"fruit_eur_per_kg_fresh": fruit}
        )
        run = played_campaign(prices=prices)
        call = {"unit": 0, "run_index": 2}
        found.append(use(toolbox(run.history, artifacts=artifacts), "predict_crop_outcome", **call))
    gained = found[1]["margin_eur_m2"] - found[0]["margin_eur_m2"]
    assert gained == pytest.approx(2.0 * found[0]["harvest_kg_m2"], rel=1e-4)


def test_predict_uses_the_scored_dates_unless_a_day_is_given(tools, history):
    both = use(tools, "predict", policies=[ASKED])
    assert both["planting_days"] == [row["day"] for row in history.task["scoring"]["plantings"]]
    apart = [use(tools, "predict", policies=[ASKED], planting_day=day) for day in (0, 182)]
    mean = np.mean([item["predictions"][0]["margin_eur_m2"] for item in apart])
    assert both["predictions"][0]["margin_eur_m2"] == pytest.approx(mean, rel=1e-4)
    planted = use(tools, "predict", policies=[p.model_dump() for p in PLANTED], planting_day=0)
    seen = [row["margin_eur_m2"] for row in use(tools, "runs")["runs"] if row["run_index"] == 1]
    told = [row["margin_eur_m2"] for row in planted["predictions"]]
    assert told == pytest.approx(seen, abs=6.0)


def test_a_fit_tells_a_length_scale_for_every_input(tools):
    told = use(tools, "fit_outcome_model")
    assert told["completed_crops"] == 4
    assert set(POLICY_FIELDS) < set(told["length_scales"])
    assert told["leave_one_out_rmse_eur_m2"] > 0


def test_results_have_six_significant_digits_and_stay_numbers(tools):
    for call in every_call():
        result = tools(call).result
        assert rounded(result, 6) == result
    assert rounded({"a": [1234567, 1234567.0, -0.0, True, None, 0.000123456789]}, 6) == {
        "a": [1234567, 1234570.0, 0.0, True, None, 0.000123457]
    }


def test_equal_seeds_give_equal_bytes_whatever_was_called_before(history, artifacts):
    calls = every_call()
    first = answers(toolbox(history, 7, artifacts), calls)
    backwards = answers(toolbox(history, 7, artifacts), calls[::-1])[::-1]
    repeated = toolbox(history, 7, artifacts)
    answers(repeated, calls)
    assert first == backwards == answers(repeated, calls)


def test_other_seeds_and_other_arguments_give_other_candidates(history):
    def drawn(seed, **given):
        return use(toolbox(history, seed), "space_filling_candidates", **given)["policies"]

    assert drawn(1, n=4) != drawn(2, n=4)
    assert drawn(1, n=4) != drawn(1, n=5)[:4]
    assert drawn(1, n=4, fixed={"co2_target_ppm": 900}) == drawn(
        1, n=4, fixed={"co2_target_ppm": 900.0}
    )
    assert drawn(2**127, n=1)


def test_the_order_of_keys_has_no_effect(history, artifacts):
    plain = answers(toolbox(history, 7, artifacts), every_call())
    other = answers(toolbox(rebuilt(history), 7, artifacts), every_call(change=turned))
    assert plain == other


def test_policies_taken_by_position_would_be_noticed(history, artifacts, monkeypatch):
    def by_position(raw, bounds):
        return Policy.model_construct(**dict(zip(POLICY_FIELDS, raw.values(), strict=True)))

    monkeypatch.setattr(arguments, "parse_policy", by_position)
    with pytest.raises(AssertionError):
        test_the_order_of_keys_has_no_effect(history, artifacts)


def test_a_history_that_takes_policies_by_position_would_be_noticed(artifacts):
    class ByPosition(History):
        def crops(self):
            def shifted(crop):
                values = dict(sorted(crop.policy.model_dump().items())).values()
                return crop.__class__(
                    **{
                        **vars(crop),
                        "policy": Policy.model_construct(
                            **dict(zip(POLICY_FIELDS, values, strict=True))
                        ),
                    }
                )

            return [shifted(crop) for crop in super().crops()]

    wrong = ByPosition(open_campaign().history.task)
    for item in played_campaign().history.exchanges:
        wrong.add(item.action, item.reply)
    with pytest.raises(AssertionError):
        test_runs_lists_every_crop_with_the_policy_that_was_sent(toolbox(wrong, 7, artifacts))


def renamed(value, names):
    """The same data with other numbers of compartments."""
    if isinstance(value, dict):
        return {
            key: names[item] if key == "unit" and item in names else renamed(item, names)
            for key, item in value.items()
        }
    return [renamed(item, names) for item in value] if isinstance(value, list) else value


def test_the_numbers_of_compartments_have_no_effect(history, artifacts):
    names = {0: 2, 1: 0, 2: 3, 3: 1}
    other = rebuilt(history, lambda data: renamed(data, names))
    plain, changed = toolbox(history, 7, artifacts), toolbox(other, 7, artifacts)
    for mine, theirs in zip(every_call(0), every_call(2), strict=True):
        expected, found = plain(mine).result, changed(theirs).result
        if mine.name == "runs":
            expected = {"runs": sorted(renamed(expected["runs"], names), key=json.dumps)}
            found = {"runs": sorted(found["runs"], key=json.dumps)}
        else:
            expected = renamed(expected, names)
        assert canonical_bytes(expected) == canonical_bytes(found), mine.name


def check_ingestion(history_class, artifacts):
    """What is read raw or daily reaches the summary and the predictor, in the same way."""
    found = []
    for resolution in ("daily", "raw"):
        run = open_campaign()
        ok(run.dispatch(start(1, ASKED)))
        ok(run.dispatch(advance(40)))
        window = {} if resolution == "daily" else {"start_day": 39.0}
        for name in (HARVEST, CANOPY, HEAT, "lighting_energy", "co2_dosed"):
            ok(run.dispatch(observe(1, variable=name, resolution=resolution, **window)))
        seen = history_class(run.history.task)
        for item in run.history.exchanges:
            seen.add(item.action, item.reply)
        tools = toolbox(seen, artifacts=artifacts)
        summary = tools(ToolCall("series_summary", {"unit": 1, "variable": HEAT, "start_day": 39}))
        outcome = tools(ToolCall("predict_crop_outcome", {"unit": 1, "run_index": 1}))
        assert summary.ok, resolution
        assert outcome.ok, resolution
        found.append((summary.result["days"], outcome.result))
    (daily, by_daily), (raw, by_raw) = found
    assert daily == raw
    assert by_daily["feature_set"] == by_raw["feature_set"] == "all"
    assert by_daily["margin_eur_m2"] == pytest.approx(by_raw["margin_eur_m2"], abs=1.0)


def test_whatever_was_read_reaches_the_tools(artifacts):
    check_ingestion(History, artifacts)


def test_a_history_that_ignores_daily_rows_would_be_noticed(artifacts):
    class RawOnly(History):
        def daily(self, unit, variable):
            rows = self._days_of_raw(unit, variable)
            return [rows[day] for day in sorted(rows)]

    with pytest.raises(AssertionError, match="daily"):
        check_ingestion(RawOnly, artifacts)


def test_the_summary_keeps_to_its_window(tools):
    call = {"unit": 0, "variable": HARVEST}
    whole = use(tools, "series_summary", **call)
    assert [row["day"] for row in whole["days"]] == list(range(150, 201))
    part = use(tools, "series_summary", **call, start_day=160, end_day=162)
    assert part["days"] == whole["days"][10:13]
    assert use(tools, "series_summary", **call, end_day=10)["days"] == []
