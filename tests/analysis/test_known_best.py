"""Headroom and side walls of a study: gains, shares, ranks, and tables that show them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slowlab.analysis.headroom import headroom_numbers
from slowlab.analysis.scores import cells_from_scores
from slowlab.analysis.side_wall import DRAWN, side_wall_numbers
from slowlab.analysis.study_numbers import build_numbers
from slowlab.analysis.study_tables import table, tables_of
from slowlab.canonical import canonical_bytes
from tests.analysis.synthetic_known_best import oracle_table, side_wall_table
from tests.analysis.synthetic_study import synthetic_inputs

METHODS = ("fixed_reference", "common_policy", "random_search", "prior_bo")
WALLS = [("fixed_reference", "none"), ("random_search", "full"), ("prior_bo", "full")]
ABOVE = (10.0, 6.0, 8.0, 4.0, 0.05, 7.0)
"""How far the best policy known of each site lies above the reference, EUR/m2."""


@pytest.fixture(scope="module")
def plain():
    return synthetic_inputs(METHODS, sites=6, readers=())


def means(inputs, method, feedback):
    rows = inputs.sites[(inputs.sites["method"] == method) & (inputs.sites["feedback"] == feedback)]
    return rows.groupby("site")["score_eur_m2"].mean()


@pytest.fixture(scope="module")
def inputs(plain):
    base = means(plain, "fixed_reference", "none")
    scores = {site: base[site] + above for site, above in enumerate(ABOVE)}
    oracle = oracle_table(scores, second={1: scores[1] - 1.0, 3: scores[3] + 0.5})
    wall = side_wall_table(plain, WALLS, lambda site, method, value: 0.0)
    return replace(plain, oracle=oracle, side_wall=wall)


def headroom(inputs):
    return headroom_numbers(inputs, cells_from_scores(inputs.own_scores, inputs.design))


def test_headroom_is_the_mean_above_the_reference(inputs):
    found = headroom(inputs)
    assert found["best_known"]["estimate"] == pytest.approx(np.mean(ABOVE))
    assert found["best_known"]["ci_low"] < np.mean(ABOVE) < found["best_known"]["ci_high"]
    assert found["without_headroom"] == [4]
    assert found["search_repeat"]["differences"] == [pytest.approx(-1.0), pytest.approx(0.5)]
    assert found["search_repeat"]["mean"] == pytest.approx(-0.25)
    assert found["optimism"]["mean"] == pytest.approx(0.5)
    assert "fixed_reference" not in found["methods"]


def test_a_methods_share_is_the_ratio_of_mean_gains(inputs):
    base = means(inputs, "fixed_reference", "none")
    gain = means(inputs, "prior_bo", "full") - base
    cell = headroom(inputs)["methods"]["prior_bo"]
    assert cell["estimate"] == pytest.approx(gain.mean())
    assert cell["share"] == pytest.approx(gain.mean() / np.mean(ABOVE))
    assert cell["above_best_known"] == int((gain.to_numpy() > np.array(ABOVE)).sum())


def test_the_best_policy_itself_reaches_all_of_the_headroom(plain):
    """A method that is made the oracle has the share 1 and is never above it."""
    scores = means(plain, "common_policy", "none")
    found = headroom(replace(plain, oracle=oracle_table(scores.to_dict())))
    cell = found["methods"]["common_policy"]
    assert (cell["share"], cell["above_best_known"]) == (1.0, 0)
    assert cell["estimate"] == found["best_known"]["estimate"]


def test_methods_are_compared_on_the_searched_sites_alone(inputs):
    few = {0: 50.0, 3: 45.0, 5: None}
    found = headroom(replace(inputs, oracle=oracle_table(few)))
    assert found["sites"] == [0, 3]
    assert {cell["n_sites"] for cell in found["methods"].values()} == {2}
    assert (found["sought"], found["missing"]) == (3, {"synthetic failure": 1})


def test_published_headroom_stands_beside_ours(inputs):
    """Study results: +7.56 best known, +4.83 baseline, -0.70 GLM, over eight sites."""
    published = headroom(inputs)["published"]
    assert published["best_known"] == pytest.approx(7.56, abs=0.005)
    assert published["methods"]["baseline"] == pytest.approx(4.83, abs=0.005)
    assert published["methods"]["glm"] == pytest.approx(-0.70, abs=0.005)
    assert published["n_sites"] == 8
    assert headroom(inputs)["methods"]["prior_bo"]["published"] == published["methods"]["baseline"]


def wall(plain, changed):
    return side_wall_numbers(replace(plain, side_wall=side_wall_table(plain, WALLS, changed)))


def test_walls_that_change_nothing_change_no_rank(plain):
    found = wall(plain, lambda site, method, value: 3.0)
    for setting in found["settings"][1:]:
        assert setting["ranking_changes"] is False
        assert setting["flips"] == []
        assert setting["ranking_kept_share"] == 1.0
        for name, cell in setting["methods"].items():
            drawn = found["settings"][0]["methods"][name]
            assert cell["mean"] == pytest.approx(drawn["mean"] + 3.0)
            if name != "prior_bo":
                assert cell["minus_baseline"]["estimate"] == pytest.approx(
                    drawn["minus_baseline"]["estimate"]
                )
                assert cell["minus_baseline_change"]["estimate"] == pytest.approx(0.0, abs=1e-9)


def test_a_sure_change_of_order_is_called_sure(plain):
    """With walls of 4 random search gains 50 on every site and becomes the first."""
    found = wall(
        plain, lambda site, method, value: 50.0 * (method == "random_search") * (value == 4.0)
    )
    zero, four = found["settings"][1:]
    assert (zero["ranking_changes"], four["ranking_changes"]) == (False, True)
    assert four["methods"]["random_search"]["rank"] == 1
    assert four["methods"]["random_search"]["rank_drawn"] == 3
    assert four["first_kept_share"] == 0.0
    flips = {frozenset((f["better_as_drawn"], f["worse_as_drawn"])): f for f in four["flips"]}
    assert set(flips) == {
        frozenset(("random_search", "prior_bo")),
        frozenset(("random_search", "fixed_reference")),
    }
    flip = flips[frozenset(("random_search", "prior_bo"))]
    assert flip["better_as_drawn"] == "prior_bo"
    assert flip["flipped_share"] == 1.0
    assert flip["here"]["ci_high"] < 0 < flip["drawn"]["ci_low"]
    assert flip["change"]["estimate"] == pytest.approx(-50.0)


def test_a_change_of_order_by_one_site_is_called_unsure(plain):
    found = wall(
        plain,
        lambda site, method, value: 90.0 * (method == "random_search" and site == 2),
    )
    (flip,) = [f for f in found["settings"][2]["flips"] if f["better_as_drawn"] == "prior_bo"]
    assert 0.3 < flip["flipped_share"] < 0.95
    assert flip["here"]["ci_low"] < 0 < flip["here"]["ci_high"]


def test_a_site_without_a_score_is_left_out_everywhere(plain):
    found = wall(
        plain,
        lambda site, method, value: None if (site, method, value) == (2, "prior_bo", 4.0) else 0.0,
    )
    assert found["left_out"] == [2]
    assert {cell["n_sites"] for s in found["settings"] for cell in s["methods"].values()} == {5}


def test_published_side_walls_stand_beside_ours(inputs):
    """Study results: the baseline's mean 28.16 as drawn; nothing was published for 3 W/m2K."""
    found = side_wall_numbers(inputs)["settings"]
    assert found[0]["published"]["prior_bo"]["mean"] == pytest.approx(28.157, abs=0.001)
    odd = side_wall_table(inputs, WALLS, lambda *_: 0.0, exchanges=(3.0,))
    assert side_wall_numbers(replace(inputs, side_wall=odd))["settings"][1]["published"] is None


@pytest.fixture(scope="module")
def numbers(inputs):
    return build_numbers(inputs)


def test_studies_without_these_stages_have_no_such_tables(plain, numbers):
    bare = build_numbers(plain)
    assert (bare["headroom"], bare["side_wall"]) == (None, None)
    assert not {"headroom", "side_wall"} & set(tables_of(bare))
    assert {"headroom", "side_wall"} <= set(tables_of(numbers))


def test_tables_show_the_numbers(numbers):
    frame = table("headroom", numbers).set_index("what")
    best = numbers["headroom"]["best_known"]
    assert float(frame.loc["best known policy", "eur_m2"]) == pytest.approx(
        best["estimate"], abs=0.005
    )
    assert frame.loc["best known policy", "published"] == "7.56"
    for name, cell in numbers["headroom"]["methods"].items():
        row = frame.loc[name.replace("_", " ")]
        assert float(row["share_of_headroom"]) == pytest.approx(cell["share"], abs=0.005)
    assert frame.loc["optimism of the choice, removed", "eur_m2"] == "0.50"
    walls = table("side_wall", numbers).set_index(["side_wall_w_m2_k", "method"])
    for setting in numbers["side_wall"]["settings"]:
        for name, cell in setting["methods"].items():
            row = walls.loc[setting["setting"], name.replace("_", " ")]
            assert float(row["mean"]) == pytest.approx(cell["mean"], abs=0.005)
            assert row["rank"] == str(cell["rank"])
    assert walls.loc[(DRAWN, "prior bo"), "change_from_drawn"] == ""


def test_the_anchored_table_has_a_row_of_the_best_known_policy(numbers):
    frame = table("anchored", numbers).set_index("method")
    assert frame.loc["best known policy", "anchored"] == "1.00"
    assert frame.loc["best known policy", "anchored_sites"] == "5"
    assert frame.loc["best known policy", "missing"] == "no_headroom: 1"


def test_the_numbers_do_not_depend_on_the_order_of_rows(inputs, numbers):
    turned = {
        name: getattr(inputs, name)[::-1] for name in ("oracle", "side_wall", "sites", "scores")
    }
    again = build_numbers(replace(inputs, **turned))
    for section in ("headroom", "side_wall"):
        assert canonical_bytes(again[section]) == canonical_bytes(numbers[section])
