"""A finished study as a page of the documentation, and what is kept beside it."""

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest

from slowlab.analysis.numbers_file import read_numbers, write_numbers
from slowlab.analysis.second_look_file import FORMAT as LOOK_FORMAT
from slowlab.analysis.second_look_file import write_second_look
from slowlab.analysis.study_numbers import build_numbers
from slowlab.analysis.study_tables import csv_text, table, tables_of
from slowlab.plan.run_log import FILE, log_event
from slowlab.plots.second_look_plot import TITLES as LOOK_FIGURES
from slowlab.plots.study_figures import figures_of, write_figure
from slowlab.prereg.declaration import load_declaration
from slowlab.report.contents import contents
from slowlab.report.document import (
    LEFT_OUT,
    model_statement,
    page_name,
    render_document,
    render_page,
    write_document,
)
from slowlab.report.kept import NUMBERS, RUN, LockFacts, StudyRun, read_run, site_facts, study_run
from tests.analysis.synthetic_study import synthetic_inputs

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
KEPT = sorted(DOCS.glob(f"results/*/{NUMBERS}"))
NOTHING = StudyRun(command="")


@pytest.fixture(scope="module")
def numbers():
    return build_numbers(synthetic_inputs())


@pytest.fixture(scope="module")
def folder(numbers, tmp_path_factory):
    """A finished study with one figure, and a run that was killed before one that ended."""
    folder = tmp_path_factory.mktemp("study")
    write_numbers(folder / "numbers.json", numbers)
    (folder / "figures").mkdir()
    write_figure("figure3", numbers, [folder / "figures" / "figure3.png"])
    for event in ("start", "start", "success"):
        log_event(folder, event, 2)
    rows = [{"event": "start", "time_s": 0.0, "cores": 2}, {"event": "success", "time_s": 1801.0}]
    with (folder / FILE).open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def page(folder, tmp_path):
    run = study_run(folder, "snakemake --cores all")
    return write_document(folder, tmp_path / "study.md", run)


def test_page_says_what_it_is_and_how_it_was_made(numbers, page):
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# Study `{numbers['study']['name']}`: ")
    assert "Not a result of the published study" in text
    assert "snakemake --cores all" in text
    assert "killed, unfinished" in text
    assert re.findall(r"run on 2 core\(s\): (.*) minutes", text) == ["30.0"]


def test_every_figure_of_the_page_lies_beside_it(page):
    addresses = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    assert len(addresses) == 1
    for address in addresses:
        assert (page.parent / address).read_bytes().startswith(b"\x89PNG")


def test_what_is_kept_gives_the_page_and_every_table_again(numbers, page):
    folder = page.parent / "results" / numbers["study"]["name"]
    again, run = read_numbers(folder / NUMBERS), read_run(folder / RUN)
    assert page.read_text(encoding="utf-8") == render_page(page, again, run)
    for name in tables_of(numbers):
        assert csv_text(table(name, again)) == csv_text(table(name, numbers))
    first = (folder / NUMBERS).read_bytes()
    assert first[4:8] == bytes(4), "a compressed file with a date differs from run to run"
    assert gzip.decompress(first).endswith(b"}\n")


@pytest.fixture
def looked(folder, tmp_path):
    """A study with a second look whose gates hold or not, and files that show it."""
    study = tmp_path / "study"
    shutil.copytree(folder, study)
    (study / "tables").mkdir()
    (study / "tables" / "second_look.md").write_text("# A second look\n\n| a |\n| --- |\n")
    for name in LOOK_FIGURES:
        shutil.copy(study / "figures" / "figure3.png", study / "figures" / f"{name}.png")
    gate = {"name": "ess_bulk", "where": "mu[e1.a]", "measured": 12.0, "limit": 400}

    def judge(holds):
        look = {"format": LOOK_FORMAT, "gates": [gate | {"holds": holds}]}
        write_second_look(study / "second_look.json", look)
        return study

    return judge


def test_the_second_look_is_shown_and_kept_in_its_section(numbers, looked, tmp_path):
    page = write_document(looked(True), tmp_path / "docs" / "study.md", NOTHING)
    text = page.read_text(encoding="utf-8")
    section = text[text.index("## Second looks") :]
    section = section[: section.index("\n## ")]
    assert "### A second look\n\n| a |" in section
    for name, title in LOOK_FIGURES.items():
        assert f"![{title}](figures/synthetic/{name}.png)" in section
        assert (page.parent / f"figures/synthetic/{name}.png").is_file()
    assert (page.parent / "results/synthetic/second_look.md").is_file()
    assert text == render_page(page, numbers, NOTHING)


def test_a_second_look_that_misses_a_gate_is_not_shown_whatever_lies_there(looked, tmp_path):
    page = tmp_path / "docs" / "study.md"
    write_document(looked(True), page, NOTHING)
    text = write_document(looked(False), page, NOTHING).read_text(encoding="utf-8")
    assert "Not shown: it misses ess_bulk of mu[e1.a]: 12, at least 400." in text
    assert "| a |" not in text
    assert not any(name in text for name in LOOK_FIGURES)
    assert not list(page.parent.glob("figures/synthetic/second_look*"))


def test_a_second_look_without_its_files_is_not_spoken_of(looked, tmp_path):
    study = looked(True)
    (study / "tables" / "second_look.md").unlink()
    page = write_document(study, tmp_path / "docs" / "study.md", NOTHING)
    assert "misses" not in page.read_text(encoding="utf-8")
    assert not list(page.parent.glob("figures/synthetic/second_look*"))


def test_tables_stand_in_it_without_empty_columns(numbers):
    text = render_document(numbers, {}, NOTHING)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) > 40
    assert "mark" not in rows[0]
    baseline = next(m["label"] for m in numbers["methods"] if m["baseline"])
    assert any(baseline in row for row in rows)


def test_every_table_and_figure_has_one_place(numbers):
    sections = contents(numbers)
    tables = [name for section in sections for name in section.tables]
    figures = [name for section in sections for name in section.figures]
    assert sorted(tables) == sorted(tables_of(numbers))
    assert sorted(figures) == sorted(figures_of(numbers))
    text = render_document(numbers, {}, NOTHING)
    for name, title in tables_of(numbers).items():
        assert text.count(f"{title}\n") == (name not in LEFT_OUT), name


def test_a_table_that_no_section_names_is_not_lost(numbers, monkeypatch):
    monkeypatch.setattr(
        "slowlab.report.contents.tables_of", lambda known: {**tables_of(known), "new": "A new one"}
    )
    assert contents(numbers)[-1].tables == {"new": "A new one"}


def test_a_locked_study_has_the_results_page(numbers):
    lock = "ab" * 32
    locked = {**numbers, "provenance": {**numbers["provenance"], "lock": lock}}
    locked["study"] = {**numbers["study"], "exploratory": False, "marks": []}
    run = StudyRun(
        command="snakemake",
        lock=LockFacts(id=lock, amendment=0, files=7),
        sites=site_facts(load_declaration(ROOT)),
    )
    text = render_document(locked, {}, run)
    assert page_name(locked) == "results.md"
    assert text.startswith("# Results of study `synthetic`\n")
    assert "REHEARSAL" not in text
    assert "Exploratory" not in text
    assert f"lock: `{lock}`, first lock, over 7 files" in text
    design = load_declaration(ROOT).design
    assert f"{design.sites} sites were declared before any score" in text
    assert page_name(numbers) == "synthetic-study.md"


def test_it_is_said_by_rule_whether_models_took_part(numbers):
    models = ("fixed_reference", "grower", "careful", "prior_bo")
    mixed = build_numbers(synthetic_inputs(models, sites=2, readers=()))
    scripted = {
        **mixed,
        "methods": [{**item, "stand_in": bool(item["model"])} for item in mixed["methods"]],
    }
    none = "No language model of a provider took part"
    assert none in model_statement(scripted)
    assert none not in model_statement(mixed)
    assert "asked: *careful*" in model_statement(mixed)
    assert "say nothing about any model: *grower (stand-in)*" in model_statement(mixed)
    plain = build_numbers(synthetic_inputs(sites=2, readers=()))
    assert model_statement(plain) == "No language model took part in this study."


def test_equal_numbers_give_equal_text(numbers):
    again = build_numbers(synthetic_inputs())
    assert render_document(numbers, {}, NOTHING) == render_document(again, {}, NOTHING)


def test_a_study_that_is_not_finished_is_refused(tmp_path):
    with pytest.raises(OSError, match=r"numbers\.json"):
        write_document(tmp_path, tmp_path / "study.md", NOTHING)


@pytest.mark.parametrize("kept", KEPT, ids=[path.parent.name for path in KEPT])
def test_generated_pages_say_what_the_kept_numbers_say(kept):
    """No number of a generated page was written by hand."""
    numbers, run = read_numbers(kept), read_run(kept.with_name(RUN))
    page = DOCS / page_name(numbers)
    assert page.read_text(encoding="utf-8") == render_page(page, numbers, run)
    assert kept.stat().st_size < 1_500_000
