"""A finished study as a page of the documentation."""

import json
import re

import pytest

from slowlab.analysis.numbers_file import write_numbers
from slowlab.analysis.study_numbers import build_numbers
from slowlab.plan.run_log import FILE, log_event
from slowlab.plots.study_figures import write_figure
from slowlab.report.document import render_document, write_document
from tests.analysis.synthetic_study import synthetic_inputs


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


def test_page_says_what_it_is_and_how_it_was_made(numbers, folder, tmp_path):
    page = write_document(folder, tmp_path / "study.md", "snakemake --cores all")
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# Study `{numbers['study']['name']}`: ")
    assert "Not a result of the published study" in text
    assert "snakemake --cores all" in text
    assert "killed, unfinished" in text
    assert re.findall(r"run on 2 core\(s\): (.*) minutes", text) == ["30.0"]


def test_every_figure_of_the_page_lies_beside_it(folder, tmp_path):
    page = write_document(folder, tmp_path / "study.md", "")
    addresses = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    assert len(addresses) == 1
    for address in addresses:
        assert (tmp_path / address).read_bytes().startswith(b"\x89PNG")


def test_tables_stand_in_it_without_empty_columns(numbers):
    text = render_document(numbers, {}, [], {}, "")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) > 40
    assert "mark" not in rows[0]
    baseline = next(m["label"] for m in numbers["methods"] if m["baseline"])
    assert any(baseline in row for row in rows)


def test_equal_numbers_give_equal_text(numbers):
    again = build_numbers(synthetic_inputs())
    assert render_document(numbers, {}, [], {}, "") == render_document(again, {}, [], {}, "")


def test_a_study_that_is_not_finished_is_refused(tmp_path):
    with pytest.raises(OSError, match=r"numbers\.json"):
        write_document(tmp_path, tmp_path / "study.md", "")
