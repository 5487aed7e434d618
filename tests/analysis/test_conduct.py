"""Conduct of campaigns: idle time, staggering, use of evidence, persistence, cost, generations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from slowlab.analysis.autolab import autolab_numbers
from slowlab.analysis.campaign_facts import campaign_facts
from slowlab.analysis.conduct import (
    MEASURES,
    evidence_use,
    improvements,
    rank_correlation,
    replans,
    stagger,
    totals_read,
)
from slowlab.analysis.scores import cells_from_scores
from slowlab.analysis.study_numbers import build_numbers
from slowlab.analysis.study_tables import table
from slowlab.canonical import canonical_bytes
from tests.analysis.synthetic_study import MODELS, synthetic_inputs

METHODS = ("fixed_reference", "grower", "careful", "prior_bo")
NAME = (0, "prior_bo", "full", 0)


def measured(inputs):
    return autolab_numbers(inputs, cells_from_scores(inputs.own_scores, inputs.design))


@pytest.fixture(scope="module")
def inputs():
    return synthetic_inputs(METHODS, sites=3, readers=(), noise=0.0)


@pytest.fixture(scope="module")
def facts(inputs):
    cells = cells_from_scores(inputs.own_scores, inputs.design)
    return campaign_facts(inputs, cells)[NAME]


def planted_on(facts, *days):
    """The campaign with a crop planted on each of some days, each a little warmer."""
    rows = [
        {**facts.crops.iloc[0].to_dict(), "start_day": day, "end_day": day + 10.0, "unit": place}
        | {"day_temperature_c": 18.0 + place, "margin_eur_m2": 10.0 + place}
        for place, day in enumerate(days)
    ]
    crops = facts.crops.iloc[:0]
    return replace(facts, crops=type(crops)(rows, columns=crops.columns))


def test_two_waves_are_hardly_staggered(facts) -> None:
    assert stagger(facts, None) == pytest.approx(1 / 7)
    assert stagger(planted_on(facts, 0.0, 30.0, 60.0, 90.0), None) == 1.0
    assert stagger(planted_on(facts, 0.0, 3.0, 6.0), None) == 0.0
    assert stagger(planted_on(facts, 0.0), None) is None


def test_evidence_is_used_where_something_was_read_between_plantings(facts) -> None:
    assert evidence_use(facts, None) == 1.0
    blind = replace(facts, reads=facts.reads.iloc[:0])
    assert evidence_use(blind, None) == 0.0
    early = replace(facts, reads=facts.reads[facts.reads["day"] <= 30.0])
    assert evidence_use(replace(planted_on(facts, 0.0, 50.0, 90.0), reads=early.reads), None) == 0.5
    assert evidence_use(planted_on(facts, 0.0, 1.0), None) is None


def test_replans_bring_new_policies(facts) -> None:
    assert replans(facts, None) == 0.0
    assert replans(planted_on(facts, 0.0, 30.0, 60.0), None) == 2.0


def test_improvements_are_totals_better_than_all_before(facts) -> None:
    crops = facts.crops.assign(
        totals_read_day=[180.0] * 4 + [200.0, 210.0, 220.0, 230.0],
        margin_eur_m2=[1.0, 9.0, 2.0, 3.0, 8.0, 10.0, 10.0, 11.0],
    )
    assert improvements(replace(facts, crops=crops), None) == 2.0
    unread = replace(facts, crops=crops.assign(totals_read_day=np.nan))
    assert improvements(unread, None) == 0.0
    assert totals_read(unread, None) == 0.0
    shuffled = replace(facts, name=(0, "prior_bo", "shuffled", 0), crops=crops)
    assert improvements(shuffled, None) is None


def test_time_that_was_left(inputs) -> None:
    """Four compartments, two crops of 180 days with 2 days of cleaning, the second a day late."""
    found = measured(inputs)["conduct"]["methods"]["prior_bo"]
    full, endpoint = (found[mode]["measures"] for mode in ("full", "endpoint"))
    assert full["idle_unit_days"]["mean"] == 4 * (365 - 182 - 182)
    assert endpoint["idle_unit_days"]["mean"] == 4 * (365 - 182 - 182)
    assert full["idle_share"]["mean"] == pytest.approx(4 / (4 * 365))
    assert full["unused_starts"]["mean"] == 16 - 8
    assert full["forced_endgame"] == {"mean": None, "campaigns": 0, "with_gain": None}


def test_a_harness_that_ended_a_campaign_is_counted(inputs) -> None:
    """The synthetic harness sent the models of the first of three sites to the last day."""
    found = measured(inputs)["conduct"]["methods"]["grower"]["full"]["measures"]
    assert found["forced_endgame"]["mean"] == pytest.approx(1 / 3)
    assert found["probes"]["mean"] == 0.0


def test_persistence_goes_with_gain_where_it_was_planted(inputs) -> None:
    agents = inputs.agents.copy()
    agents["incumbents"] = agents["site"] + agents["repeat"]
    scores = inputs.scores.copy()
    grown = scores["method"] == "grower"
    scores.loc[grown, "margin_eur_m2"] = 50.0 + 2.0 * (scores["site"] + scores["repeat"])[grown]
    reference = scores["method"] == "fixed_reference"
    scores.loc[reference, "margin_eur_m2"] = 30.0
    found = measured(replace(inputs, agents=agents, scores=scores))["conduct"]["methods"]
    assert found["grower"]["full"]["measures"]["incumbents"]["with_gain"] == 1.0
    assert found["grower"]["full"]["measures"]["probes"]["with_gain"] is None
    few = measured(synthetic_inputs(METHODS, sites=1, readers=()))["conduct"]["methods"]
    assert few["grower"]["full"]["measures"]["idle_unit_days"]["with_gain"] is None


def test_technical_failures_are_left_out() -> None:
    plain = synthetic_inputs(METHODS, sites=3, readers=(), failed=[NAME])
    found = measured(plain)["conduct"]["methods"]["prior_bo"]
    assert (found["full"]["campaigns"], found["endpoint"]["campaigns"]) == (5, 6)


@settings(max_examples=60, deadline=None)
@given(
    pairs=st.lists(
        st.tuples(st.integers(-5, 5), st.floats(-50, 50, allow_subnormal=False)),
        min_size=2,
        max_size=12,
    )
)
def test_rank_correlation_is_that_of_scipy(pairs) -> None:
    first, second = zip(*pairs, strict=True)
    found = rank_correlation(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(spearmanr(first, second).statistic, abs=1e-8)


def test_order_of_rows_changes_nothing(inputs) -> None:
    mixed = {
        name: getattr(inputs, name).sample(frac=1.0, random_state=8)
        for name in ("scores", "campaigns", "crops", "reads", "agents", "steps")
    }
    assert canonical_bytes(measured(replace(inputs, **mixed))) == canonical_bytes(measured(inputs))


def test_every_measure_is_given_in_every_condition(inputs) -> None:
    for modes in measured(inputs)["conduct"]["methods"].values():
        for cell in modes.values():
            assert set(cell["measures"]) == set(MEASURES)


def test_unknown_cost_is_never_on_the_frontier(inputs) -> None:
    """The first model's cost is known in part, the second's not at all."""
    rows = {row["method"]: row for row in measured(inputs)["cost_frontier"]}
    assert [rows[name]["cost_known"] for name in ("grower", "careful")] == ["part", "nothing"]
    assert rows["careful"]["usd_per_campaign"] is None
    assert rows["grower"]["on_frontier"] is None
    assert rows["grower"]["stand_in"]
    assert rows["prior_bo"]["on_frontier"]
    assert not rows["fixed_reference"]["on_frontier"]


def test_a_dearer_method_must_score_more(inputs) -> None:
    agents = inputs.agents.assign(attempts_of_unknown_cost=0, cost_usd=0.5)
    known = replace(inputs, agents=agents)
    rows = {row["method"]: row for row in measured(known)["cost_frontier"]}
    assert [rows[name]["on_frontier"] for name in ("grower", "careful")] == [False, False]
    scores = known.scores.copy()
    scores.loc[scores["method"] == "careful", "margin_eur_m2"] += 20.0
    rows = {row["method"]: row for row in measured(replace(known, scores=scores))["cost_frontier"]}
    assert rows["careful"]["on_frontier"]
    assert rows["prior_bo"]["on_frontier"]
    assert rows["careful"]["usd_per_campaign"] == 0.5


def test_the_table_shows_means_and_costs(inputs) -> None:
    frame = table("conduct", build_numbers(inputs)).set_index(["method", "feedback"])
    row = frame.loc["grower (stand-in)", "full"]
    assert (row["campaigns"], row["mean_unused_starts"]) == ("6", "8.00")
    assert (row["cost_known"], row["on_cost_frontier"]) == ("part", "")
    assert frame.loc["prior bo", "full"]["on_cost_frontier"] == "yes"
    assert frame.loc["prior bo", "endpoint"]["cost_known"] == ""
    assert frame.loc["prior bo", "full"]["mean_probes"] == ""


def with_predecessor(inputs, model, **changes):
    methods = tuple(
        item.model_copy(update={"predecessor": model, **changes})
        if item.name == "careful"
        else item
        for item in inputs.study.methods
    )
    return replace(inputs, study=inputs.study.model_copy(update={"methods": methods}))


def test_a_model_is_compared_with_its_predecessor(inputs) -> None:
    assert measured(inputs)["generations"] == []
    (row,) = measured(with_predecessor(inputs, "stand-in-grower"))["generations"]
    assert (row["method"], row["before"], row["n_sites"]) == ("careful", "grower", 3)
    assert row["mean"] == pytest.approx(MODELS["careful"] - MODELS["grower"])
    assert row["stand_in"]


def test_another_harness_or_an_absent_model_is_no_predecessor(inputs) -> None:
    for study in (
        with_predecessor(inputs, "stand-in-grower", harness="digest_only"),
        with_predecessor(inputs, "a-model-elsewhere"),
    ):
        (row,) = measured(study)["generations"]
        assert (row["before"], row["mean"], row["n_sites"]) == (None, None, 0)
