"""Saving and loading a batch: same bytes, damage, other builds, a killed process."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
import signal
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.greenlight import stepper as stepper_module
from slowlab.greenlight.batch import SavedStateError, load_batch, open_batch, save_batch
from slowlab.greenlight.integrator import Scheme
from slowlab.greenlight.stepper import Stepper
from tests.greenlight.checks import (
    check_failed_save_keeps_the_old_file,
)
from tests.greenlight.simulator import (
    REPOSITORY,
    assert_same_bytes,
    opened,
    production,
    python,
    random_lanes,
    run_days,
    sunny_day,
)

BUILD = {"definition": "a", "settings": "b"}


@pytest.fixture(scope="module")
def batch():
    """A batch with something in every field."""
    lanes = random_lanes(3, 8)
    grown = run_days(opened(lanes), lanes, [sunny_day(3)])
    return run_days(grown.stop(np.array([True, False, False])), lanes, [sunny_day(3)])


def test_saved_batch_comes_back_byte_for_byte(tmp_path, batch):
    save_batch(tmp_path / "new" / "state.npz", batch, BUILD)
    assert_same_bytes(load_batch(tmp_path / "new" / "state.npz", BUILD), batch)
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["state.npz"]


def test_saving_replaces_the_old_file(tmp_path, batch):
    path = tmp_path / "state.npz"
    save_batch(path, open_batch(3, np.float32), BUILD)
    save_batch(path, batch, BUILD)
    assert_same_bytes(load_batch(path, BUILD), batch)


def test_missing_file_is_reported(tmp_path):
    with pytest.raises(SavedStateError, match=r"nothing\.npz: not a readable saved state"):
        load_batch(tmp_path / "nothing.npz", BUILD)
    with pytest.raises(SavedStateError, match="not a readable saved state"):
        load_batch(tmp_path, BUILD)


@pytest.mark.parametrize("content", [b"", b"PK", b"not an archive", b"\x93NUMPY\x01\x00v\x00{}"])
def test_other_content_is_refused(tmp_path, content):
    path = tmp_path / "state.npz"
    path.write_bytes(content)
    with pytest.raises(SavedStateError, match=r"state\.npz: not a readable saved state"):
        load_batch(path, BUILD)


def rewritten(path: Path, **changes) -> None:
    """Replace members of an archive; a consistent zip with other content."""
    with np.load(path) as file:
        members = {name: file[name] for name in file.files}
    members |= changes
    with path.open("wb") as file:
        np.savez(file, **{name: value for name, value in members.items() if value is not None})


def test_changed_number_is_seen_even_in_a_sound_archive(tmp_path, batch):
    path = tmp_path / "state.npz"
    save_batch(path, batch, BUILD)
    totals = batch.totals.copy()
    totals[0, 0] = np.nextafter(totals[0, 0], np.inf)
    rewritten(path, totals=totals)
    with pytest.raises(SavedStateError, match="does not match its checksum"):
        load_batch(path, BUILD)


@pytest.mark.parametrize("change", [{"totals": None}, {"extra": np.zeros(3)}])
def test_missing_or_added_member_is_seen(tmp_path, batch, change):
    path = tmp_path / "state.npz"
    save_batch(path, batch, BUILD)
    rewritten(path, **change)
    with pytest.raises(SavedStateError, match="does not match its checksum"):
        load_batch(path, BUILD)


@pytest.mark.parametrize("header", ["", "[]", "{}", '{"format": 1}', '{"build": {}, "sha256": ""}'])
def test_damaged_header_is_refused(tmp_path, batch, header):
    path = tmp_path / "state.npz"
    save_batch(path, batch, BUILD)
    rewritten(path, header=np.array(header))
    with pytest.raises(SavedStateError, match=r"not a readable saved state|format None, exp"):
        load_batch(path, BUILD)


def test_other_format_is_refused(tmp_path, batch):
    path = tmp_path / "state.npz"
    save_batch(path, batch, BUILD)
    with np.load(path) as file:
        header = json.loads(str(file["header"]))
    rewritten(path, header=np.array(json.dumps(header | {"format": 2})))
    with pytest.raises(SavedStateError, match="format 2, expected 1"):
        load_batch(path, BUILD)


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> tuple[bytes, Path]:
    """The bytes of a saved file, and a folder to write damaged ones to."""
    folder = tmp_path_factory.mktemp("damaged")
    save_batch(folder / "good.npz", open_batch(2, np.float32), BUILD)
    return (folder / "good.npz").read_bytes(), folder / "damaged.npz"


@given(position=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_altered_byte_is_refused_or_without_effect(saved, position, flip):
    """Bytes that neither content nor checksum depend on, such as zip's dates, may change."""
    content, path = saved
    damaged = bytearray(content)
    damaged[int(position * len(content))] ^= flip
    path.write_bytes(damaged)
    try:
        loaded = load_batch(path, BUILD)
    except SavedStateError:
        return
    assert_same_bytes(loaded, open_batch(2, np.float32))


def test_altered_byte_of_any_array_is_refused(saved):
    content, path = saved
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            end = archive.fp and member.header_offset + 30 + len(member.filename)
            damaged = bytearray(content)
            damaged[end + member.file_size - 1] ^= 1
            path.write_bytes(damaged)
            with pytest.raises(SavedStateError):
                load_batch(path, BUILD)


@given(share=st.floats(0, 1, exclude_max=True))
def test_truncated_file_is_refused(saved, share):
    content, path = saved
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(SavedStateError, match="not a readable saved state"):
        load_batch(path, BUILD)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"definition": "a", "settings": "c"}, r"settings differ \(settings was b, is c\)"),
        ({"definition": "a"}, r"settings differ \(settings was b, is None\)"),
        (BUILD | {"source": "d"}, r"source differ \(source was None, is d\)"),
        ({"definition": "x", "settings": "y"}, "definition, settings differ"),
    ],
)
def test_state_of_another_build_is_refused(tmp_path, batch, other, message):
    path = tmp_path / "state.npz"
    save_batch(path, batch, BUILD)
    with pytest.raises(SavedStateError, match=rf"state\.npz: saved by another build; {message}"):
        load_batch(path, other)


def test_build_knows_settings_precision_width_facility_and_source(monkeypatch):
    native = Stepper().build
    assert native == production().build
    settings = dataclasses.replace(Stepper().settings, scheme=Scheme(substeps=8))
    facility = dataclasses.replace(Stepper().facility, side_wall_form="neighbour_minus_indoor")
    others = [
        Stepper(settings=settings),
        Stepper(precision="float64"),
        Stepper(width=128),
        Stepper(facility=facility),
    ]
    assert all(other.build["settings"] != native["settings"] for other in others)
    monkeypatch.setattr(stepper_module, "source_fingerprint", lambda: "changed")
    assert Stepper().build["source"] == "changed" != native["source"]


def test_build_names_the_source_that_was_imported(tmp_path):
    """An edit under a running process must not pass for the code that runs."""
    package = REPOSITORY / "slowlab"
    shutil.copytree(package, tmp_path / "slowlab", ignore=shutil.ignore_patterns("__pycache__"))
    source = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import slowlab
from slowlab.greenlight.stepper import Stepper
folder = Path(sys.argv[1]) / "slowlab"
assert Path(slowlab.__file__).parent == folder
(folder / "greenlight" / "noise.py").write_text("edited = True")
print(Stepper().build["source"])
"""
    done = python(source, str(tmp_path))
    assert done.stdout.strip() == production().build["source"], done.stderr


def test_kill_in_the_middle_of_a_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "state.npz"
    source = """
import os, signal, sys
import numpy as np
from slowlab.greenlight import batch

path, build = sys.argv[1], {"definition": "a", "settings": "b"}
batch.save_batch(path, batch.open_batch(2, np.float32), build)
whole_archive = np.savez

def half_an_archive(file, **arrays):
    whole_archive(file, **arrays)
    file.seek(file.tell() // 2)
    file.truncate()
    file.flush()
    os.fsync(file.fileno())
    os.kill(os.getpid(), signal.SIGKILL)

np.savez = half_an_archive
batch.save_batch(path, batch.open_batch(5, np.float32), build)
"""
    done = python(source, str(path))
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert_same_bytes(load_batch(path, BUILD), open_batch(2, np.float32))


def test_error_in_the_middle_of_a_save_leaves_the_old_file_and_no_other(tmp_path):
    check_failed_save_keeps_the_old_file(tmp_path)


def test_modules_left_out_of_the_build_are_not_used_by_those_in_it():
    """Otherwise an edit could change results and keep the build's identity."""
    folder = REPOSITORY / "slowlab" / "greenlight"
    left_out = stepper_module._MEASURING_MODULES
    assert left_out <= {path.stem for path in folder.glob("*.py")}
    for path in folder.glob("*.py"):
        if path.stem not in left_out:
            imports = [line for line in path.read_text().splitlines() if "import" in line]
            for name in left_out:
                assert not any(f"greenlight.{name} " in line for line in imports), (path, name)
                assert not any(f"greenlight import {name}" in line for line in imports)
