"""Tables: rounded from the numbers, empty where there is nothing, marked where they must be."""

from __future__ import annotations

import io
from dataclasses import replace

import pandas as pd
import pytest

from slowlab.analysis.answer import answer
from slowlab.analysis.environment_table import environment_rows
from slowlab.analysis.numbers_file import read_numbers, write_numbers
from slowlab.analysis.study_numbers import build_numbers
from slowlab.analysis.study_tables import (
    TITLES,
    csv_text,
    markdown_text,
    table,
    tables,
)
from tests.analysis.synthetic_study import synthetic_inputs, without


@pytest.fixture(scope="module")
def numbers():
    return build_numbers(synthetic_inputs(("fixed_reference", "common_policy", "prior_bo")))


def test_means_are_those_of_the_numbers(numbers) -> None:
    frame = table("table2", numbers).set_index("method")
    cell = numbers["means"]["prior_bo"]["full"]
    assert frame.loc["prior bo", "full"] == f"{cell['mean']:.2f}"
    assert frame.loc["prior bo", "full_published"] == "33.62"
    assert frame.loc["prior bo", "no_campaign"] == ""
    assert frame.loc["fixed reference", "no_campaign_sites"] == "6"


def test_every_table_reads_back_as_csv_and_bears_the_marks(numbers) -> None:
    for name, frame in tables(numbers).items():
        again = pd.read_csv(io.StringIO(csv_text(frame)), dtype="str", keep_default_na=False)
        pd.testing.assert_frame_equal(again, frame, check_dtype=False)
        assert set(frame["mark"]) == {"SYNTHETIC"}, name
        assert markdown_text(name, frame).startswith(f"# {TITLES[name]}\n")


def test_tables_are_the_same_from_the_file(numbers, tmp_path) -> None:
    """A canonical file sorts its keys, which must not move a row."""
    again = read_numbers(write_numbers(tmp_path / "numbers.json", numbers))
    for name in TITLES:
        assert csv_text(table(name, again)) == csv_text(table(name, numbers)), name
    assert answer(again) == answer(numbers)
    methods = table("table2", again)["method"].tolist()
    assert methods == ["fixed reference", "common policy", "prior bo"]


def test_without_marks_there_is_no_column_of_them() -> None:
    numbers = build_numbers(synthetic_inputs(sites=3, readers=(), marks=()))
    assert "mark" not in table("table2", numbers)


def test_environment_comes_from_contract_and_distribution() -> None:
    inputs = synthetic_inputs(sites=1, readers=())
    rows = environment_rows(inputs.contract, inputs.distribution, "cabauw", ("full",))
    values = {(row["group"], row["item"]): (row["value"], row["basis"]) for row in rows}
    assert values["facility", "compartments"] == ("4 of 96 m2", "rule of the task")
    assert values["facility", "weather years"] == ("cabauw", "observed")
    assert values["site, hidden", "max lai"][1] == "assumed"
    assert values["site, hidden", "leakage coefficient"] == (
        "3e-05 to 0.0002, loguniform",
        "literature",
    )
    longer = inputs.contract.calendar.model_copy(update={"crop_days": 150})
    other = inputs.contract.model_copy(update={"calendar": longer})
    rows = environment_rows(other, inputs.distribution, "synthetic", ("full",))
    assert {
        "group": "calendar",
        "item": "crop",
        "value": "150 d",
        "basis": "rule of the task",
    } in rows


def test_missing_methods_leave_empty_cells() -> None:
    numbers = build_numbers(without(synthetic_inputs(), "random_search"))
    frame = table("table2", numbers).set_index("method")
    assert frame.loc["random search", "full"] == ""
    assert frame.loc["random search", "full_sites"] == "0"
    gains = table("gains", numbers).set_index("method")
    assert gains.loc["random search", "estimate"] == ""


def test_both_forms_hold_the_table(numbers) -> None:
    frame = table("gains", numbers)
    assert csv_text(frame).startswith("method,sites,")
    assert "| common policy |" in markdown_text("gains", frame)


def test_the_answer_says_what_was_estimated(numbers) -> None:
    text = answer(numbers)
    gain = numbers["tests"]["gain.prior_bo"]["estimate"]
    assert text.startswith("On 6 synthetic sites, prior bo scored ")
    assert f"{gain:+.2f}" in text
    assert "no other method was compared" in text


def test_the_answer_without_tests_or_scores() -> None:
    one = build_numbers(synthetic_inputs(sites=1, repeats=1, readers=()))
    assert "(no interval)" in answer(one)
    assert "one site allows no test" in answer(one)
    nothing = build_numbers(without(synthetic_inputs(sites=2, readers=()), "prior_bo"))
    assert answer(nothing) == (
        "On 2 synthetic sites there is no score of prior bo to compare with."
    )


def test_no_readers_make_an_empty_table() -> None:
    numbers = build_numbers(replace(synthetic_inputs(sites=2, readers=()), readings=None))
    assert table("readers", numbers).empty
