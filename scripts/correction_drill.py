"""Drill of a correction: lock, run, find a fault, amend, carry over, run again, compare.

A copy of the repository gets a tiny study, a partition whose sealed seed is public, and a planted
fault: one method reads numbers of the policy fields in the order received. Then everything that
``docs/preregistration.md`` says is done with the real commands, and what they print is written to
``docs/correction-drill.md``. Nothing of it touches the repository's own lock, seeds or results.
What the page tells is kept in ``examples/correction_drill/played.json``; a test holds both equal.

Usage::

    uv run scripts/correction_drill.py                      # writes the record and the page
    uv run scripts/correction_drill.py --folder DIR --record JSON --out PAGE
    uv run scripts/correction_drill.py --no-play            # the page once more from the record
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "correction-drill.md"
GIVEN = "examples/correction_drill"
METHOD = "slowlab/methods/prior_bo_two_wave.py"
TEST = "tests/methods/test_order_of_scales.py"
AFFECTED, STUDY = "prior_bo_two_wave", "config/drill.yaml"
OF_REAL_STUDIES = ("lock.json", "amendments", "commitments")
PLACES = {
    "study.yaml": STUDY,
    "declaration.yaml": "preregistration/study.yaml",
    "partitions.yaml": "config/partitions/drill.yaml",
}
"""Where the drill's files go in the copy."""
RIGHT = "        known = local_knowledge(self.settings, self.artifacts, campaign.task, rng)\n"
WRONG = f"{RIGHT}        known = with_scales_as_received(known, self.artifacts)\n"
FAULT = '''

def with_scales_as_received(known, artifacts):
    """The planted fault: length scales as they are listed, and not by the names of the fields."""
    from dataclasses import replace

    listed = artifacts.load("kernel").content["policy_length_scales"]
    kernel = replace(known.kernel, policy_length_scales=tuple(listed.values()))
    return replace(known, kernel=kernel)
'''
_JOB = re.compile(r"^(?:local)?rule (\w+):\n((?:    .*\n)+)", re.MULTILINE)
_OUTPUT = re.compile(r"^    output: ([^,\n]*)", re.MULTILINE)
_TARGETS = ("all", "default")
_IDENTITY = ("-c", "user.name=drill", "-c", "user.email=drill@localhost")


class DrillError(Exception):
    """A step did not go as it must."""


@dataclass(frozen=True)
class Command:
    """A command that was run.

    Attributes:
        shown: how a person types it.
        printed: what it printed, without the copy's path.
        seconds: wall time.
    """

    shown: str
    printed: str
    seconds: float

    @property
    def jobs(self) -> list[tuple[str, str]]:
        """Rule and first output, in the study's folder, of each job that Snakemake has run."""
        found = [
            (rule, (_OUTPUT.findall(body) or [""])[0])
            for rule, body in _JOB.findall(self.printed)
            if rule not in _TARGETS
        ]
        return [(rule, re.sub(r"^results/drill@\w+/", "", output)) for rule, output in found]


@dataclass
class Drill:
    """The drill in one folder; see the module.

    Attributes:
        folder: empty folder for the copy and its private folder.
        cores: cores of Snakemake.
        commands: what was run so far, by name of the step.
        locks: ids of the first and the amended lock.
        kept: results carried over, made again, and those of the first lock.
    """

    folder: Path
    cores: int = 2
    commands: dict[str, Command] = field(default_factory=dict)
    locks: list[str] = field(default_factory=list)
    kept: dict[str, list[str]] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The copy of the repository."""
        return self.folder / "slowlab-drill"

    def results(self, number: int) -> Path:
        """Folder of results under the first (0) or the amended (1) lock."""
        return self.root / "results" / f"drill@{self.locks[number][:8]}"

    def play(self) -> None:
        """All steps in order.

        Raises:
            DrillError: a command ended otherwise than it must, or a result is not what it must be.
        """
        self._copy()
        self._plant()
        self._commit("The study before its lock")
        self._lock_and_run()
        self._discover()
        self._correct()
        self._check()

    def _copy(self) -> None:
        """Every file that the repository tracks or would track, without its own lock and seeds."""
        listed = _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                target = self.root / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, target)
        for name in OF_REAL_STUDIES:
            path = self.root / "preregistration" / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for name, place in PLACES.items():
            shutil.copyfile(ROOT / GIVEN / name, self.root / place)
        opening = self.folder / "private" / "drill.opening.json"
        opening.parent.mkdir(mode=0o700)
        shutil.copyfile(ROOT / GIVEN / opening.name, opening)
        opening.chmod(0o600)
        _git(self.root, "init", "--quiet")

    def _plant(self) -> None:
        self._edit(RIGHT, WRONG, more=FAULT)

    def _lock_and_run(self) -> None:
        self._slowlab("commit", "prereg commit-seed drill --partitions drill")
        self._slowlab("status", "prereg status")
        self._slowlab("lock", "prereg lock")
        self._remember_lock()
        self._commit("Lock")
        self._snakemake("run", 0)
        self._slowlab("verify", "prereg verify --results")

    def _discover(self) -> None:
        shutil.copyfile(ROOT / GIVEN / Path(TEST).name, self.root / TEST)
        self._pytest("test fails", code=1)
        self._edit(WRONG, RIGHT, less=FAULT)
        self._pytest("test passes")
        self._snakemake("refused", 0, code=1)

    def _correct(self) -> None:
        self._slowlab("dry run", "prereg amend --dry-run")
        shutil.copyfile(ROOT / GIVEN / "amendment.md", self.root / "why.md")
        self._slowlab("amend", "prereg amend --reason why.md")
        self._remember_lock()
        self._commit("Amendment 001: length scales by name")
        self._slowlab("carry over", "prereg carry-over")
        self._snakemake("run again", 1)
        self._slowlab("verify again", "prereg verify --results")
        self._slowlab("compare", "prereg compare")
        self._slowlab("final status", "prereg status")

    def _check(self) -> None:
        """By receipts and bytes: only what is affected was made again, and nothing was lost."""
        made_under: dict[str, str] = {}
        for path in sorted((self.results(1) / "receipts").rglob("*.json")):
            receipt = json.loads(path.read_bytes())
            made_under[receipt["result"]] = receipt["made_under"]
        first, second = self.locks
        self.kept = {
            "carried over": [name for name, lock in made_under.items() if lock == first],
            "made again": [name for name, lock in made_under.items() if lock == second],
        }
        for name in self.kept["carried over"]:
            if _content(self.results(0) / name) != _content(self.results(1) / name):
                raise DrillError(f"{name}: was carried over and differs")
        slow = ("run_campaigns", "score_method", "build_packets", "read_packets", "score_reader")
        for rule, output in self.commands["run again"].jobs:
            if rule in slow and AFFECTED not in output:
                raise DrillError(f"{output}: was made again although nothing it needs has changed")

    def _edit(self, old: str, new: str, *, more: str = "", less: str = "") -> None:
        path = self.root / METHOD
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1 or less not in text:
            raise DrillError(f"{METHOD}: the place of the fault is not there once")
        path.write_text(text.replace(less, "").replace(old, new) + more, encoding="utf-8")

    def _remember_lock(self) -> None:
        self.locks.append(_lock_id(self.root / "preregistration" / "lock.json"))

    def _commit(self, message: str) -> None:
        _git(self.root, "add", "--all")
        _git(self.root, *_IDENTITY, "commit", "--quiet", "--message", message)

    def _slowlab(self, name: str, arguments: str) -> None:
        self.call(name, f"slowlab {arguments}", ["-m", "slowlab", *arguments.split()])

    def _pytest(self, name: str, code: int = 0) -> None:
        given = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "--tb=no", TEST]
        self.call(name, f"pytest {TEST}", given, code=code)

    def _snakemake(self, name: str, number: int, code: int = 0) -> None:
        """Run the study to its report; the proof of the simulator is left to the real one."""
        target = f"{self.results(number).relative_to(self.root)}/report.html"
        options = ["--cores", str(self.cores), "--configfile", STUDY]
        shown = f"snakemake --cores {self.cores} --configfile {STUDY} {target}"
        self.call(name, shown, ["-m", "snakemake", *options, "--", target], code=code)

    def call(self, name: str, shown: str, arguments: list[str], code: int = 0) -> None:
        """Run Python in the copy.

        Args:
            name: of the step, for :attr:`commands`.
            shown: how a person types the command.
            arguments: of Python.
            code: how it must end.

        Raises:
            DrillError: it ended otherwise.
        """
        folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
        environment = {
            **os.environ,
            "PATH": os.pathsep.join(folders),
            "PYTHONPATH": str(self.root),
            "SLOWLAB_PRIVATE_DIR": str(self.folder / "private"),
            "COLUMNS": "100",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        begin = time.monotonic()
        run = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        printed = run.stdout.replace(f"{self.root}/", "").replace(str(self.folder), "..")
        self.commands[name] = Command(shown, printed, time.monotonic() - begin)
        if run.returncode != code:
            raise DrillError(f"{shown}: ended with {run.returncode}, not {code}\n{printed[-4000:]}")


def _lock_id(path: Path) -> str:
    """Id of a lock: the SHA-256 of its canonical JSON."""
    from slowlab.canonical import canonical_sha256

    return canonical_sha256(json.loads(path.read_bytes()))


def _content(path: Path) -> dict[str, bytes] | bytes:
    if path.is_file():
        return path.read_bytes()
    files = (item for item in sorted(path.rglob("*")) if item.is_file())
    return {item.relative_to(path).as_posix(): item.read_bytes() for item in files}


def _git(folder: Path, *arguments: str) -> str:
    run = subprocess.run(
        ["git", *arguments], cwd=folder, text=True, capture_output=True, check=False
    )
    if run.returncode != 0:
        raise DrillError(f"git {arguments[0]}: {run.stderr.strip()}")
    return run.stdout


def job_counts(drill: Drill) -> list[tuple[str, int, int]]:
    """Rule, jobs under the first lock, jobs under the amended lock."""
    first, again = (
        Counter(rule for rule, _ in drill.commands[name].jobs) for name in ("run", "run again")
    )
    return [(rule, first[rule], again[rule]) for rule in dict.fromkeys([*first, *again])]


def main() -> None:
    """Play the drill, keep its record and write its page."""
    from scripts.correction_drill_page import page
    from scripts.correction_drill_record import RECORD, read_record, record, write_record

    parser = argparse.ArgumentParser(description="Drill of a correction.")
    parser.add_argument("--folder", type=Path, help="new folder for the copy; default: temporary")
    parser.add_argument("--record", type=Path, default=RECORD, help="what is kept of the drill")
    parser.add_argument("--out", type=Path, default=PAGE, help="page to write")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--no-play", action="store_true", help="only write the page of a record")
    given = parser.parse_args()
    if not given.no_play:
        with tempfile.TemporaryDirectory(prefix="slowlab-drill-") as temporary:
            folder = given.folder or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            drill = Drill(folder.resolve(), given.cores)
            drill.play()
            write_record(given.record, record(drill))
        print(f"Wrote {given.record}")
    given.out.write_text(page(read_record(given.record)), encoding="utf-8", newline="")
    print(f"Wrote {given.out}")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
