"""From a study file and its tables to the analysis, and the drawing scripts."""

from __future__ import annotations

import runpy
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from slowlab.agents.models import model_config
from slowlab.analysis.numbers_file import write_numbers
from slowlab.analysis.study_numbers import build_numbers
from slowlab.config import validate_config
from slowlab.evaluation.best_known import BEST_KNOWN_SCHEMA
from slowlab.evaluation.score import SCORE_SCHEMA
from slowlab.evaluation.side_wall import SIDE_WALL_SCHEMA
from slowlab.plan.study import StudyConfig
from slowlab.report.paper_item import figure_script, table_script
from slowlab.report.study import (
    AGENT_TABLES,
    READINGS,
    TABLES,
    describe_study,
    example_journal,
    load_inputs,
)
from slowlab.world.contract import load_contract
from slowlab.world.site_distribution import load_sites
from tests.analysis.synthetic_known_best import oracle_table, side_wall_table
from tests.analysis.synthetic_study import synthetic_inputs
from tests.methods.contract_world import Play, made

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(
    path for path in (ROOT / "figures").glob("*.py") if not path.stem.startswith("second_look")
)
"""Those that read the numbers alone; for the others see tests/analysis/test_second_look.py."""


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
    write_tables(synthetic, TABLES, tmp_path)
    journal = tmp_path / example_journal(config())
    Play(made("random_search"), journal=journal).run()
    inputs = load_inputs(config(), tmp_path)
    assert (inputs.readings, inputs.agents) == (None, None)
    assert set(inputs.hashes) == {*TABLES, "example_journal"}
    assert set(inputs.steps["by"]) == {"method"}
    numbers = build_numbers(inputs)
    assert numbers["example_steps"]["source"] == "journal"
    expected = build_numbers(synthetic)["tests"]["gain.prior_bo"]["differences"]
    assert numbers["tests"]["gain.prior_bo"]["differences"] == expected
    assert READINGS not in {path.name for path in tmp_path.iterdir()}
    assert SCORE_SCHEMA is TABLES["scores"][1]


def write_tables(inputs, tables, folder: Path) -> None:
    for name, (file, schema) in tables.items():
        (folder / file).write_bytes(schema.parquet(getattr(inputs, name)))


def test_the_journal_of_a_numerical_example_must_be_there(tmp_path) -> None:
    write_tables(synthetic_inputs(readers=()), TABLES, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"site-000\.jsonl"):
        load_inputs(config(), tmp_path)


def models_config(**changes):
    """A study with a stand-in as its example, and one of the published models."""
    return config(
        methods=[
            {"name": "fixed_reference"},
            {"name": "grower", "model": "stand-in-grower", "stand_in": True},
            {"name": "careful", "model": "deepseek-v4.1-flash", "harness": "digest_notes"},
            {"name": "prior_bo", "label": "Prior BO"},
        ],
        readers=["gp", {"name": "grower", "model": "stand-in-grower", "stand_in": True}],
        reader_sources=["grower", "prior_bo"],
        analysis=config().analysis.model_dump() | {"example_method": "grower"},
        **changes,
    )


def test_language_models_are_described() -> None:
    study = describe_study(models_config(), load_contract(), load_sites())
    assert [item.name for item in study.language_models] == ["grower", "careful"]
    grower = study.method("grower")
    assert (grower.model, grower.harness) == ("stand-in-grower", "digest_notes")
    assert (grower.stand_in, grower.published) == (True, None)
    assert study.method("careful").published == "deepseek"
    assert study.method("prior_bo").published == "baseline"
    gp, reader = study.readers
    assert (gp.identity_sources, gp.published) == (("prior_bo",), "gp_reader")
    assert (reader.model, reader.stand_in, reader.identity_sources) == ("stand-in-grower", True, ())
    assert [item.name for item in study.sources] == ["grower", "prior_bo"]
    assert "STAND-IN" in study.marks


def test_the_predecessor_of_a_model_is_that_of_its_file(monkeypatch) -> None:
    study = describe_study(models_config(), load_contract(), load_sites())
    assert {item.predecessor for item in study.methods} == {None}
    later = {"predecessor": "an-earlier-one"}
    monkeypatch.setattr(
        "slowlab.report.study.model_config",
        lambda name: model_config(name).model_copy(update=later),
    )
    study = describe_study(models_config(), load_contract(), load_sites())
    assert [item.predecessor for item in study.language_models] == ["an-earlier-one"] * 2
    assert study.method("prior_bo").predecessor is None


def test_another_harness_has_no_published_numbers() -> None:
    methods = [
        {"name": "fixed_reference"},
        {"name": "prior_bo"},
        {"name": "careful", "model": "deepseek-v4.1-flash", "harness": "digest_only"},
    ]
    study = describe_study(config(methods=methods), load_contract(), load_sites())
    assert study.method("careful").published is None


def test_a_stand_in_among_readers_marks_the_study() -> None:
    readers = [{"name": "grower", "model": "stand-in-grower", "stand_in": True}]
    methods = [{"name": "fixed_reference"}, {"name": "prior_bo"}]
    study = describe_study(config(methods=methods, readers=readers), load_contract(), load_sites())
    assert study.marks == ("REHEARSAL", "STAND-IN")


def test_tables_of_language_models_are_read(tmp_path) -> None:
    methods = ("fixed_reference", "grower", "careful", "prior_bo")
    synthetic = synthetic_inputs(methods, readers=("gp", "grower"), example_method="grower")
    tables = TABLES | AGENT_TABLES | {"readings": (READINGS, SCORE_SCHEMA)}
    write_tables(synthetic, tables, tmp_path)
    assert example_journal(models_config()) is None
    inputs = load_inputs(models_config(), tmp_path)
    assert set(inputs.hashes) == set(tables)
    numbers, expected = build_numbers(inputs), build_numbers(synthetic)
    assert numbers["agents"]["totals"] == expected["agents"]["totals"]
    assert numbers["example_steps"] == expected["example_steps"]
    (tmp_path / AGENT_TABLES["agents"][0]).unlink()
    with pytest.raises(FileNotFoundError, match=r"agents\.parquet"):
        load_inputs(models_config(), tmp_path)


def test_best_policies_and_side_walls_are_read_where_they_are_asked_for(tmp_path) -> None:
    methods = ("fixed_reference", "grower", "careful", "prior_bo")
    synthetic = synthetic_inputs(methods, readers=("gp", "grower"), example_method="grower")
    tables = TABLES | AGENT_TABLES | {"readings": (READINGS, SCORE_SCHEMA)}
    write_tables(synthetic, tables, tmp_path)
    asked = models_config(oracle={"repeated": 2}, side_wall={"sites": 2})
    with pytest.raises(FileNotFoundError, match=r"oracle\.parquet"):
        load_inputs(asked, tmp_path)
    oracle = oracle_table(dict.fromkeys(synthetic.study.sites, 60.0))
    walls = side_wall_table(synthetic, [("prior_bo", "full")], lambda *_: 1.0)
    (tmp_path / "oracle.parquet").write_bytes(BEST_KNOWN_SCHEMA.parquet(oracle))
    (tmp_path / "side_wall.parquet").write_bytes(SIDE_WALL_SCHEMA.parquet(walls))
    inputs = load_inputs(asked, tmp_path)
    assert inputs.oracle["score_eur_m2"].tolist() == [60.0] * len(synthetic.study.sites)
    assert inputs.side_wall.equals(walls)
    assert {"oracle", "side_wall"} <= set(inputs.hashes)
    assert load_inputs(models_config(), tmp_path).oracle is None


@pytest.fixture(scope="module")
def numbers_file(tmp_path_factory):
    methods = ("fixed_reference", "random_search", "grower", "prior_bo")
    plain = synthetic_inputs(methods, sites=3)
    oracle = oracle_table(dict.fromkeys(plain.study.sites, 60.0))
    walls = side_wall_table(plain, [("prior_bo", "full")], lambda *_: 1.0)
    numbers = build_numbers(replace(plain, oracle=oracle, side_wall=walls))
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
