"""The locks, pyproject.toml, conda's file and this environment hold one and the same resolution."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from scripts import lock

ROOT = Path(__file__).resolve().parents[2]
LOCKS = (lock.LOCK, lock.EXTRAS_LOCK)
IN_CI = bool(os.environ.get("CI"))
GREENLIGHT_FILES = {
    "main_katzin_2021.json",
    "greenhouse_vanthoor_2011_chapter_8.json",
    "crop_vanthoor_2011_chapter_9_simplified.json",
    "extension_greenhouse_katzin_2021_vanthoor_2011.json",
}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def locked(*names: str) -> list[Requirement]:
    return [Requirement(line) for name in names for line in lock.split_entries(read(name))]


def pinned_version(requirement: Requirement) -> str:
    (specifier,) = requirement.specifier
    assert specifier.operator == "==", requirement
    return specifier.version


def hashes(entry: str) -> set[str]:
    return set(re.findall(r"sha256:[0-9a-f]{64}", entry))


def unavailable(reason: str) -> None:
    """Skip where a developer lacks a tool or a network, fail in CI."""
    if IN_CI:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def pyproject() -> dict:
    return tomllib.loads(read("pyproject.toml"))


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_is_pinned_with_a_hash(name: str) -> None:
    entries = lock.split_entries(read(name))
    assert entries
    for line, text in entries.items():
        pinned_version(Requirement(line))
        assert hashes(text), line


@pytest.mark.parametrize("name", [*LOCKS, "pyproject.toml"])
def test_no_registry_host_and_no_path_of_a_machine(name: str) -> None:
    forbidden = r"https?:|file:|index-url|find-links|(?<![\w.])/(?:home|root|tmp|opt|usr|Users)/"
    assert not re.findall(forbidden, read(name))


def test_direct_pins_are_exact_and_locked(pyproject: dict) -> None:
    versions = {canonicalize_name(r.name): pinned_version(r) for r in locked(*LOCKS)}
    pins = [Requirement(line) for line in lock.direct_pins(pyproject)]
    assert pins
    assert {r.name: pinned_version(r) for r in pins} == {r.name: versions[r.name] for r in pins}


def test_constraints_repeat_the_locks(pyproject: dict) -> None:
    lines = [str(requirement) for requirement in locked(*LOCKS)]
    assert pyproject["tool"]["uv"]["constraint-dependencies"] == lock.constraint_lines(lines)


def test_running_environment_equals_the_lock() -> None:
    here = default_environment()
    expected = {
        r.name: pinned_version(r)
        for r in locked(lock.LOCK)
        if r.marker is None or r.marker.evaluate(here)
    }
    installed = {}
    for name in expected:
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            installed[name] = "absent"
    assert installed == expected


def test_conda_file_agrees_with_pyproject(pyproject: dict) -> None:
    document = yaml.safe_load(read("environment.yml"))
    (python,) = [d for d in document["dependencies"] if str(d).startswith("python=")]
    version = python.removeprefix("python=")
    assert version in SpecifierSet(pyproject["project"]["requires-python"])
    assert version == read(".python-version").strip()
    assert "pip" in document["dependencies"]
    assert document["name"] == pyproject["project"]["name"]


@pytest.mark.parametrize("name", ["environment.yml", "README.md"])
def test_written_instructions_install_the_lock(name: str) -> None:
    text = read(name)
    assert f"pip install --no-deps --require-hashes -r {lock.LOCK}" in text
    assert "pip install --no-deps -e ." in text


def test_constraint_block_survives_a_rewrite(pyproject: dict) -> None:
    constraints = pyproject["tool"]["uv"]["constraint-dependencies"]
    assert lock.render_block(constraints) in read("pyproject.toml")


def test_constraints_keep_markers_only_where_a_package_is_locked_twice() -> None:
    lines = [
        "a==1 ; sys_platform == 'win32'",
        "b==1 ; python_version < '3.13'",
        "b==2 ; python_version >= '3.13'",
    ]
    assert lock.constraint_lines(lines) == [
        "a==1",
        'b==1 ; python_version < "3.13"',
        'b==2 ; python_version >= "3.13"',
    ]


@pytest.mark.slow
def test_a_fresh_resolution_equals_the_committed_locks(tmp_path: Path) -> None:
    uv = lock.find_uv()
    if uv is None:
        unavailable("uv is not on the path")
    lock.copy_project(tmp_path, drop=set())
    try:
        exported = lock.export(tmp_path, uv)
    except SystemExit as failure:
        if "dns error" in str(failure) or "error sending request" in str(failure):
            unavailable(f"the package registry cannot be reached: {failure}")
        raise
    for name, fresh_text in zip(LOCKS, exported, strict=True):
        fresh, committed = lock.split_entries(fresh_text), lock.split_entries(read(name))
        assert list(fresh) == list(committed)
        for line, text in committed.items():
            # A registry may add wheels to a release later: the fresh export may hold more hashes.
            assert hashes(text) <= hashes(fresh[line])


@pytest.mark.slow
def test_pip_installs_the_lock_beside_greenlight(tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    command = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--require-hashes",
        "--no-compile",
    ]
    install = subprocess.run(
        [*command, "-r", ROOT / lock.LOCK], text=True, capture_output=True, check=False
    )
    if install.returncode != 0 and re.search(
        "ConnectionError|NewConnectionError|ConnectTimeout", install.stderr
    ):
        unavailable(f"the package registry cannot be reached: {install.stderr[-500:]}")
    assert install.returncode == 0, install.stderr
    probe = (
        "import importlib.metadata as metadata, numpy\n"
        "print(numpy.__version__)\n"
        "files = metadata.distribution('greenlight').files\n"
        "print(*[f.name for f in files if f.suffix == '.json' and f.locate().is_file()])\n"
    )
    output = subprocess.run(
        [python, "-c", probe], text=True, capture_output=True, check=True
    ).stdout
    numpy_version, *files = output.split()
    assert int(numpy_version.split(".")[0]) >= 2
    assert set(files) >= GREENLIGHT_FILES
