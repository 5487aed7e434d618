"""``slowlab value``: how much of what can be gained only learning the site gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowlab.commands import evaluation_options as opt
from slowlab.commands.errors import report_user_errors

if TYPE_CHECKING:
    from rich.console import Console

    from slowlab.commands.evaluation_options import Study
    from slowlab.evaluation.runner import RunCounts
    from slowlab.evaluation.value import ValueReport, ValueSettings


def value(
    sites: Annotated[int, typer.Option("--sites", min=2, help="Sites, from 0.")] = 48,
    partition: opt.PartitionOption = "rehearsal",
    contract: Annotated[
        list[str] | None,
        typer.Option("--contract", help="Packaged contract (v8, v9-draft) or file; repeatable."),
    ] = None,
    distribution: opt.DistributionOption = None,
    development_sites: Annotated[
        int, typer.Option(min=2, help="Development sites for the policy common to all.")
    ] = 32,
    common: Annotated[
        Path | None, typer.Option(help="Result of common-policy, instead of a new search.")
    ] = None,
    repeated: Annotated[
        int, typer.Option(min=0, help="Sites that are searched twice, for the search error.")
    ] = 4,
    weather: opt.WeatherOption = None,
    out: Annotated[Path, typer.Option(help="Folder, with one for each contract in it.")] = Path(
        "results/value"
    ),
    shards: opt.ShardsOption = opt.DEFAULT_SHARDS,
    workers: opt.WorkersOption = None,
) -> None:
    """What experiments on a site are worth: a table and a figure for each contract. Private.

    Scores the fixed reference, the best single policy of the development sites, the choice by
    public prices and the best-known policy of every site in the same unseen years.
    """
    from dataclasses import replace

    from slowlab.evaluation.value import ValueSettings

    settings = replace(ValueSettings(), repeated=repeated)
    with report_user_errors():
        studies = [
            opt.choose_study(name, distribution, weather)
            for name in contract or [opt.DEFAULT_CONTRACT]
        ]
        for study in studies:
            request = _Request(partition, sites, development_sites, common, workers, shards)
            report, counts = _compare(study, request, settings)
            files = _write(report, out / study.contract.id)
            _print(study, report, counts)
            typer.echo(f"Wrote {', '.join(str(file) for file in files)}")


class _Request:
    """What was asked for, as far as it is the same for every contract."""

    def __init__(
        self,
        partition: str,
        sites: int,
        development: int,
        common: Path | None,
        workers: int | None,
        shards: Path,
    ) -> None:
        self.partition, self.sites, self.development = partition, sites, development
        self.common, self.workers, self.shards = common, workers, shards


def _compare(
    study: Study, request: _Request, settings: ValueSettings
) -> tuple[ValueReport, RunCounts]:
    from slowlab.evaluation.common_file import read_common
    from slowlab.evaluation.value import value_of_experiments

    earlier = None if request.common is None else read_common(request.common, study.contract)
    development = study.sites("development", range(request.development))
    sites = study.sites(request.partition, range(request.sites))
    with study.runner(request.workers, request.shards) as runner:
        report = value_of_experiments(
            runner,
            development,
            sites,
            settings,
            common=earlier,
            stage=lambda text: typer.echo(f"{study.label}: {text}", err=True),
        )
    return report, runner.counts


def _write(report: ValueReport, folder: Path) -> list[Path]:
    """Report, tables, common policy and figure."""
    from slowlab.canonical import canonical_json
    from slowlab.evaluation.common_file import write_common
    from slowlab.evaluation.score import SCORE_SCHEMA, SITE_SCHEMA
    from slowlab.evaluation.value import as_plain
    from slowlab.io import atomic_write_bytes
    from slowlab.plots.style import figure_bytes
    from slowlab.plots.value import draw_value

    figure = draw_value(report)
    contents = {
        "value.json": (canonical_json(as_plain(report)) + "\n").encode(),
        "scores.parquet": SCORE_SCHEMA.parquet(report.scores),
        "site_scores.parquet": SITE_SCHEMA.parquet(report.site_scores),
        "value.png": figure_bytes(figure, "png"),
        "value.svg": figure_bytes(figure, "svg"),
    }
    written = [atomic_write_bytes(folder / name, content) for name, content in contents.items()]
    return [*written, write_common(folder / "common_policy.json", report.common)]


def _print(study: Study, report: ValueReport, counts: RunCounts) -> None:
    from slowlab.commands.evaluation_tables import report_console

    console = report_console()
    _print_steps(console, study, report)
    _print_fields(console, report)
    console.print(
        f"Optimism of the choice, removed: {report.optimism:+.2f} ± {report.optimism_se:.2f} "
        "EUR/m2 (gain over the reference where chosen minus where scored)"
    )
    if report.search_repeat:
        differences = ", ".join(f"{value:+.2f}" for value in report.search_repeat)
        console.print(f"Second search minus first, EUR/m2: {differences}")
    for site, reason in report.left_out.items():
        console.print(f"Left out: site {site}: {reason}")
    console.print(opt.describe_counts(counts))


def _print_steps(console: Console, study: Study, report: ValueReport) -> None:
    from slowlab.commands.evaluation_tables import print_table

    smallest = study.contract.evaluation.smallest_effect_of_interest_eur_m2
    headings = (
        "difference",
        "mean, error\nover sites",
        "error\nover years",
        "of this\nevaluation",
        "share of\nheadroom",
        f"sites\nabove {smallest:g}",
    )
    rows = [
        (
            step.meaning,
            f"{step.difference.mean:+.2f} ± {step.difference.se_sites:.2f}",
            f"{step.difference.se_years:.2f}",
            f"{step.difference.evaluation_error:.2f}",
            f"{100 * step.share:.0f} ± {100 * step.share_se:.0f} %",
            f"{100 * step.difference.above:.0f} %",
        )
        for step in report.steps
    ]
    title = f"{study.label}: {len(report.sites)} sites of {report.partition}, EUR/m2 per crop"
    print_table(console, title, headings, rows)
    scores = ", ".join(
        f"{name.replace('_', ' ')} {mean:.2f} ± {report.mean_errors[name]:.2f}"
        for name, mean in report.means.items()
    )
    console.print(f"Mean scores: {scores}")


def _print_fields(console: Console, report: ValueReport) -> None:
    from slowlab.commands.evaluation_tables import print_table

    headings = ("field", "mean", "sd", "at lower\nbound", "at upper\nbound", "best single\npolicy")
    rows = [
        (
            item.field,
            f"{item.mean:.2f}",
            f"{item.sd:.2f}",
            f"{100 * item.at_low:.0f} %",
            f"{100 * item.at_high:.0f} %",
            f"{item.common:g}",
        )
        for item in report.fields
    ]
    print_table(console, "Where the best policies of the sites lie", headings, rows)
