"""``slowlab plan``: what a study will run, why, and how long it will take."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowlab.commands.errors import InputError, report_user_errors

if TYPE_CHECKING:
    from slowlab.plan.estimate import JobEstimate
    from slowlab.plan.study import StudyConfig

_JOB = re.compile(r"^(?:local)?(?:rule|checkpoint) (\w+):\n((?:    .*\n)+)", re.MULTILINE)
_REASON = re.compile(r"^    reason: (.*)$", re.MULTILINE)
_TIMING = re.compile(r"^    benchmark: .*/([^/]+)\.tsv$", re.MULTILINE)
_FILES = re.compile(r"^(Missing output files|Input files updated by another job): .*")
_TARGETS = ("all", "default")
_OTHER_JOB_S = 3.0


def plan(
    targets: Annotated[
        list[str] | None, typer.Argument(help="Rules or files to make; default: the study.")
    ] = None,
    study: Annotated[Path, typer.Option("--study", help="Study file.")] = Path(
        "config/config.yaml"
    ),
    cores: Annotated[int | None, typer.Option(help="Cores.", min=1, show_default="all")] = None,
) -> None:
    """Say which jobs a study will run, why, and how long they will take.

    To be called in the repository. Nothing is run.
    """
    from slowlab.plan.items import load_method_folders
    from slowlab.plan.study import load_study

    with report_user_errors():
        config = load_study(study)
        load_method_folders(config.method_folders)
        jobs = planned_jobs(study, targets or [])
        _print_study(config)
        if not jobs:
            typer.echo("Nothing to be done: every result is there and up to date.")
            return
        _print_jobs(config, jobs, cores or os.cpu_count() or 1)


def planned_jobs(study: Path, targets: list[str]) -> list[tuple[str, str, str | None]]:
    """Rule, reason and name of the timing file of every job that Snakemake would run.

    Raises:
        InputError: Snakemake refuses; its last lines are in the message.
    """
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1"]
    command += ["--configfile", str(study), "--", *targets]
    run = subprocess.run(command, text=True, capture_output=True, check=False)
    printed = run.stdout + run.stderr
    if run.returncode != 0:
        raise InputError("snakemake cannot plan this study:\n" + printed[-2_000:])
    found = []
    for rule, body in _JOB.findall(printed):
        reason, timing = _REASON.search(body), _TIMING.search(body)
        if rule not in _TARGETS:
            why = _FILES.sub(r"\1", reason.group(1)) if reason else "not given"
            found.append((rule, why, timing.group(1) if timing else None))
    return found


def _print_study(config: StudyConfig) -> None:
    from slowlab.plan.items import campaign_items, experimenting, shards

    campaigns = sum(len(i.shard.sites) for i in campaign_items(config, experimenting(config)))
    typer.echo(
        f"Study {config.study} ({config.purpose}): {config.sites} {config.partition} sites in "
        f"{len(shards(config))} shard(s), {len(config.methods)} methods, {campaigns} campaigns, "
        f"conditions {' and '.join(config.feedback)}, {config.repeats} repeat(s), "
        f"{len(config.readers)} readers"
    )


def _print_jobs(config: StudyConfig, jobs: list[tuple[str, str, str | None]], cores: int) -> None:
    from slowlab.commands.evaluation_tables import print_table, report_console

    known = _known_estimates(config)
    counts, seconds = Counter(rule for rule, _, _ in jobs), Counter[str]()
    guessed = set[str]()
    for rule, _, timing in jobs:
        job = known.get((rule, timing))
        seconds[rule] += _OTHER_JOB_S if job is None else job.seconds
        if job is None or not job.measured:
            guessed.add(rule)
    rows = []
    for rule, count in counts.items():
        reasons = Counter(why for other, why, _ in jobs if other == rule)
        shown = "; ".join(f"{why} ({n})" for why, n in reasons.most_common(3))
        basis = "rates" if rule in guessed else "measured before"
        rows.append((rule, shown, basis, str(count), f"{seconds[rule] / 60:.1f}"))
    headings = ("rule", "why", "time from", "jobs", "core-minutes")
    print_table(report_console(), "Jobs to run", headings, rows, texts=3)
    total = sum(seconds.values())
    typer.echo(
        f"{len(jobs)} jobs, about {total / 60:.0f} core-minutes: "
        f"{total / cores / 60:.0f} minutes on {cores} core(s)"
    )


def _known_estimates(config: StudyConfig) -> dict[tuple[str, str | None], JobEstimate]:
    """Estimates by rule and name of the timing file."""
    from slowlab.config import CONFIG_ROOT
    from slowlab.plan.estimate import Calendar, estimates, with_timings
    from slowlab.prereg.place import results_of
    from slowlab.world.contract import load_contract
    from slowlab.world.site_distribution import load_sites

    contract = load_contract(CONFIG_ROOT / "contracts" / f"{config.contract}.yaml")
    distribution = load_sites(CONFIG_ROOT / "sites" / f"{config.distribution}.yaml")
    calendar = Calendar(
        contract.calendar.campaign_days,
        contract.facility.compartments,
        distribution.evaluation_years,
    )
    folder = results_of(Path(), config).folder / "timings"
    names = {
        "run_campaigns": "campaigns",
        "run_agents": "agents",
        "score_method": "scores",
        "score_reader": "reading_scores",
        "find_oracle": "oracle",
        "rescore_side_wall": "side_wall",
    }
    return {
        (rule, job.name): job
        for rule, jobs in estimates(config, calendar).items()
        for job in with_timings(jobs, folder / names[rule])
    }
