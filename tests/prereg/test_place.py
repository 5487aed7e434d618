"""A locked study's results have a folder of their own, and its page is made from there."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from slowlab.analysis.numbers_file import write_numbers
from slowlab.analysis.study_numbers import build_numbers
from slowlab.cli import app
from slowlab.prereg.errors import LockError
from slowlab.prereg.manifest import read_manifest
from slowlab.prereg.place import results_of
from slowlab.prereg.receipts import LockedResults
from slowlab.prereg.scope import LOCK
from tests.analysis.synthetic_study import synthetic_inputs


def test_the_folder_is_named_after_the_lock(locked):
    place = results_of(locked.root, locked.config)
    lock = read_manifest(locked.path(LOCK)).id
    assert place.folder == locked.path(f"results/drill@{lock[:8]}")
    assert place.manifest.id == lock


def test_a_study_that_needs_no_lock_has_its_own_name(locked):
    other = locked.config.model_copy(update={"study": "trial", "purpose": "rehearsal"})
    place = results_of(locked.root, other)
    assert place.folder == locked.path("results/trial")
    place.require([place.folder / "numbers.json"])


def test_without_a_lock_there_are_no_results(bare):
    with pytest.raises(LockError, match=r"lock\.json"):
        results_of(bare.root, bare.config)


@pytest.fixture
def finished(locked):
    """Numbers of a locked study, with their receipt."""
    place = results_of(locked.root, locked.config)
    numbers = build_numbers(synthetic_inputs(sites=3, readers=(), marks=()))
    numbers["provenance"]["lock"] = place.manifest.id
    numbers["study"]["exploratory"] = False
    path = write_numbers(place.folder / "numbers.json", numbers)
    LockedResults(place.folder, place.manifest.id).write([path])
    return path


def document(repository, monkeypatch):
    monkeypatch.chdir(repository.root)
    return CliRunner().invoke(app, ["document", "--study", "config/drill.yaml"])


def test_the_page_of_a_locked_study_says_under_which_lock(locked, finished, monkeypatch):
    result = document(locked, monkeypatch)
    assert result.exit_code == 0, result.output
    text = locked.path("docs/results.md").read_text(encoding="utf-8")
    lock = read_manifest(locked.path(LOCK))
    assert f"`{lock.id}`, first lock, over {len(lock.files)} files" in text
    assert "3 sites were declared before any score" in text
    assert "REHEARSAL" not in text
    assert re.search(r"--configfile config/drill\.yaml", text)
    assert locked.path("docs/results/synthetic/numbers.json.gz").is_file()


def test_numbers_that_do_not_belong_to_the_lock_are_refused(locked, finished, monkeypatch):
    finished.write_bytes(
        finished.read_bytes().replace(b'"exploratory":false', b'"exploratory":true')
    )
    result = document(locked, monkeypatch)
    assert result.exit_code == 2
    assert "numbers.json" in result.output
    assert not locked.path("docs/results.md").exists()
