"""The command line: exit codes, and messages that name files."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from slowlab.cli import app
from slowlab.prereg.manifest import read_manifest
from slowlab.prereg.receipts import LockedResults
from slowlab.prereg.scope import LOCK
from tests.prereg.repository import REASON
from tests.prereg.test_compare import NEW, OLD

METHOD = "slowlab/methods/random_search.py"


def call(root, *arguments, code=0):
    result = CliRunner().invoke(app, ["prereg", *arguments, "--root", str(root)])
    assert result.exit_code == code, result.output
    return result.output


def test_from_open_points_to_a_lock(bare):
    bare.edit("preregistration/study.yaml", "draft: false", "draft: true")
    assert "is still a draft" in call(bare.root, "status")
    assert "is still a draft" in call(bare.root, "lock", code=2)
    bare.edit("preregistration/study.yaml", "draft: true", "draft: false")
    lock = call(bare.root, "lock")
    assert read_manifest(bare.path(LOCK)).id in lock
    assert "Unchanged: study drill" in call(bare.root, "verify", "--study", "drill")
    assert "Everything is as it was locked" in call(bare.root, "status")


def test_verify_names_what_differs_and_lists_what_was_added(locked):
    locked.append(METHOD)
    locked.write("slowlab/methods/mine.py", "")
    printed = call(locked.root, "verify", code=1)
    assert f"{METHOD}: changed since it was locked" in printed
    assert "slowlab/methods/mine.py" in printed
    assert f"{METHOD}: changed" in call(locked.root, "status")
    assert "study other is not locked" in call(locked.root, "verify", "--study", "other", code=2)
    assert "start the workflow again" in call(locked.root, "verify", "--lock", "0" * 64, code=2)


def test_verify_without_a_lock_is_an_error(bare):
    assert "there is no lock" in call(bare.root, "verify", code=2)


@pytest.fixture
def reason(tmp_path):
    path = tmp_path / "reason.md"
    path.write_text(REASON, encoding="utf-8")
    return str(path)


def numbers_under(locked, tests):
    """Numbers of the lock in force, with their receipt."""
    lock = read_manifest(locked.path(LOCK))
    content = {
        "format": "slowlab-numbers-1",
        "study": {"name": "drill", "marks": []},
        "families": [{"name": "primary", "tests": list(tests)}],
        "tests": tests,
        "provenance": {"lock": lock.id},
    }
    path = locked.write(f"results/{lock.results_name}/numbers.json", json.dumps(content))
    LockedResults(path.parent, lock.id).write([path])
    return path


def test_a_correction_from_amendment_to_table(locked, reason):
    first = numbers_under(locked, OLD)
    locked.append(METHOD)
    assert "campaigns:random_search" in call(locked.root, "amend", "--dry-run")
    assert "give --reason FILE" in call(locked.root, "amend", code=2)
    printed = call(locked.root, "amend", "--reason", reason)
    assert "snakemake --cores all --configfile config/drill.yaml" in printed
    assert "kept 0 results, 1 are made again" in call(locked.root, "carry-over")
    second = numbers_under(locked, NEW)
    assert second.parent != first.parent
    call(locked.root, "compare")
    assert "-3.99" in (second.parent / "corrections.md").read_text(encoding="utf-8")
    assert "1 results" in call(locked.root, "verify", "--results")
    second.write_text(second.read_text(encoding="utf-8").replace("-3.99", "-9.99"))
    assert "changed after it was made" in call(locked.root, "verify", "--results", code=1)
    assert call(locked.root, "status").count("finished") == 2
    assert first.is_file()


def test_the_template_of_an_amendment_has_all_headings():
    printed = CliRunner().invoke(app, ["prereg", "amend", "--template"]).output
    headings = {line for line in REASON.splitlines() if line.startswith("## ")}
    assert headings == {line for line in printed.splitlines() if line.startswith("## ")}


def test_seeds_and_export(bare, tmp_path):
    assert "is committed already" in call(bare.root, "commit-seed", "test", code=2)
    assert "fits the commitment of test" in call(bare.root, "verify-seed", "test")
    assert "there is no lock" in call(bare.root, "export", "--out", str(tmp_path / "x.zip"), code=2)
    call(bare.root, "lock")
    assert "Wrote" in call(bare.root, "export", "--out", str(tmp_path / "x.zip"))
    assert "Published" in call(bare.root, "reveal-seed", "test")
    assert "test.opening.json: fits" in call(bare.root, "verify-seed", "test").replace("\n", "")
