"""Results carry their lock: receipts, what copying and touching do not achieve, carrying over."""

from __future__ import annotations

import json
import os
import shutil

import pandas as pd
import pytest

from slowlab.evaluation.tables import Column, TableSchema
from slowlab.prereg.amendments import amend
from slowlab.prereg.carry_over import carry_over
from slowlab.prereg.errors import LockError
from slowlab.prereg.job import locked_job
from slowlab.prereg.manifest import read_manifest, results_name
from slowlab.prereg.receipts import (
    LockedResults,
    parquet_lock,
    result_belongs,
    stamp_parquet,
)
from slowlab.prereg.scope import LOCK
from slowlab.prereg.verify import verify_results
from tests.prereg.repository import REASON

ONE, TWO = "1" * 64, "2" * 64
SCHEMA = TableSchema({"site": Column("integer", "-", "number of the site")}, ("site",))
JOBS = {
    "campaigns": ("random_search", "repeat_best", "prior_bo"),
    "scores": ("fixed_reference", "random_search", "repeat_best", "prior_bo"),
    "readings": ("best_observed",),
    "reading_scores": ("best_observed",),
}


def write(path, content=b"x"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def results(tmp_path):
    return LockedResults(tmp_path / results_name("drill", ONE), ONE)


def test_a_result_belongs_to_the_lock_it_was_made_under(results):
    path = write(results.folder / "scores" / "a.parquet", stamp_parquet(table_bytes(), ONE))
    journals = write(results.folder / "journals" / "site-0.jsonl").parent
    assert not result_belongs(ONE, path, results.folder)
    results.write([path, journals])
    for result in (path, journals):
        assert result_belongs(ONE, result, results.folder)
        assert not result_belongs(TWO, result, results.folder)
    assert results.known() == [journals, path]


def table_bytes():
    return SCHEMA.parquet(pd.DataFrame({"site": [0, 1]}))


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_neither_touching_nor_editing_helps(results, kind):
    path = write(results.folder / "journals" / "site-0.jsonl")
    result = path if kind == "file" else path.parent
    results.write([result])
    path.write_bytes(b"y")
    os.utime(path, (0, 0))
    with pytest.raises(LockError, match="changed after it was made"):
        results.require([result])
    path.write_bytes(b"x")
    path.touch()
    results.require([result])
    if kind == "folder":
        write(path.parent / "site-1.jsonl")
        with pytest.raises(LockError, match="changed after it was made"):
            results.require([result])


def test_neither_copying_nor_moving_helps(results, tmp_path):
    made = write(results.folder / "scores" / "prior_bo" / "sites-000-001.parquet", table_bytes())
    results.write([made])
    other = results.folder / "scores" / "random_search" / made.name
    write(other, made.read_bytes())
    with pytest.raises(LockError, match="has no receipt of a lock"):
        results.require([other])
    receipt = results.folder / "receipts" / "scores" / "prior_bo" / f"{made.name}.json"
    write(results.folder / "receipts" / "scores" / "random_search" / receipt.name)
    shutil.copy(receipt, results.folder / "receipts" / "scores" / "random_search" / receipt.name)
    with pytest.raises(LockError, match="is a copy of scores/prior_bo"):
        results.require([other])
    copied = LockedResults(tmp_path / results_name("drill", TWO), TWO)
    shutil.copytree(results.folder, copied.folder)
    with pytest.raises(LockError, match="belongs to lock 111111111111, not to 222222222222"):
        copied.require([copied.folder / "scores" / "prior_bo" / made.name])


def test_a_result_that_names_another_lock_itself_is_refused(results):
    numbers = {"provenance": {"lock": TWO}}
    path = write(results.folder / "numbers.json", json.dumps(numbers).encode())
    table = write(results.folder / "scores.parquet", stamp_parquet(table_bytes(), TWO))
    results.write([path, table])
    for result in (path, table):
        with pytest.raises(LockError, match="says that it was made under lock 222222222222"):
            results.require([result])
    results.write([path, table], made_under=TWO)
    results.require([path, table])


def test_all_faults_are_named_at_once(results):
    paths = [write(results.folder / name) for name in ("a.json", "b.json")]
    with pytest.raises(LockError, match=r"a\.json: has no receipt(.|\n)*b\.json: has no receipt"):
        results.require(paths)
    with pytest.raises(LockError, match="is missing"):
        results.require([results.folder / "c.json"])
    with pytest.raises(LockError, match="does not lie in"):
        results.write([write(results.folder.parent / "outside.json")])


def test_a_stamped_table_keeps_its_schema_and_its_bytes(tmp_path):
    stamped = stamp_parquet(table_bytes(), ONE)
    assert stamped == stamp_parquet(table_bytes(), ONE)
    path = write(tmp_path / "table.parquet", stamped)
    assert parquet_lock(path) == ONE
    assert parquet_lock(write(tmp_path / "plain.parquet", table_bytes())) is None
    pd.testing.assert_frame_equal(SCHEMA.read(path), pd.DataFrame({"site": [0, 1]}))


def test_a_job_checks_lock_and_inputs_and_leaves_receipts(locked):
    lock = read_manifest(locked.path(LOCK))
    results = LockedResults(locked.path(f"results/{lock.results_name}"), lock.id)
    given, made = results.folder / "a" / "in.json", results.folder / "b" / "out.json"

    def job(inputs, outputs, make=(made,)):
        with locked_job(inputs, outputs, root=locked.root) as known:
            for path in make:
                write(path)
        return known

    write(given)
    with pytest.raises(LockError, match=r"in\.json: has no receipt"):
        job([given], [made])
    assert not made.exists()
    results.write([given])
    assert job([str(given), locked.path("requirements.lock")], [str(made)]) == lock.id
    assert result_belongs(lock.id, made, results.folder)
    with pytest.raises(LockError, match=r"absent\.json: is missing"):
        job([], [results.folder / "absent.json"])
    with pytest.raises(LockError, match="in folders of several locks"):
        job([], [made, locked.path("results/drill/out.json")])
    with pytest.raises(LockError, match="start the workflow again"):
        job([], [locked.path("results/drill@00000000/out.json")])
    locked.append("slowlab/io.py")
    with pytest.raises(LockError, match=r"slowlab/io\.py: changed"):
        job([], [made])


def test_a_job_that_fails_leaves_no_receipt_and_one_without_lock_is_free(locked, tmp_path):
    folder = locked.path(f"results/{read_manifest(locked.path(LOCK)).results_name}")
    made = write(folder / "out.json")
    with pytest.raises(ZeroDivisionError), locked_job([], [made], root=locked.root):
        raise ZeroDivisionError
    assert not (folder / "receipts").exists()
    free = tmp_path / "results" / "quick"
    with locked_job([free / "no"], [free / "no"]) as known:
        assert known is None
    assert not free.exists()


def finished_study(root):
    """Results of every job under the lock in force, with their receipts."""
    lock = read_manifest(root / LOCK)
    made = LockedResults(root / "results" / lock.results_name, lock.id)
    paths = [
        write(made.folder / kind / name / "sites-000-002.json", f"{kind} {name}".encode())
        for kind, names in JOBS.items()
        for name in names
    ]
    journals = made.folder / "campaigns" / "repeat_best" / "journals"
    write(journals / "site-000.jsonl")
    paths += [journals, write(made.folder / "packets" / "sites-000-002.json")]
    paths.append(write(made.folder / "scores.parquet", table_bytes()))
    made.write(paths)
    write(made.folder / "transcripts" / "model" / "site-000.jsonl", b"paid for")
    return made


def test_only_what_an_amendment_does_not_concern_is_carried_over(locked):
    old = finished_study(locked.root)
    locked.append("slowlab/methods/random_search.py")
    made = amend(locked.root, REASON)
    found = carry_over(locked.root, made.before, made.lock, made.impact)
    assert found.folder.name == results_name("drill", made.lock.id)
    assert found.kept == (
        "campaigns/prior_bo/sites-000-002.json",
        "campaigns/repeat_best/journals",
        "campaigns/repeat_best/sites-000-002.json",
        "scores/fixed_reference/sites-000-002.json",
        "scores/prior_bo/sites-000-002.json",
        "scores/repeat_best/sites-000-002.json",
    )
    assert {name.partition("/")[0] for name in found.left} == {
        "campaigns",
        "scores",
        "packets",
        "readings",
        "reading_scores",
        "scores.parquet",
    }
    new = LockedResults(found.folder, made.lock.id)
    new.require([found.folder / name for name in found.kept])
    assert {new.read(found.folder / name).made_under for name in found.kept} == {old.lock}
    assert (found.folder / "transcripts" / "model" / "site-000.jsonl").read_bytes() == b"paid for"
    assert not (found.folder / "scores" / "random_search").exists()
    assert verify_results(locked.root, made.before) == (len(old.known()), [])
    assert verify_results(locked.root, made.lock) == (6, [])
    times = {path.stat().st_mtime_ns for path in found.folder.glob("[cs]*/**/*.json*")}
    assert len(times) == 1  # no copy looks older than what it was made from


def test_carrying_over_goes_on_after_a_kill_and_through_two_amendments(locked):
    old = finished_study(locked.root)
    locked.append("slowlab/methods/random_search.py")
    first = amend(locked.root, REASON)
    found = carry_over(locked.root, first.before, first.lock, first.impact)
    (found.folder / found.kept[0]).unlink()
    assert carry_over(locked.root, first.before, first.lock, first.impact) == found
    locked.append("figures/figure3.py")
    second = amend(locked.root, REASON)
    again = carry_over(locked.root, second.before, second.lock, second.impact)
    assert again.kept == found.kept
    results = LockedResults(again.folder, second.lock.id)
    assert results.read(again.folder / again.kept[0]).made_under == old.lock


def test_an_edited_result_is_not_carried_over(locked):
    old = finished_study(locked.root)
    write(old.folder / "scores" / "prior_bo" / "sites-000-002.json", b"better")
    locked.append("slowlab/methods/random_search.py")
    made = amend(locked.root, REASON)
    with pytest.raises(LockError, match=r"scores/prior_bo/.*: changed after it was made"):
        carry_over(locked.root, made.before, made.lock, made.impact)


def test_another_file_in_the_place_of_a_kept_result_gets_no_receipt(locked):
    finished_study(locked.root)
    locked.append("slowlab/methods/random_search.py")
    made = amend(locked.root, REASON)
    folder = locked.path(f"results/{made.lock.results_name}")
    other = write(folder / "scores" / "prior_bo" / "sites-000-002.json", b"better")
    with pytest.raises(LockError, match=r"scores/prior_bo/.*: differs from .*, which is kept"):
        carry_over(locked.root, made.before, made.lock, made.impact)
    assert not result_belongs(made.lock.id, other, folder)


def test_without_results_nothing_is_carried_over(locked):
    locked.append("slowlab/methods/random_search.py")
    made = amend(locked.root, REASON)
    with pytest.raises(LockError, match="there are no results of lock"):
        carry_over(locked.root, made.before, made.lock, made.impact)
