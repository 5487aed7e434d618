"""Anchored scores and k attempts of a study: anchors are exact, what is missing says why."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from slowlab.analysis.anchoring import ORACLE_SCHEMA, Unanchored
from slowlab.analysis.autolab import autolab_numbers
from slowlab.analysis.scores import cells_from_scores
from slowlab.analysis.study_numbers import build_numbers
from slowlab.analysis.study_tables import csv_text, table
from slowlab.canonical import canonical_bytes
from slowlab.evaluation.tables import TableError
from tests.analysis.synthetic_known_best import oracle_table
from tests.analysis.synthetic_study import EFFECTS, synthetic_inputs

METHODS = ("fixed_reference", "common_policy", "random_search", "prior_bo")


def measured(inputs):
    """The section of the numbers, without the tests, which take longer."""
    return autolab_numbers(inputs, cells_from_scores(inputs.own_scores, inputs.design))


def site_scores(inputs, method, feedback):
    """Mean score by site, computed another way."""
    rows = inputs.scores[
        (inputs.scores["method"] == method) & (inputs.scores["feedback"] == feedback)
    ]
    return rows.groupby("site")["margin_eur_m2"].mean()


def oracle_of(scores, above=0.0, error=0.1):
    """A table of best-known policies that score a little above some scores."""
    return ORACLE_SCHEMA.table(
        [
            {"site": site, "score_eur_m2": score + above, "error_eur_m2": error}
            for site, score in scores.items()
        ]
    )


@pytest.fixture(scope="module")
def inputs():
    plain = synthetic_inputs(METHODS, sites=5, readers=())
    return replace(plain, oracle=oracle_of(site_scores(plain, "common_policy", "none")))


@pytest.fixture(scope="module")
def anchored(inputs):
    return measured(inputs)["anchored"]["methods"]


def test_reference_is_zero_and_oracle_one_on_every_site(anchored) -> None:
    assert anchored["fixed_reference"]["none"]["anchored"] == [0.0] * 5
    assert anchored["common_policy"]["none"]["anchored"] == [1.0] * 5
    assert anchored["common_policy"]["none"]["n_sites"] == 5


def test_baseline_is_one_half_where_it_lies_between(inputs) -> None:
    """With the baseline well inside the headroom, three anchors give 0, 1/2 and 1."""
    plain = synthetic_inputs(METHODS, sites=5, readers=(), noise=0.0)
    scores = site_scores(plain, "common_policy", "none")
    found = measured(replace(plain, oracle=oracle_of(scores)))["anchored"]["methods"]
    for method, mode, value in (
        ("fixed_reference", "none", 0.0),
        ("prior_bo", "full", 0.5),
        ("common_policy", "none", 1.0),
    ):
        assert found[method][mode]["mid_anchored"] == pytest.approx([value] * 5, abs=1e-9)


def test_scores_below_the_reference_are_negative_and_cut_at_zero(anchored) -> None:
    cell = anchored["random_search"]["full"]
    assert cell["mean_anchored"] < 0
    assert cell["mean_anchored"] == pytest.approx(np.mean(cell["anchored"]))
    assert all(0 <= value <= 1 for value in cell["clipped"])


def test_without_an_oracle_nothing_is_anchored_and_the_common_policy_is_none() -> None:
    plain = synthetic_inputs(METHODS, sites=3, readers=(), common="common_policy")
    found = measured(plain)["anchored"]
    assert not found["oracle"]
    for modes in found["methods"].values():
        for cell in modes.values():
            assert cell["anchored"] == cell["mid_anchored"] == [None] * 3
            assert cell["missing"] == {Unanchored.NO_ORACLE: 3}
            assert cell["mean_anchored"] is None


def test_headroom_within_the_error_of_a_site_leaves_it_without_a_score(inputs) -> None:
    oracle = inputs.oracle.copy()
    headroom = oracle.loc[2, "score_eur_m2"] - site_scores(inputs, "fixed_reference", "none")[2]
    oracle.loc[2, "error_eur_m2"] = headroom * (1 + 1e-9)
    cell = measured(replace(inputs, oracle=oracle))["anchored"]["methods"]["prior_bo"]["full"]
    assert cell["reasons"] == ["", "", "no_headroom", "", ""]
    assert cell["anchored"][2] is None
    oracle.loc[2, "error_eur_m2"] = headroom * (1 - 1e-9)
    cell = measured(replace(inputs, oracle=oracle))["anchored"]["methods"]["prior_bo"]["full"]
    assert cell["missing"] == {}


def test_every_missing_value_says_why() -> None:
    failed = [(1, "random_search", "full", 0), (2, "fixed_reference", "none", 0)]
    failed += [(3, "prior_bo", "full", 1)]
    plain = synthetic_inputs(METHODS, sites=5, readers=(), failed=failed)
    oracle = ORACLE_SCHEMA.table(
        [{"site": site, "score_eur_m2": 90.0, "error_eur_m2": 0.0} for site in range(4)]
    )
    found = measured(replace(plain, oracle=oracle))["anchored"]["methods"]["random_search"]["full"]
    assert found["reasons"] == ["", "no_score", "no_reference", "", "no_oracle_here"]
    assert found["mid_reasons"] == [
        "",
        "no_score",
        "no_reference",
        "no_baseline",
        "no_oracle_here",
    ]


def test_a_bad_table_of_oracles_is_refused(inputs) -> None:
    with pytest.raises(TableError, match="error_eur_m2"):
        measured(replace(inputs, oracle=oracle_of({0: 40.0}, error=-1.0)))


def test_k_attempts_are_those_of_the_scores(inputs) -> None:
    found = measured(inputs)["attempts"]["methods"]["prior_bo"]["full"]
    rows = inputs.scores.query("method == 'prior_bo' and feedback == 'full'")
    repeats = rows.groupby(["site", "repeat"])["margin_eur_m2"].mean().unstack()
    assert found["average_at_k"] == pytest.approx(repeats.mean(axis=1).mean())
    assert [row["k"] for row in found["by_k"]] == [1, 2]
    one, both = found["by_k"]
    assert one["best"] == one["worst"] == pytest.approx(found["average_at_k"])
    assert both["best"] == pytest.approx(repeats.max(axis=1).mean())
    assert both["worst"] == pytest.approx(repeats.min(axis=1).mean())
    spread = repeats.max(axis=1) - repeats.min(axis=1)
    assert found["mean_range"] == pytest.approx(spread.mean())


def test_the_agent_chooses_by_what_it_read(inputs) -> None:
    crops = inputs.crops.copy()
    chosen = (crops["method"] == "prior_bo") & (crops["repeat"] == 0)
    crops.loc[chosen, "margin_eur_m2"] = 50.0
    rows = inputs.scores.query("method == 'prior_bo' and feedback == 'full' and repeat == 0")
    found = measured(replace(inputs, crops=crops))["attempts"]["methods"]
    last = found["prior_bo"]["full"]["by_k"][-1]
    assert last["self_selected"] == pytest.approx(rows["margin_eur_m2"].mean())
    crops.loc[crops["method"] == "prior_bo", "totals_read_day"] = np.nan
    found = measured(replace(inputs, crops=crops))["attempts"]["methods"]
    assert found["prior_bo"]["full"]["by_k"][-1]["self_selected"] is None
    assert found["common_policy"]["none"]["by_k"][-1]["self_selected_n_sites"] == 0


def test_totals_of_other_crops_choose_nothing() -> None:
    found = measured(synthetic_inputs(sites=2, readers=(), feedback=("shuffled",)))
    cell = found["attempts"]["methods"]["prior_bo"]["shuffled"]
    assert cell["by_k"][-1]["self_selected"] is None


def test_dominance_counts_small_differences_as_ties() -> None:
    plain = synthetic_inputs((*EFFECTS,), sites=3, repeats=1, readers=(), noise=0.0)
    found = measured(plain)["dominance"]
    place = {name: row for row, name in enumerate(found["methods"])}
    pairs = found["pairwise"]
    assert pairs[place["common_policy"]][place["prior_bo"]] == 1.0
    assert pairs[place["random_search"]][place["prior_bo"]] == 0.0
    assert pairs[place["greedy_grower"]][place["fixed_reference"]] == 0.5
    assert pairs[place["prior_bo"]][place["prior_bo"]] is None
    assert found["overall"][place["common_policy"]] == 1.0


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_order_of_rows_changes_nothing(seed) -> None:
    plain = small()
    plain = replace(plain, oracle=oracle_of(site_scores(plain, "prior_bo", "full"), above=9.0))
    mixed = {
        name: getattr(plain, name).sample(frac=1.0, random_state=seed).reset_index(drop=True)
        for name in ("scores", "campaigns", "crops", "reads", "oracle")
    }
    assert canonical_bytes(measured(replace(plain, **mixed))) == canonical_bytes(measured(plain))


@settings(max_examples=25, deadline=None)
@given(headroom=st.floats(0.5, 50), error=st.floats(0, 60))
def test_anchors_are_no_ops_whatever_the_headroom(headroom, error) -> None:
    """On every site with headroom the reference scores 0 and lies below every gain."""
    assume(abs(headroom - error) > 1e-6)
    plain = small()
    scores = site_scores(plain, "fixed_reference", "none")
    oracle = oracle_of(scores, above=headroom, error=error)
    cell = measured(replace(plain, oracle=oracle))["anchored"]["methods"]
    expected = [0.0 if gap > error else None for gap in oracle["score_eur_m2"] - scores]
    assert cell["fixed_reference"]["none"]["anchored"] == expected
    gains = site_scores(plain, "prior_bo", "full") - scores
    wanted = [
        gain / gap if gap > error else None
        for gain, gap in zip(gains, oracle["score_eur_m2"] - scores, strict=True)
    ]
    assert [v is None for v in cell["prior_bo"]["full"]["anchored"]] == [v is None for v in wanted]
    for value, other in zip(cell["prior_bo"]["full"]["anchored"], wanted, strict=True):
        assert value == (None if other is None else pytest.approx(other, abs=1e-8))


@cache
def small():
    return synthetic_inputs(("fixed_reference", "prior_bo"), sites=2, readers=())


def test_the_table_shows_means_and_reasons(inputs) -> None:
    small = synthetic_inputs(METHODS, sites=3, readers=())
    frame = table("anchored", build_numbers(small)).set_index(["method", "feedback"])
    row = frame.loc["prior bo", "full"]
    assert (row["anchored"], row["missing"]) == ("", "no_oracle: 3")
    assert row["k"] == "2"
    oracle = oracle_table(dict.fromkeys(range(3), 40.0))
    frame = table("anchored", build_numbers(replace(small, oracle=oracle)))
    values = frame.set_index("method")
    assert values.loc["fixed reference", "anchored"] == "0.00"
    assert csv_text(frame).startswith("method,feedback,anchored_sites,")
