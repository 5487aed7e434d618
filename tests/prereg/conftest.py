from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from slowlab.prereg import checks
from slowlab.prereg.lock import make_lock
from tests.prereg.repository import Repository, make_repository


@pytest.fixture(scope="session")
def private_folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("private")


@pytest.fixture(autouse=True)
def _private(monkeypatch, private_folder) -> None:
    monkeypatch.setenv("SLOWLAB_PRIVATE_DIR", str(private_folder))


@pytest.fixture(scope="session")
def originals(tmp_path_factory, private_folder) -> tuple[Path, Path]:
    """A repository without a lock, and the same with one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOWLAB_PRIVATE_DIR", str(private_folder))
        bare = make_repository(tmp_path_factory.mktemp("bare") / "repository").root
        locked = tmp_path_factory.mktemp("locked") / "repository"
        shutil.copytree(bare, locked)
        make_lock(locked)
    return bare, locked


@pytest.fixture
def bare(originals, tmp_path, monkeypatch) -> Repository:
    """A repository that can be locked; its package counts as the running one."""
    return _copy(originals[0], tmp_path / "bare", monkeypatch)


@pytest.fixture
def locked(originals, tmp_path, monkeypatch) -> Repository:
    """A locked repository; its package counts as the running one."""
    return _copy(originals[1], tmp_path / "locked", monkeypatch)


def _copy(original: Path, folder: Path, monkeypatch) -> Repository:
    root = folder / "repository"
    shutil.copytree(original, root)
    monkeypatch.setattr(checks, "PACKAGE", root / "slowlab")
    return Repository(root)
