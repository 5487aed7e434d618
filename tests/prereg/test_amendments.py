"""Amendments: complete, chained, with exactly what follows from a change."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from slowlab.prereg.amendments import TEMPLATE, amend, last_amendment, planned_amendment
from slowlab.prereg.chain import read_chain
from slowlab.prereg.checks import require_lock
from slowlab.prereg.errors import LockError
from slowlab.prereg.manifest import read_manifest
from slowlab.prereg.scope import LOCK
from tests.prereg.repository import REASON

METHOD = "slowlab/methods/random_search.py"


def test_an_amendment_holds_reason_both_locks_changes_and_commands(locked):
    first = read_manifest(locked.path(LOCK))
    locked.append(METHOD)
    made = amend(locked.root, REASON)
    assert made.folder == locked.path("preregistration/amendments/001")
    assert {path.name for path in made.folder.iterdir()} == {
        "amendment.md",
        "before.json",
        "after.json",
        "changes.json",
    }
    assert made.before == first
    assert made.lock.parent == first.id
    assert made.lock.amendment == 1
    assert require_lock(locked.root, "drill") == made.lock.id != first.id
    content = json.loads((made.folder / "changes.json").read_text(encoding="utf-8"))
    assert content["changed"] == [METHOD]
    assert content["scores_existed"] is False
    assert content["impact"]["affected"][:2] == ["campaigns:random_search", "scores:random_search"]
    assert content["commands"] == [
        "slowlab prereg carry-over",
        "snakemake --cores all --configfile config/drill.yaml",
        "slowlab prereg compare",
    ]
    assert last_amendment(locked.root) == made


def test_amendments_make_a_chain_and_each_link_is_checked(locked):
    ids = [read_manifest(locked.path(LOCK)).id]
    for _ in range(3):
        locked.append(METHOD)
        ids.append(amend(locked.root, REASON).lock.id)
    chain = read_chain(locked.root)
    assert [manifest.id for manifest in chain] == ids
    assert [manifest.parent for manifest in chain] == [None, *ids[:-1]]
    middle = locked.path("preregistration/amendments/002")
    shutil.copytree(middle, locked.root / "kept")
    shutil.copyfile(
        locked.path("preregistration/amendments/001/before.json"), middle / "before.json"
    )
    with pytest.raises(LockError, match=r"002/before\.json: is not the lock that was amended"):
        require_lock(locked.root, "drill")
    shutil.rmtree(middle)
    with pytest.raises(LockError, match="expected the folder of amendment 002"):
        require_lock(locked.root, "drill")
    shutil.rmtree(locked.path("preregistration/amendments"))
    with pytest.raises(LockError, match="its amendments are missing"):
        require_lock(locked.root, "drill")


def test_the_reason_of_an_amendment_cannot_be_rewritten(locked):
    locked.append(METHOD)
    amend(locked.root, REASON)
    locked.edit("preregistration/amendments/001/amendment.md", "All of them.", "None of them.")
    with pytest.raises(LockError, match=r"001/amendment\.md: changed"):
        require_lock(locked.root, "drill")


def test_a_reason_needs_every_heading(locked):
    locked.append(METHOD)
    empty = TEMPLATE.read_text(encoding="utf-8")
    with pytest.raises(LockError, match="## Approved by` is missing or empty"):
        amend(locked.root, empty)
    with pytest.raises(LockError, match="## How it was found` is missing or empty"):
        amend(locked.root, REASON.replace("## How it was found", ""))
    assert not locked.path("preregistration/amendments").exists()


def test_nothing_to_amend_and_nothing_to_amend_yet(bare, locked):
    with pytest.raises(LockError, match="nothing has changed"):
        amend(locked.root, REASON)
    with pytest.raises(LockError, match="there is no lock"):
        amend(bare.root, REASON)
    with pytest.raises(LockError, match="was never amended"):
        last_amendment(locked.root)


def test_an_amendment_says_whether_scores_existed(locked):
    locked.write("results/drill@01234567/scores.parquet", b"x")
    locked.append(METHOD)
    content = json.loads((amend(locked.root, REASON).folder / "changes.json").read_bytes())
    assert content["scores_existed"] is True


def test_added_and_removed_files_and_changed_entries(locked):
    locked.path("figures/figure7.py").unlink()
    locked.write("figures/figure9.py", "DRAWN = 1\n")
    locked.edit("config/drill.yaml", "repeat_best,", "{name: repeat_best, label: Other},")
    changes, impact = planned_amendment(locked.root)
    assert (changes.added, changes.removed) == (("figures/figure9.py",), ("figures/figure7.py",))
    assert changes.parts == ("method:repeat_best",)
    assert impact.of("campaigns") == ("repeat_best",)
    assert "config/drill.yaml" not in impact.unconcerned


KILLED = """
import os, signal, sys
from pathlib import Path
from slowlab.prereg import amendments, checks
checks.PACKAGE = Path(sys.argv[1]) / "slowlab"
def kill(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "before":
    amendments.Path.rename = kill
else:
    amendments._put_into_force = kill
amendments.amend(Path(sys.argv[1]), sys.argv[3])
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_leaves_the_old_lock_in_force(locked, moment):
    first = read_manifest(locked.path(LOCK))
    locked.append(METHOD)
    command = [sys.executable, "-c", KILLED, str(locked.root), moment, REASON]
    assert subprocess.run(command, check=False).returncode == -9
    assert read_manifest(locked.path(LOCK)) == first
    with pytest.raises(LockError, match=f"{METHOD}: changed"):
        require_lock(locked.root, "drill")
    made = amend(locked.root, REASON)
    assert made.lock.amendment == 1
    assert require_lock(locked.root, "drill") == made.lock.id


def test_a_cut_off_amendment_that_fits_no_longer_is_not_put_into_force(locked):
    locked.append(METHOD)
    command = [sys.executable, "-c", KILLED, str(locked.root), "after", REASON]
    subprocess.run(command, check=False)
    locked.append("slowlab/io.py")
    with pytest.raises(LockError, match=r"remove it by hand:\n.*slowlab/io\.py"):
        amend(locked.root, REASON)
