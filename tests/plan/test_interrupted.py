"""What a killed run leaves is cleared away, and nothing that a living one needs."""

import os
import shutil
import subprocess
import sys
import time
from base64 import urlsafe_b64encode

import pytest

from slowlab.plan.interrupted import marked_output, other_runs, resume_interrupted

LONG = "results/tiny/campaigns/" + "a_method_with_a_long_name/" * 12 + "recommendations.json"


def mark(folder, output):
    """Mark an output as Snakemake does."""
    text = urlsafe_b64encode(output.encode()).decode()
    parts = [text[begin : begin + 254] for begin in range(0, len(text), 254)]
    path = folder / ".snakemake" / "incomplete"
    for part in parts[:-1]:
        path /= f"@{part}"
    path /= parts[-1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"external_jobid": null}', encoding="utf-8")
    return path


@pytest.fixture
def killed(tmp_path):
    """A folder in which a run was killed while it made three outputs; a fourth one is finished."""
    (tmp_path / ".snakemake" / "locks").mkdir(parents=True)
    (tmp_path / ".snakemake" / "locks" / "0.output.lock").write_text("x", encoding="utf-8")
    for output in ("results/half.json", "results/done.json", LONG):
        path = tmp_path / output
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{", encoding="utf-8")
    (tmp_path / "results" / "journals").mkdir()
    (tmp_path / "results" / "journals" / "site.jsonl").touch()
    for output in ("results/half.json", "results/journals", LONG, "results/never_begun.json"):
        mark(tmp_path, output)
    return tmp_path


def test_unfinished_outputs_and_the_lock_are_removed(killed):
    resume_interrupted(killed)
    left = {p.relative_to(killed).as_posix() for p in killed.rglob("*") if p.is_file()}
    assert left == {"results/done.json"}
    resume_interrupted(killed)


@pytest.mark.parametrize("output", ["a.json", "results/x y/\u00e9.json", LONG])
def test_marks_are_read_back(tmp_path, output):
    path = mark(tmp_path, output)
    assert marked_output(path.relative_to(tmp_path / ".snakemake" / "incomplete")) == output


def test_nothing_is_touched_while_another_run_lives(killed):
    script = killed / "snakemake"
    script.write_text("import time\ntime.sleep(60)\n", encoding="utf-8")
    process = subprocess.Popen([sys.executable, str(script)], cwd=killed)
    try:
        deadline = time.monotonic() + 20
        while other_runs(killed) != [process.pid] and time.monotonic() < deadline:
            time.sleep(0.05)
        before = sorted(killed.rglob("*"))
        resume_interrupted(killed)
        assert sorted(killed.rglob("*")) == before
        assert other_runs(killed) == [process.pid]
    finally:
        process.kill()
        process.wait()
    assert other_runs(killed) == []


def test_a_folder_without_a_state_is_no_obstacle(tmp_path):
    resume_interrupted(tmp_path)
    assert os.listdir(tmp_path) == []
    shutil.rmtree(tmp_path)
