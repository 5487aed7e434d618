"""From a study file and its tables to the analysis, and the drawing scripts."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from slowlab.analysis.numbers_file import write_numbers
from slowlab.analysis.study_numbers import build_numbers
from slowlab.config import validate_config
from slowlab.evaluation.score import SCORE_SCHEMA
from slowlab.plan.study import StudyConfig
from slowlab.report.paper_item import figure_script, table_script
from slowlab.report.study import READINGS, TABLES, describe_study, load_inputs
from slowlab.world.contract import load_contract
from slowlab.world.site_distribution import load_sites
from tests.analysis.synthetic_study import synthetic_inputs

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "figures").glob("*.py"))


def config(**changes) -> StudyConfig:
    settings = {
        "study": "made-up",
        "partition": "development",
        "sites": 6,
        "repeats": 2,
        "methods": [
            {"name": "fixed_reference"},
            {"name": "random_search", "stand_in": True},
            {"name": "prior_bo", "settings": {"anchor": False}, "label": "Prior BO"},
        ],
        "analysis": {
            "baseline": "prior_bo",
            "reference": "fixed_reference",
            "example_method": "prior_bo",
            "timeline_methods": ["prior_bo"],
            "flips": 200,
            "resamples": 200,
        },
    }
    return validate_config(settings | changes, StudyConfig, "study")


def test_a_study_file_is_described() -> None:
    study = describe_study(config(), load_contract(), load_sites())
    assert study.marks == ("REHEARSAL", "STAND-IN")
    assert [item.label for item in study.methods] == [
        "fixed reference",
        "random search",
        "Prior BO",
    ]
    assert study.method("fixed_reference").published == "fixed_reference"
    assert study.method("prior_bo").published is None
    assert [item.experiments for item in study.methods] == [False, True, True]


def test_drafts_are_marked_and_confirmatory_studies_are_not() -> None:
    draft = load_contract().model_copy(update={"draft": True})
    marks = describe_study(config(purpose="development"), draft, load_sites()).marks
    assert marks == ("DEVELOPMENT", "DRAFT", "STAND-IN")
    plain = config(purpose="confirmatory").model_copy(
        update={
            "methods": tuple(e.model_copy(update={"stand_in": False}) for e in config().methods)
        }
    )
    assert describe_study(plain, load_contract(), load_sites()).marks == ()


def test_tables_of_a_folder_give_numbers(tmp_path) -> None:
    synthetic = synthetic_inputs(readers=())
    for name, (file, schema) in TABLES.items():
        (tmp_path / file).write_bytes(schema.parquet(getattr(synthetic, name)))
    inputs = load_inputs(config(), tmp_path)
    assert inputs.readings is None
    assert set(inputs.hashes) == set(TABLES)
    numbers = build_numbers(inputs)
    expected = build_numbers(synthetic)["tests"]["gain.prior_bo"]["differences"]
    assert numbers["tests"]["gain.prior_bo"]["differences"] == expected
    assert READINGS not in {path.name for path in tmp_path.iterdir()}
    assert SCORE_SCHEMA is TABLES["scores"][1]


@pytest.fixture(scope="module")
def numbers_file(tmp_path_factory):
    numbers = build_numbers(synthetic_inputs(sites=3))
    return write_numbers(tmp_path_factory.mktemp("numbers") / "numbers.json", numbers)


@pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_every_script_makes_its_files(script, numbers_file, tmp_path, monkeypatch) -> None:
    suffixes = (".svg", ".png") if script.stem.startswith("figure") else (".csv", ".md")
    outputs = [tmp_path / f"{script.stem}{suffix}" for suffix in suffixes]
    monkeypatch.setattr(sys, "argv", [script.name, str(numbers_file), *map(str, outputs)])
    runpy.run_path(str(script), run_name="__main__")
    assert all(path.stat().st_size > 100 for path in outputs)
    captions = "".join(
        (ROOT / "workflow" / "report" / f"{kind}.rst").read_text() for kind in ("figure", "table")
    )
    assert f'== "{script.stem}" %}}' in captions


def test_other_suffixes_are_refused(numbers_file, tmp_path) -> None:
    with pytest.raises(SystemExit, match=r"figure1: numbers.json and outputs ending in"):
        figure_script("figure1", [str(numbers_file), str(tmp_path / "figure1.pdf")])
    with pytest.raises(SystemExit, match="table2"):
        table_script("table2", [str(numbers_file)])
