"""Leaderboard: the mean decides, lock and scoring are in every row, stand-ins are called so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slowlab.analysis.autolab import autolab_numbers
from slowlab.analysis.leaderboard import scoring_id
from slowlab.analysis.scores import cells_from_scores
from slowlab.analysis.study_numbers import build_numbers
from slowlab.analysis.study_tables import table
from tests.analysis.synthetic_study import EFFECTS, synthetic_inputs, without

METHODS = ("fixed_reference", "common_policy", "grower", "random_search", "prior_bo")


def board(inputs):
    cells = cells_from_scores(inputs.own_scores, inputs.design)
    return autolab_numbers(inputs, cells)["leaderboard"]


@pytest.fixture(scope="module")
def inputs():
    return synthetic_inputs(METHODS, sites=3, readers=(), noise=0.0)


def test_methods_stand_in_the_order_of_their_means(inputs) -> None:
    rows = board(inputs)["rows"]
    assert [(row["rank"], row["method"]) for row in rows] == [
        (1, "common_policy"),
        (2, "prior_bo"),
        (3, "fixed_reference"),
        (4, "grower"),
        (5, "random_search"),
    ]
    assert {row["feedback"] for row in rows} == {"none", "full"}


def test_the_mean_decides_and_not_the_best(inputs) -> None:
    """One lucky attempt gives the higher best, and no higher rank."""
    scores = inputs.scores.copy()
    mine = (scores["method"] == "random_search") & (scores["feedback"] == "full")
    scores.loc[mine & (scores["repeat"] == 0), "margin_eur_m2"] += 20.0
    scores.loc[mine & (scores["repeat"] == 1), "margin_eur_m2"] -= 20.0
    rows = {row["method"]: row for row in board(replace(inputs, scores=scores))["rows"]}
    assert rows["random_search"]["best_at_k"] > rows["common_policy"]["best_at_k"]
    assert rows["random_search"]["rank"] == 5
    assert rows["random_search"]["k"] == 2


def test_equal_scores_share_a_rank() -> None:
    plain = synthetic_inputs((*EFFECTS,)[:3], sites=2, readers=(), noise=0.0)
    scores = plain.scores.assign(margin_eur_m2=30.0)
    assert [row["rank"] for row in board(replace(plain, scores=scores))["rows"]] == [1, 1, 1]


def test_an_incomplete_method_has_no_rank() -> None:
    failed = [(1, "prior_bo", "full", 0)]
    rows = board(synthetic_inputs(METHODS, sites=3, readers=(), noise=0.0, failed=failed))["rows"]
    last = rows[-1]
    assert (last["method"], last["rank"]) == ("prior_bo", None)
    assert (last["scored"], last["planned"]) == (5, 6)
    assert [row["rank"] for row in rows[:-1]] == [1, 2, 3, 4]
    nothing = board(without(synthetic_inputs(METHODS, sites=2, readers=()), "grower"))["rows"]
    assert (nothing[-1]["method"], nothing[-1]["average_at_k"]) == ("grower", None)


def test_whatever_decides_what_a_score_means_changes_the_key(inputs) -> None:
    rules = inputs.contract.model_copy(update={"id": "another-contract"})
    drawn = inputs.distribution.model_copy(update={"id": "other-sites"})
    fewer = inputs.study.model_copy(update={"sites": (0, 1)})
    measured = inputs.study.model_copy(update={"weather": "cabauw"})
    tested = inputs.study.model_copy(update={"partition": "test"})
    renamed = inputs.study.model_copy(update={"study": "another", "base_seed": 1})
    others = [
        replace(inputs, contract=rules),
        replace(inputs, distribution=drawn),
        *(replace(inputs, study=study) for study in (fewer, measured, tested)),
    ]
    keys = [scoring_id(item) for item in (inputs, *others)]
    assert len(set(keys)) == len(keys)
    assert scoring_id(replace(inputs, study=renamed)) == scoring_id(inputs)


def test_another_version_of_the_program_is_another_key(inputs, monkeypatch) -> None:
    known = scoring_id(inputs)
    monkeypatch.setattr("slowlab.analysis.leaderboard.version", lambda _: "99.0.0")
    assert scoring_id(inputs) != known


def test_every_row_bears_its_keys_and_says_what_is_a_stand_in(inputs) -> None:
    frame = table("leaderboard", build_numbers(inputs)).set_index("method")
    assert set(frame["lock"]) == {"none: exploratory"}
    assert set(frame["scoring"]) == {scoring_id(inputs)}
    assert dict(frame["stand_in"])["grower (stand-in)"] == "yes"
    assert list(frame["stand_in"]).count("yes") == 1
    locked = table("leaderboard", build_numbers(replace(inputs, lock="ab" * 32)))
    assert set(locked["lock"]) == {"ab" * 32}
