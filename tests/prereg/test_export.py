"""The archive for a registry: always the same bytes, nothing private, checkable by Python alone."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile

import pytest

from slowlab.prereg.amendments import amend
from slowlab.prereg.errors import LockError
from slowlab.prereg.export import export_archive
from slowlab.prereg.manifest import read_manifest
from slowlab.prereg.scope import LOCK
from tests.prereg.repository import REASON


def test_the_same_lock_gives_the_same_bytes(locked, tmp_path):
    one = export_archive(locked.root, tmp_path / "one.zip").read_bytes()
    for path in locked.root.rglob("preregistration/**/*"):
        os.utime(path, (1, 1))
    protocol = locked.path("preregistration/protocol.md")
    protocol.write_bytes(protocol.read_bytes().replace(b"\n", b"\r\n"))
    assert export_archive(locked.root, tmp_path / "two.zip").read_bytes() == one


def test_the_archive_holds_what_a_registry_needs_and_nothing_private(locked, tmp_path):
    locked.append("slowlab/io.py")
    amend(locked.root, REASON)
    with zipfile.ZipFile(export_archive(locked.root, tmp_path / "x.zip")) as archive:
        names = archive.namelist()
        assert archive.testzip() is None
        guide = archive.read("README.md").decode()
    assert names == sorted(names)
    assert set(names) == {
        "README.md",
        "config/drill.yaml",
        "preregistration/amendments/001/after.json",
        "preregistration/amendments/001/amendment.md",
        "preregistration/amendments/001/before.json",
        "preregistration/amendments/001/changes.json",
        "preregistration/check_lock.py",
        "preregistration/commitments/test.commitment.json",
        "preregistration/lock.json",
        "preregistration/protocol.md",
        "preregistration/study.yaml",
    }
    assert read_manifest(locked.path(LOCK)).id in guide


def test_what_is_not_locked_is_not_exported(bare, locked, tmp_path):
    with pytest.raises(LockError, match="there is no lock"):
        export_archive(bare.root, tmp_path / "x.zip")
    locked.append("preregistration/protocol.md", "More.\n")
    with pytest.raises(LockError, match=r"protocol\.md: changed since it was locked"):
        export_archive(locked.root, tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


def test_the_script_in_the_archive_checks_a_checkout_by_itself(locked, tmp_path):
    for _ in range(2):
        locked.append("slowlab/methods/random_search.py")
        amend(locked.root, REASON)
    with zipfile.ZipFile(export_archive(locked.root, tmp_path / "x.zip")) as archive:
        archive.extract("preregistration/check_lock.py", tmp_path)
    script = tmp_path / "preregistration" / "check_lock.py"

    def check():
        command = [sys.executable, "-I", "-S", str(script), str(locked.root)]
        run = subprocess.run(command, text=True, capture_output=True, check=False)
        return run.returncode, run.stdout

    code, printed = check()
    assert (code, printed.splitlines()[1]) == (0, "everything is as it was locked")
    assert read_manifest(locked.path(LOCK)).id in printed
    path = locked.path("workflow/Snakefile")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert check()[0] == 0
    locked.append("slowlab/io.py")
    locked.path("figures/figure3.py").unlink()
    code, printed = check()
    assert code == 1
    assert printed.splitlines()[1:] == ["figures/figure3.py: missing", "slowlab/io.py: changed"]
    amendment = locked.path("preregistration/amendments/001/after.json")
    amendment.write_bytes(amendment.read_bytes().replace(b'"amendment": 1', b'"amendment": 9'))
    assert "does not amend the lock before it" in check()[1]
