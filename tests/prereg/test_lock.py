"""What a lock covers, when it is refused, and that only content counts."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowlab.config import override
from slowlab.plan.study import load_study
from slowlab.prereg.checks import check_tree, require_lock, require_study
from slowlab.prereg.errors import LockError
from slowlab.prereg.gate import lock_for
from slowlab.prereg.lock import make_lock
from slowlab.prereg.manifest import Manifest, read_manifest
from slowlab.prereg.scope import LOCK, content_sha256
from slowlab.prereg.verify import verify_lock
from tests.prereg.repository import ROOT, Repository, make_repository

COVERED = (
    "preregistration/protocol.md",
    "preregistration/study.yaml",
    "preregistration/commitments/test.commitment.json",
    "Snakefile",
    "workflow/Snakefile",
    "workflow/rules/campaigns.smk",
    "workflow/scripts/run_campaigns.py",
    "config/drill.yaml",
    "config/artifacts/v8/predictor.json",
    "config/partitions/v1.yaml",
    "requirements.lock",
    "figures/figure3.py",
    "slowlab/methods/random_search.py",
    "slowlab/report/page.html.j2",
    "slowlab/greenlight/data/greenlight_rhs.npz",
)


def lock_of(repository: Repository) -> Manifest:
    return read_manifest(repository.path(LOCK))


def flip(path, place: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 1 << bit
    path.write_bytes(bytes(content))


def test_everything_that_decides_a_result_is_covered(locked):
    manifest = lock_of(locked)
    assert set(COVERED) <= set(manifest.files)
    assert not {"README.md", "docs/page.md", "config/README.md"} & set(manifest.files)
    assert manifest.study == "drill"
    assert manifest.commitments.keys() == {"test"}
    assert manifest.prompts.keys() == {
        f"task/test/site-00{site}/{mode}"
        for site in range(3)
        for mode in ("unassigned", "full", "endpoint")
    }
    assert {"design", "setting", "analysis", "method:prior_bo", "reader:best_observed"} <= set(
        manifest.parts
    )


def test_the_lock_is_one_sorted_hash_a_line_and_always_the_same(bare, locked):
    lines = locked.path(LOCK).read_text(encoding="utf-8").splitlines()
    files = [line for line in lines if line.strip().startswith(('"slowlab/', '"config/'))]
    assert len(files) > 50
    assert files == sorted(files)
    assert make_lock(bare.root).id == lock_of(locked).id
    assert bare.path(LOCK).read_bytes() == locked.path(LOCK).read_bytes()


def test_an_unchanged_tree_passes(locked):
    assert require_lock(locked.root, "drill") == lock_of(locked).id
    assert verify_lock(locked.root).problems == []


@pytest.mark.parametrize("name", COVERED)
def test_a_flipped_byte_stops_a_job_and_is_named(locked, name):
    path = locked.path(name)
    before = path.stat()
    flip(path, 7)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # the time does not show it
    with pytest.raises(LockError, match=f"{name}: changed since it was locked"):
        require_lock(locked.root, "drill")


def test_every_locked_file_is_looked_at(locked):
    manifest = lock_of(locked)
    for name in manifest.files:
        if name != manifest.config:
            flip(locked.path(name), 0)
    report = check_tree(locked.root, manifest)
    assert set(report.changed) == set(manifest.files) - {manifest.config}


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(min_size=1, max_size=60) | st.text(min_size=1, max_size=60).map(str.encode),
    place=st.integers(0, 59),
    bit=st.integers(0, 7),
)
def test_any_flipped_bit_changes_a_hash_unless_line_ends_alone_differ(content, place, bit):
    changed = bytearray(content)
    changed[place % len(content)] ^= 1 << bit
    same_text = content.replace(b"\r\n", b"\n") == bytes(changed).replace(b"\r\n", b"\n")
    assert same_text or content_sha256(content) != content_sha256(bytes(changed))


def test_windows_line_ends_pass(locked):
    manifest = lock_of(locked)
    for name in (*manifest.files, LOCK):
        path = locked.path(name)
        content = path.read_bytes()
        if path.suffix != ".npz":
            path.write_bytes(content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert require_lock(locked.root, "drill") == manifest.id


@pytest.mark.parametrize("content", [b"\0 a\r\n", b"\xff a\r\n"])
def test_line_ends_count_in_files_that_are_no_text(content):
    assert content_sha256(content) == hashlib.sha256(content).hexdigest()
    assert content_sha256(content) != content_sha256(content.replace(b"\r\n", b"\n"))


def test_prose_outside_the_lock_stops_nothing(locked):
    for name in ("README.md", "docs/page.md", "config/README.md"):
        locked.append(name, "More words.\n")
    locked.write("docs/new.md", "new\n")
    assert require_lock(locked.root, "drill")


def test_a_missing_file_is_named_and_an_added_one_is_listed(locked):
    locked.path("figures/figure3.py").unlink()
    locked.write("slowlab/methods/mine.py", "MINE = 1\n")
    report = verify_lock(locked.root)
    assert report.problems == ["figures/figure3.py: is locked and missing"]
    assert report.tree.extra == ("slowlab/methods/mine.py",)


@pytest.mark.parametrize(
    "name",
    [
        "slowlab/io/__init__.py",
        "slowlab/io.cpython-312-x86_64-linux-gnu.so",
        "slowlab/world/__init__.abi3.so",
    ],
)
def test_an_added_file_that_python_prefers_to_a_locked_module_stops_a_job(locked, name):
    locked.write(name, "OTHER = 1\n")
    with pytest.raises(LockError, match="instead of a locked module"):
        require_lock(locked.root, "drill")


def test_another_study_another_lock_and_another_package_are_refused(locked, monkeypatch):
    with pytest.raises(LockError, match="study other is not locked; the lock is that of drill"):
        require_lock(locked.root, "other")
    with pytest.raises(LockError, match="start the workflow again"):
        require_lock(locked.root, "drill", "0" * 64)
    monkeypatch.setattr("slowlab.prereg.checks.PACKAGE", ROOT / "slowlab")
    with pytest.raises(LockError, match="the running package lies in"):
        require_lock(locked.root, "drill")


def test_a_key_changed_on_the_command_line_is_found(locked):
    config = locked.config
    assert require_study(locked.root, config)
    assert require_study(locked.root, override(config, {"sites_per_shard": 1}))
    for key, value, part in (
        ("sites", 2, "design"),
        ("artifacts", "other", "setting"),
        ("analysis.alpha", 0.1, "analysis"),
        ("methods.1.settings", {"x": 1}, "method:random_search"),
    ):
        changed = override(config, {key: value})
        with pytest.raises(LockError, match=f"{part} is not what was locked"):
            require_study(locked.root, changed)


def test_who_needs_a_lock(bare, locked):
    assert lock_for(locked.root, locked.config) == lock_of(locked).id
    with pytest.raises(LockError, match="there is no lock"):
        lock_for(bare.root, bare.config)
    rehearsal = load_study(ROOT / "config" / "paper.yaml")
    assert lock_for(bare.root, rehearsal) is None
    peeking = override(bare.config, {"purpose": "rehearsal", "study": "peek"})
    with pytest.raises(LockError, match="there is no lock"):
        lock_for(bare.root, peeking)


def test_studies_on_public_sites_run_whatever_has_become_of_a_lock(locked):
    """As in a later version of the package, or where nobody has the opening of a seed."""
    locked.append("slowlab/io.py")
    locked.path(LOCK).write_text("{}", encoding="utf-8")
    for name in ("config", "paper"):
        assert lock_for(locked.root, load_study(ROOT / "config" / f"{name}.yaml")) is None
    with pytest.raises(LockError, match=r"lock\.json: is no lock"):
        lock_for(locked.root, locked.config)


def test_other_studies_see_the_locked_sites_only_after_the_lock(locked):
    later = override(locked.config, {"purpose": "rehearsal", "study": "later"})
    assert lock_for(locked.root, later) is None
    locked.append("slowlab/io.py")
    with pytest.raises(LockError, match=r"slowlab/io\.py: changed"):
        lock_for(locked.root, later)


@pytest.mark.parametrize(
    "result",
    [
        "results/drill/scores/prior_bo/sites-000-002.parquet",
        "results/drill/scores.parquet",
        "results/drill@01234567/reading_scores.parquet",
        "results/drill/runs/x.json",
    ],
)
def test_no_lock_once_scores_exist(bare, result):
    bare.write(result, b"x")
    with pytest.raises(LockError, match=r"scores exist already:\n.*results/drill"):
        make_lock(bare.root)
    assert not bare.path(LOCK).exists()


def test_scores_of_another_study_on_the_same_sites_count_too(bare):
    numbers = {"study": {"partition": "test"}}
    bare.write("results/peek/numbers.json", json.dumps(numbers))
    with pytest.raises(LockError, match=r"results/peek/numbers\.json: holds scores of test sites"):
        make_lock(bare.root)
    bare.write("results/peek/numbers.json", json.dumps({"study": {"partition": "rehearsal"}}))
    bare.path("results/drill/scores").mkdir(parents=True)  # no file in it
    assert make_lock(bare.root)


@pytest.mark.parametrize(
    "name",
    [
        "preregistration/protocol.md",
        "requirements.lock",
        "config/drill.yaml",
        "config/contracts/v8.yaml",
        "preregistration/commitments/test.commitment.json",
    ],
)
def test_no_lock_without_a_listed_file(bare, name):
    bare.path(name).unlink()
    with pytest.raises(LockError, match=f"{name}: is missing"):
        make_lock(bare.root)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("draft: false", "draft: true", "is still a draft"),
        ("alpha: 0.05", "alpha: 0.01", r"analysis\.alpha is 0\.05, but .* declares 0\.01"),
        ("e1.random_search: 0.1", "e1.random_search: 9.0", "design.sites is 3, but e1.random"),
        ("e1.random_search: 0.1, ", "", "sd_eur_m2 lacks e1.random_search"),
        ("fewest_sites: 3", "fewest_sites: 48", "power.fewest_sites asks for 48"),
    ],
)
def test_no_lock_of_a_declaration_that_is_not_ready(bare, old, new, words):
    bare.edit("preregistration/study.yaml", old, new)
    with pytest.raises(LockError, match=words):
        make_lock(bare.root)


def test_a_lock_is_made_once_and_edited_by_nobody(locked):
    with pytest.raises(LockError, match="slowlab prereg amend"):
        make_lock(locked.root)
    locked.edit(LOCK, '"amendment": 0', '"amendment":  0')
    with pytest.raises(LockError, match="was edited"):
        require_lock(locked.root, "drill")


def test_what_agents_are_told_is_locked(locked):
    def renderer(text):
        return lambda root, config: iter([("stage/design", text)])

    manifest = lock_of(locked)
    assert verify_lock(locked.root).prompts == ()
    report = verify_lock(locked.root, [renderer(b"x")])
    assert set(report.prompts) == {*manifest.prompts, "stage/design"}


def test_sealed_sites_are_locked_as_sealed(bare, monkeypatch, tmp_path):
    monkeypatch.setenv("SLOWLAB_PRIVATE_DIR", str(tmp_path / "nothing"))
    manifest = make_lock(bare.root)
    assert set(manifest.prompts.values()) == {"sealed"}
    monkeypatch.undo()
    monkeypatch.setattr("slowlab.prereg.checks.PACKAGE", bare.root / "slowlab")
    assert require_lock(bare.root, "drill") == manifest.id
    assert verify_lock(bare.root).unopened == len(manifest.prompts)


KILLED = """
import os, signal, sys
from pathlib import Path
import slowlab.io
slowlab.io._flush_to_disk = lambda path: os.kill(os.getpid(), signal.SIGKILL)
from slowlab.prereg.lock import make_lock
make_lock(Path(sys.argv[1]))
"""


def test_a_kill_while_writing_leaves_no_half_lock(bare):
    run = subprocess.run([sys.executable, "-c", KILLED, str(bare.root)], check=False)
    assert run.returncode == -9
    assert not bare.path(LOCK).exists()
    manifest = make_lock(bare.root)
    assert require_lock(bare.root, "drill") == manifest.id


JOB = """
import sys
from pathlib import Path
from slowlab.prereg.checks import require_lock
print(require_lock(Path(sys.argv[1]), "drill"))
"""


def test_a_real_job_runs_the_locked_package_or_stops(tmp_path, monkeypatch):
    monkeypatch.setenv("SLOWLAB_PRIVATE_DIR", str(tmp_path / "private"))
    whole = make_repository(tmp_path / "whole", whole=True)
    lock = make_lock(whole.root)

    def job(package):
        environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", JOB, str(whole.root)]
        return subprocess.run(
            command, env=environment, cwd=package, text=True, capture_output=True, check=False
        )

    begin = time.process_time()
    monkeypatch.setattr("slowlab.prereg.checks.PACKAGE", whole.root / "slowlab")
    assert require_lock(whole.root, "drill") == lock.id
    assert time.process_time() - begin < 1.0
    assert job(whole.root).stdout.strip() == lock.id
    assert "the running package lies in" in job(ROOT).stderr
    flip(whole.path("slowlab/methods/random_search.py"), 1)
    assert "slowlab/methods/random_search.py: changed" in job(whole.root).stderr
