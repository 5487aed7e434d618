"""A copy of the repository in which a tiny study is run, edited and killed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = (
    "Snakefile",
    "requirements.lock",
    "slowlab",
    "workflow",
    "config",
    "figures",
    "preregistration",
    "docs",
    "examples",
)
TINY = """
study: tiny
partition: rehearsal
sites: 2
repeats: 1
sites_per_shard: {per_shard}
feedback: [full, endpoint]
methods:
  - fixed_reference
  - {{name: search, method: random_search}}
  - prior_bo
  - {{name: grower, model: stand-in-grower, stand_in: true}}
{more_methods}
readers: [best_observed, {{name: grower_reader, model: stand-in-grower, stand_in: true}}]
reader_sources: [prior_bo, grower]
analysis:
  baseline: prior_bo
  reference: fixed_reference
  example_method: prior_bo
  timeline_methods: [search, prior_bo]
  flips: 1000
  resamples: 1000
{more_keys}
"""
_JOB = re.compile(r"^(?:local)?rule (\w+):\n((?:    .*\n)+)", re.MULTILINE)
_OUTPUT = re.compile(r"^    output: (.*)$", re.MULTILINE)
_TARGETS = ("all", "default")


@dataclass(frozen=True)
class StudyCopy:
    """A working folder with everything that a study needs.

    Attributes:
        folder: its root.
    """

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> StudyCopy:
        """Copy the repository's sources into a new folder."""
        ignored = shutil.ignore_patterns("__pycache__")
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=ignored)
            else:
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, folder / name)
        return cls(folder)

    def write_study(
        self, per_shard: int = 2, more_methods: str = "", more_keys: str = "", **changes: str
    ) -> None:
        """Write the tiny study as tiny.yaml."""
        text = TINY.format(per_shard=per_shard, more_methods=more_methods, more_keys=more_keys)
        for old, new in changes.items():
            text = text.replace(old, new)
        (self.folder / "tiny.yaml").write_text(text, encoding="utf-8")

    def command(self, *arguments: str) -> list[str]:
        """Snakemake on the tiny study; its results are the targets unless others are given."""
        given = list(arguments)
        targets = [] if "--" in given else ["--", "results/tiny/report.html"]
        return [sys.executable, "-m", "snakemake", "--configfile", "tiny.yaml", *given, *targets]

    def environment(self, **variables: str) -> dict[str, str]:
        """This folder's own package comes first."""
        return {**os.environ, "PYTHONPATH": str(self.folder), **variables}

    def run(
        self, *arguments: str, variables: Mapping[str, str] | None = None, ok: bool = True
    ) -> str:
        """Run Snakemake and return all that it printed."""
        run = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment(**(variables or {})),
            text=True,
            capture_output=True,
            check=False,
        )
        printed = run.stdout + run.stderr
        assert (run.returncode == 0) is ok, printed
        return printed

    def planned(self, *arguments: str) -> list[tuple[str, str]]:
        """Rule and outputs of every job that would be run."""
        printed = self.run("--cores", "2", "--dry-run", *arguments)
        return [
            (rule, "".join(_OUTPUT.findall(body)))
            for rule, body in _JOB.findall(printed)
            if rule not in _TARGETS
        ]

    def transcripts(self) -> dict[str, bytes]:
        """Bytes of all transcripts by path, without the times beside them."""
        found = self.results(("transcripts/**/*.transcript.jsonl",))
        return {name: content for name, content in found.items() if ".superseded" not in name}

    def results(self, patterns: Sequence[str]) -> dict[str, bytes]:
        """Bytes of result files by path in the study's folder."""
        root = self.folder / "results" / "tiny"
        return {
            path.relative_to(root).as_posix(): path.read_bytes()
            for pattern in patterns
            for path in sorted(root.glob(pattern))
        }
