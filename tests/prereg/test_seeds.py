"""Sealed seeds: commit, reveal, verify; openings never in the repository or in a message."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from slowlab.prereg.errors import LockError
from slowlab.prereg.seeds import commit_seed, reveal_seed, verify_seed
from slowlab.world.commitments import CommitmentError
from slowlab.world.partitions import load_partitions, master_seed, opening_path
from tests.prereg.repository import ROOT

PARTITIONS = "config/partitions/v1.yaml"
TEST_RECORD = "preregistration/commitments/test.commitment.json"
KILLED = """
import os, signal, sys
from pathlib import Path
from slowlab.prereg import seeds
seeds._publish = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
seeds.commit_seed(Path(sys.argv[1]), "test")
"""


@pytest.fixture
def fresh(bare, tmp_path, monkeypatch):
    """A repository without commitments and an empty private folder."""
    text = bare.path(PARTITIONS).read_text(encoding="utf-8")
    bare.path(PARTITIONS).write_text(re.sub(r"commitment: [0-9a-f]{64}", "commitment: null", text))
    bare.path(TEST_RECORD).unlink()
    monkeypatch.setenv("SLOWLAB_PRIVATE_DIR", str(tmp_path / "private"))
    return bare


def test_a_seed_is_committed_in_both_places_and_opens_its_partition(fresh):
    before = fresh.path(PARTITIONS).read_text(encoding="utf-8")
    made = commit_seed(fresh.root, "test")
    after = fresh.path(PARTITIONS).read_text(encoding="utf-8")
    changed = [(a, b) for a, b in zip(before.split("\n"), after.split("\n"), strict=True) if a != b]
    assert changed == [("    commitment: null", f"    commitment: {made.digest}")]
    assert json.loads(fresh.path(TEST_RECORD).read_bytes())["digest"] == made.digest
    partitions = load_partitions(fresh.path(PARTITIONS))
    assert partitions.partition("pilot").commitment is None
    assert 0 <= master_seed(partitions, "test") < 2**63
    assert verify_seed(fresh.root, "test") == opening_path("test")
    assert commit_seed(fresh.root, "pilot").digest != made.digest


def test_windows_line_ends_stay(fresh):
    path = fresh.path(PARTITIONS)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    commit_seed(fresh.root, "test")
    assert path.read_bytes().count(b"\r\n") == path.read_bytes().count(b"\n")


def test_a_seed_is_drawn_once_even_after_a_kill(fresh):
    command = [sys.executable, "-c", KILLED, str(fresh.root)]
    assert subprocess.run(command, check=False).returncode == -9
    content = opening_path("test").read_bytes()
    made = commit_seed(fresh.root, "test")
    assert opening_path("test").read_bytes() == content
    assert verify_seed(fresh.root, "test")
    assert load_partitions(fresh.path(PARTITIONS)).partition("test").commitment == made.digest
    with pytest.raises(LockError, match="is committed already"):
        commit_seed(fresh.root, "test")


def test_public_seeds_and_folders_of_the_repository_are_refused(fresh, monkeypatch):
    with pytest.raises(LockError, match="'rehearsal' is public"):
        commit_seed(fresh.root, "rehearsal")
    monkeypatch.setenv("SLOWLAB_PRIVATE_DIR", str(fresh.path("results/private")))
    with pytest.raises(LockError, match="openings lie outside the repository"):
        commit_seed(fresh.root, "test")
    assert not fresh.path("results").exists()


def test_a_revealed_seed_can_be_verified_by_anybody(fresh, tmp_path, monkeypatch):
    commit_seed(fresh.root, "test")
    published = reveal_seed(fresh.root, "test")
    assert published == fresh.path("preregistration/commitments/test.opening.json")
    monkeypatch.setenv("SLOWLAB_PRIVATE_DIR", str(tmp_path / "nothing"))
    assert verify_seed(fresh.root, "test") == published


def test_a_wrong_opening_is_refused_and_not_shown(fresh, tmp_path):
    commit_seed(fresh.root, "test")
    opening = json.loads(opening_path("test").read_bytes())
    secret = opening["secret"]["master_seed"]
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**opening, "secret": {"master_seed": 123456789}}))
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({**opening, "surplus": secret}))
    for path, words in ((other, "does not fit"), (broken, "is no opening"), (tmp_path, "director")):
        with pytest.raises((LockError, CommitmentError), match=words) as caught:
            verify_seed(fresh.root, "test", path)
        assert str(secret) not in str(caught.value)
        assert "123456789" not in str(caught.value)
    with pytest.raises(LockError, match="does not fit"):
        reveal_seed(fresh.root, "test", other)
    assert not fresh.path("preregistration/commitments/test.opening.json").exists()
    with pytest.raises(LockError, match="there is no commitment"):
        verify_seed(fresh.root, "pilot", opening_path("test"))


def test_the_repository_holds_no_unrevealed_opening():
    published = {path.name for path in (ROOT / "preregistration").rglob("*.opening.json")}
    committed = {path.name for path in (ROOT / "preregistration").rglob("*.commitment.json")}
    assert {name.replace(".opening.", ".commitment.") for name in published} <= committed
