"""Both ways to call Snakemake plan the same jobs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET_RULES = {"all", "default"}


def snakemake(folder: Path, *arguments: str) -> str:
    """Run Snakemake in ``folder`` and return all that it printed."""
    command = [sys.executable, "-m", "snakemake", *arguments]
    run = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)
    printed = run.stdout + run.stderr
    assert run.returncode == 0, printed
    return printed


def plan(*arguments: str) -> list[tuple[str, ...]]:
    """Return the planned jobs of a dry run: rule, inputs and outputs."""
    printed = snakemake(ROOT, "--dry-run", "--forceall", *arguments)
    jobs = re.findall(r"^rule (\w+):\n((?:    .*\n)+)", printed, re.MULTILINE)
    return sorted(
        (rule, *re.findall(r"^    ((?:input|output): .*)$", body, re.MULTILINE))
        for rule, body in jobs
        if rule not in TARGET_RULES
    )


def test_both_entry_points_plan_the_same_jobs() -> None:
    from_the_top = plan()
    assert from_the_top
    assert plan("-s", "workflow/Snakefile") == from_the_top


def test_no_rule_starts_python_through_run() -> None:
    for path in (ROOT / "workflow").rglob("*.smk"):
        assert not re.search(r"^    run:", path.read_text(encoding="utf-8"), re.MULTILINE), path
