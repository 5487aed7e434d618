"""Language models in a study: their tests, their counts, and the example campaign as a table."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from slowlab.analysis.agents import totals
from slowlab.analysis.example_steps import condensed
from slowlab.analysis.published import Version, secondary_tests
from slowlab.analysis.study_families import analysis_spec
from slowlab.analysis.study_inputs import MethodInfo
from slowlab.analysis.study_numbers import build_numbers
from slowlab.analysis.study_tables import csv_text, markdown_text, table
from slowlab.canonical import canonical_bytes
from tests.analysis.synthetic_agents import (
    ENDPOINT_CALLS,
    HOSTILE,
    OWN_CALLS,
    SHARED_CALLS,
    steps,
)
from tests.analysis.synthetic_study import (
    EFFECTS,
    FULL_GAIN,
    LEARNED,
    MODELS,
    describe,
    synthetic_inputs,
)

METHODS = ("fixed_reference", "random_search", "grower", "careful", "prior_bo")
SITES, REPEATS = 4, 2
STARTS = SITES * REPEATS


@pytest.fixture(scope="module")
def inputs():
    return synthetic_inputs(
        METHODS, sites=SITES, repeats=REPEATS, readers=("gp", "grower"), example_method="grower"
    )


@pytest.fixture(scope="module")
def numbers(inputs):
    return build_numbers(inputs)


@pytest.fixture(scope="module")
def exact():
    return build_numbers(synthetic_inputs(METHODS, sites=4, readers=(), noise=0.0))


def test_a_study_without_language_models_has_nothing_of_them() -> None:
    numbers = build_numbers(synthetic_inputs(sites=2, readers=()))
    assert numbers["agents"] is None
    questions = {test["question"] for test in numbers["tests"].values()}
    assert questions == {"e1", "e2", "gain"}
    assert not [name for name in table("table2", numbers) if name.startswith("initial")]
    assert "mean_model_calls" not in table("diagnostics", numbers)


def test_families_are_those_of_the_published_study() -> None:
    """Three models and a baseline give the 7 and 17 tests, with four readers."""
    names = ("grower", "careful", "third")
    models = tuple(
        MethodInfo(name=name, label=name, experiments=True, model=f"stand-in-{name}")
        for name in names
    )
    study = describe(("fixed_reference", "prior_bo"), 3, 2, ("gp", *names))
    study = study.model_copy(update={"methods": (*study.methods, *models)})
    primary, secondary = analysis_spec(study).families
    assert len(primary.tests) == 7
    assert len(secondary.tests) == 17
    assert [test.name for test in secondary.tests][:3] == [f"initial.{name}" for name in names]
    gains = [test.name for test in secondary.tests if test.name.startswith("feedback.")]
    assert gains == [
        f"feedback.{one}_less_{two}" for one, two in itertools.combinations((*names, "prior_bo"), 2)
    ]


def test_published_tests_stand_beside_those_of_the_same_model() -> None:
    inputs = synthetic_inputs(METHODS, sites=3, readers=())
    named = {"grower": "deepseek", "careful": "glm"}
    methods = tuple(
        item.model_copy(update={"published": named.get(item.name, item.published)})
        for item in inputs.study.methods
    )
    study = inputs.study.model_copy(update={"methods": methods})
    tests = build_numbers(replace(inputs, study=study))["tests"]
    published = secondary_tests(Version.CORRECTED)
    for test, name in (
        ("initial.grower", "deepseek_full_minus_initial"),
        ("feedback.grower_less_careful", "feedback_gain_deepseek_minus_glm"),
        ("feedback.grower_less_prior_bo", "feedback_gain_deepseek_minus_baseline"),
        ("gain.careful", "glm_full_minus_fixed_reference"),
    ):
        assert tests[test]["published"]["estimate"] == published[name].mean
        assert tests[test]["published"]["p_adjusted"] == published[name].p_bh_joint17


def test_known_effects_are_found(exact) -> None:
    tests = exact["tests"]
    for name, effect in MODELS.items():
        assert tests[f"initial.{name}"]["estimate"] == pytest.approx(LEARNED)
        assert tests[f"gain.{name}"]["estimate"] == pytest.approx(effect + FULL_GAIN)
        difference = effect - EFFECTS["prior_bo"]
        assert tests[f"e1.{name}"]["estimate"] == pytest.approx(difference)
    assert tests["feedback.grower_less_careful"]["estimate"] == pytest.approx(0.0, abs=1e-9)
    assert exact["means"]["grower"]["initial"]["mean"] == pytest.approx(
        exact["means"]["grower"]["full"]["mean"] - LEARNED
    )


def test_the_mean_before_any_experiment_stands_in_table_2(numbers) -> None:
    frame = table("table2", numbers).set_index("method")
    mean = numbers["means"]["grower"]["initial"]["mean"]
    assert frame.loc["grower (stand-in)", "initial"] == f"{mean:.2f}"
    assert frame.loc["prior bo", "initial"] == ""
    assert numbers["means"]["grower"]["initial"]["recommendations"] == STARTS


def test_what_branches_share_counts_once_in_totals(numbers) -> None:
    found = numbers["agents"]["methods"]["grower"]["totals"]
    own = STARTS * (OWN_CALLS + ENDPOINT_CALLS)
    assert found["model_calls"] == STARTS * SHARED_CALLS + own
    assert found["calls_initial"] == STARTS
    assert found["prompt_characters"] == 20_000 * found["model_calls"]
    assert found["cost_usd"] == pytest.approx(0.001 * found["model_calls"])
    assert found["faults"]["timed_out"] == found["failed_attempts"] == 4 * STARTS
    assert found["campaigns"] == 2 * STARTS
    whole = numbers["agents"]["totals"]
    both = [item["totals"] for item in numbers["agents"]["methods"].values()]
    assert whole["records"] == sum(item["records"] for item in both)


def test_what_a_branch_shares_with_nothing_counts_whole(inputs) -> None:
    alone = inputs.agents[inputs.agents["feedback"] == "full"]
    assert totals(alone)["model_calls"] == alone["model_calls"].sum()


def test_unknown_costs_stay_unknown(numbers) -> None:
    found = numbers["agents"]["methods"]["careful"]
    assert found["totals"]["cost_usd"] is None
    assert found["totals"]["prompt_tokens"] is None
    assert found["totals"]["attempts_of_unknown_cost"] > 0
    assert found["conditions"]["full"]["mean_per_campaign"]["cost_usd"] is None
    assert numbers["agents"]["totals"]["cost_usd"] is not None


def test_means_and_flags_are_by_campaign(numbers) -> None:
    full = numbers["agents"]["methods"]["grower"]["conditions"]["full"]
    assert full["campaigns"] == STARTS
    assert full["mean_per_campaign"]["model_calls"] == SHARED_CALLS + OWN_CALLS
    assert full["mean_per_campaign"]["format_errors"] == 3
    assert full["campaigns_with"]["forced_advance"] == REPEATS
    assert full["endings"] == {"recommended": STARTS}


def test_the_gate_of_the_predictor(inputs, numbers) -> None:
    full = numbers["agents"]["methods"]["grower"]["conditions"]["full"]["predictor"]
    assert full == {
        "attempts": 5 * STARTS,
        "with_readings": 4 * STARTS,
        "outputs": 4 * STARTS,
        "outputs_with_readings": 4 * STARTS,
        "share": 1.0,
        "reaches_gate": True,
    }
    none = numbers["agents"]["methods"]["grower"]["conditions"]["endpoint"]["predictor"]
    assert (none["attempts"], none["share"], none["reaches_gate"]) == (0, None, None)
    worse = inputs.agents.copy()
    some = (worse["method"] == "grower") & (worse["feedback"] == "full") & (worse["site"] == 0)
    worse.loc[some, "predictor_outputs_with_readings"] = 3
    found = build_numbers(replace(inputs, agents=worse))["agents"]["methods"]["grower"]
    predictor = found["conditions"]["full"]["predictor"]
    assert predictor["share"] == pytest.approx((4 * STARTS - REPEATS) / (4 * STARTS))
    assert predictor["reaches_gate"] is (predictor["share"] >= 0.95)
    assert not predictor["reaches_gate"]


def test_technical_failures_are_in_totals_but_not_in_means() -> None:
    failed = [(0, "grower", "full", 0)]
    inputs = synthetic_inputs(METHODS, sites=2, repeats=1, readers=(), failed=failed)
    found = build_numbers(inputs)["agents"]["methods"]["grower"]
    assert found["conditions"]["full"]["campaigns"] == 1
    assert found["totals"]["campaigns"] == 4


def test_the_table_of_language_models_has_what_only_models_have(numbers) -> None:
    frame = table("agents", numbers).set_index("measure")
    grower = frame["grower (stand-in), full"]
    assert grower["mean_model_calls"] == f"{SHARED_CALLS + OWN_CALLS}.00"
    assert grower["share_of_attempts_with_readings_answered"] == "1.00"
    assert grower["reaches_gate"] == "yes"
    assert grower["failed_attempts_by_fault"] == f"timed_out: {4 * STARTS}"
    assert grower["mean_cost_usd"] == "0.0650"
    assert frame.loc["mean_cost_usd", "careful, full"] == ""
    assert not [name for name in frame.columns if name.startswith("random search")]


def test_stand_ins_are_called_so_in_every_table(numbers) -> None:
    for name in ("table2", "gains", "by_year", "resources", "diagnostics", "campaigns", "readers"):
        text = csv_text(table(name, numbers))
        said = text.count("grower (stand-in)") + text.count("stand-in-grower")
        assert text.count("grower") == said > 0, name
    tests = numbers["tests"]
    assert all("grower (stand-in)" in t["label"] for n, t in tests.items() if "grower" in n)


def test_a_label_that_says_it_already_is_left_alone() -> None:
    said = MethodInfo(name="a", label="Stand-in grower", experiments=True, stand_in=True)
    assert said.shown == "Stand-in grower"


def test_model_readers_are_readers_of_all_sources(numbers) -> None:
    swaps = [item for item in numbers["readers"]["swaps"] if item["reader"] == "grower"]
    assert [item["source"] for item in swaps] == [*METHODS[1:]]
    assert not any(item["identity"] for item in swaps)
    assert numbers["readers"]["stand_ins"] == ["grower"]
    assert numbers["readers"]["labels"]["grower"] == "grower (stand-in)"


def test_sources_are_those_that_the_study_names() -> None:
    inputs = synthetic_inputs(METHODS, sites=3, reader_sources=("grower", "prior_bo"))
    numbers = build_numbers(inputs)
    assert numbers["readers"]["sources"] == ["grower", "prior_bo"]
    assert {item["source"] for item in numbers["readers"]["swaps"]} == {"grower", "prior_bo"}
    with pytest.raises(ValueError, match="'nobody' is not among the methods"):
        describe(METHODS, 3, 1, (), reader_sources=("nobody",))


def test_models_without_their_table_are_refused(inputs) -> None:
    with pytest.raises(ValueError, match="no table of their campaigns was given"):
        build_numbers(replace(inputs, agents=None))


def test_the_order_of_rows_changes_no_byte(inputs, numbers) -> None:
    mixed = {
        name: getattr(inputs, name).sample(frac=1.0, random_state=2) for name in ("agents", "steps")
    }
    assert canonical_bytes(build_numbers(replace(inputs, **mixed))) == canonical_bytes(numbers)


def test_table_4_is_the_example_campaign(numbers) -> None:
    told = numbers["example_steps"]
    assert (told["method"], told["site"], told["feedback"], told["repeat"]) == (
        "grower",
        0,
        "full",
        0,
    )
    assert (told["source"], told["steps"]) == ("transcript", 7)
    frame = table("table4", numbers)
    assert frame["day"].tolist() == ["0", "0 to 30", "365", "365"]
    assert frame["records"].tolist() == ["10", "13 to 19", "22 to 25", "28"]
    assert frame["action"].tolist()[1] == "1 read and 2 waits, day 0 to 30"
    assert frame["outcome"].tolist()[1] == "day 365; 31 rows of records"
    assert frame["action"].tolist()[2] == "gave no usable answer (2 times)"
    assert (
        frame["reason"].tolist()[3]
        == "\N{LEFT DOUBLE QUOTATION MARK}the best one\N{RIGHT DOUBLE QUOTATION MARK}"
    )


def test_a_hostile_reason_stays_text(numbers) -> None:
    frame = table("table4", numbers)
    (reason,) = [cell for cell in frame["reason"] if "alert" in cell]
    assert "\n" not in reason
    assert "\u202e" not in reason
    assert not reason.startswith("=")
    assert numbers["example_steps"]["rows"][0]["reason"] == HOSTILE
    text = markdown_text("table4", frame)
    assert "<script>" not in text
    assert "](javascript" not in text.replace("\\](", "")
    assert all(
        line.count(" | ") == len(frame.columns) - 1 for line in text.splitlines()[2:] if line
    )


def test_a_numerical_example_has_steps_without_reasons() -> None:
    inputs = synthetic_inputs(sites=2, readers=())
    bare = inputs.steps.assign(reason="", by="method")
    told = build_numbers(replace(inputs, steps=bare))["example_steps"]
    assert told["source"] == "journal"
    assert all(row["reason"] == "" for row in told["rows"])
    nothing = build_numbers(replace(inputs, steps=None))
    assert nothing["example_steps"]["source"] == "missing"
    assert table("table4", nothing).empty


def test_every_step_stands_in_exactly_one_row() -> None:
    listed = steps((0, "grower", "full", 0))
    for begin, end in itertools.combinations(range(len(listed) + 1), 2):
        part = listed[begin:end]
        rows = condensed(part)
        assert sum(row["steps"] for row in rows) == len(part)
        covered = [
            step["sequence"]
            for row in rows
            for step in part
            if row["first_record"] <= step["sequence"] <= row["last_record"]
        ]
        assert covered == [step["sequence"] for step in part]
