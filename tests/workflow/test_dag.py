"""Both ways to call Snakemake plan the same jobs, and an edit of the simulator reruns them."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGET_RULES = {"all", "default"}
ONE_RULE = """
include: "workflow/rules/common.smk"


rule use_simulator:
    output:
        "done.txt",
    params:
        code=SIMULATOR_CODE,
    shell:
        "touch {output}"
"""


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


@pytest.fixture
def fingerprint(tmp_path: Path) -> Callable[..., str]:
    """The workflow's own function, loaded from its file and pointed at a folder of this test."""
    source = (ROOT / "workflow" / "rules" / "common.smk").read_text(encoding="utf-8")
    definition = re.search(r"^def fingerprint.*?(?=^\S)", source, re.MULTILINE | re.DOTALL)
    names = {"ROOT": tmp_path, "hashlib": hashlib}
    exec(definition.group(0), names)
    return names["fingerprint"]


def test_fingerprint_follows_content_and_names_only(
    fingerprint: Callable[..., str], tmp_path: Path
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    module = package / "module.py"
    module.write_text("a = 1\n", encoding="utf-8")
    first = fingerprint("package")
    module.touch()
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "module.pyc").write_bytes(b"bytecode")
    assert fingerprint("package") == first
    module.write_text("a = 2\n", encoding="utf-8")
    second = fingerprint("package")
    assert second != first
    module.rename(package / "other.py")
    assert fingerprint("package") not in {first, second}


def test_an_edit_of_the_simulator_reruns_its_rules(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "workflow", tmp_path / "workflow")
    (tmp_path / "Snakefile").write_text(ONE_RULE, encoding="utf-8")
    module = tmp_path / "slowlab" / "greenlight" / "module.py"
    module.parent.mkdir(parents=True)
    module.write_text("a = 1\n", encoding="utf-8")
    snakemake(tmp_path, "--cores", "1")
    assert "Nothing to be done" in snakemake(tmp_path, "--dry-run")
    module.write_text("a = 2\n", encoding="utf-8")
    assert "Params have changed" in snakemake(tmp_path, "--dry-run")
