"""The definition files: found without importing GreenLight, and refused when anything is wrong."""

from __future__ import annotations

import shutil
from importlib import metadata
from pathlib import Path

import pytest

from slowlab.greenlight import definition as module
from slowlab.greenlight.definition import (
    FILE_SHA256,
    DefinitionError,
    definition_folder,
    load_definition,
    read_verified,
)
from tests.greenlight.simulator import python

HOW_TO_INSTALL = r"uv sync.*pip install --no-deps greenlight==2\.0\.5"


class FakeDistribution:
    """Stands for an installed distribution of some version, with files in some folder."""

    def __init__(self, version: str, folder: Path) -> None:
        self.version = version
        self.folder = folder

    def locate_file(self, path: str) -> Path:
        return self.folder / path


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the installed definition files that a test may damage."""
    for name in FILE_SHA256:
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(definition_folder() / name, target)
    return tmp_path


def test_loading_imports_neither_greenlight_nor_its_libraries():
    probe = (
        "import sys\n"
        "from slowlab.greenlight.definition import load_definition\n"
        "load_definition()\n"
        "print(*sorted({'greenlight', 'pandas', 'scipy', 'matplotlib', 'jax'} & set(sys.modules)))"
    )
    done = python(probe)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_counts_of_the_merged_model(definition):
    kinds = ("state", "aux", "const", "function", "input")
    counts = {kind: len(definition.of_kind(kind)) for kind in kinds}
    assert counts == {"state": 28, "aux": 310, "const": 266, "function": 15, "input": 10}


def test_later_files_win_and_keep_their_origin(definition):
    air = definition.variables["tAir"]
    assert air.file == "extension_greenhouse_katzin_2021_vanthoor_2011.json"
    assert "hLampAir" in air.definition
    assert definition.variables["cLeaf"].file.endswith("chapter_9_simplified.json")
    assert (air.kind, air.init, air.unit) == ("state", "16.5", "°C")


def test_copies_of_the_files_give_the_same_model(copied, definition):
    assert load_definition(copied) == definition


@pytest.mark.parametrize("name", FILE_SHA256)
def test_one_altered_byte_is_refused_with_the_file_and_the_remedy(copied, name):
    path = copied / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DefinitionError, match=f"(?s){name}.*differs.*{HOW_TO_INSTALL}"):
        load_definition(copied)


@pytest.mark.parametrize("name", FILE_SHA256)
def test_missing_file_is_refused_with_its_name_and_the_remedy(copied, name):
    (copied / name).unlink()
    with pytest.raises(DefinitionError, match=f"(?s){name} cannot be read.*{HOW_TO_INSTALL}"):
        read_verified(copied)


def test_folder_in_place_of_a_file_is_refused(copied):
    path = copied / "main_katzin_2021.json"
    path.unlink()
    path.mkdir()
    with pytest.raises(DefinitionError, match=r"main_katzin_2021\.json cannot be read"):
        load_definition(copied)


def test_absent_distribution_is_refused_with_the_remedy(monkeypatch):
    def absent(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(module.metadata, "distribution", absent)
    with pytest.raises(DefinitionError, match=rf"(?s)2\.0\.5 is not installed.*{HOW_TO_INSTALL}"):
        load_definition()


@pytest.mark.parametrize("version", ["2.0.4", "2.0.5.post1", "3.0.0"])
def test_other_version_is_refused_even_with_the_right_files(monkeypatch, copied, version):
    fake = FakeDistribution(version, copied)
    monkeypatch.setattr(module.metadata, "distribution", lambda _name: fake)
    with pytest.raises(DefinitionError, match=rf"(?s){version} is installed.*{HOW_TO_INSTALL}"):
        load_definition()


def test_distribution_without_its_files_is_refused(monkeypatch, tmp_path):
    fake = FakeDistribution("2.0.5", tmp_path)
    monkeypatch.setattr(module.metadata, "distribution", lambda _name: fake)
    with pytest.raises(DefinitionError, match=rf"(?s)cannot be read.*{HOW_TO_INSTALL}"):
        load_definition()
