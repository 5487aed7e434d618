import os
import subprocess
import sys

import pytest

from slowlab.io import atomic_path, atomic_write_bytes, atomic_write_text


def test_content_arrives_and_folders_are_made(tmp_path):
    target = tmp_path / "a" / "b.json"
    assert atomic_write_text(target, "ä\n") == target
    assert target.read_bytes() == b"\xc3\xa4\n"
    atomic_write_bytes(target, b"\r\n")
    assert target.read_bytes() == b"\r\n"
    assert os.listdir(target.parent) == ["b.json"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "table.csv"
    atomic_write_text(target, "old")

    def write_half():
        with atomic_path(target) as part:
            part.write_text("half")
            raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        write_half()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_the_temporary_name_keeps_the_suffix(tmp_path):
    with atomic_path(tmp_path / "table.parquet") as part:
        assert part.suffix == ".parquet"
        assert part.parent == tmp_path
        part.write_bytes(b"x")


def test_a_block_that_writes_nothing_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "table.csv"):
        pass
    assert os.listdir(tmp_path) == []


def test_text_that_is_not_unicode_is_refused(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        atomic_write_text(tmp_path / "a.txt", "\ud800")
    assert os.listdir(tmp_path) == []


def test_a_killed_process_leaves_no_file_under_the_final_name(tmp_path):
    code = (
        "import os, sys; from slowlab.io import atomic_path\n"
        "with atomic_path(sys.argv[1]) as part:\n"
        "    part.write_text('half'); os._exit(9)\n"
    )
    target = tmp_path / "result.json"
    done = subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert done.returncode == 9
    assert not target.exists()
