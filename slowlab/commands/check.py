"""``slowlab check physics``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from slowlab.commands import evaluation_options as opt
from slowlab.commands.errors import report_user_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from slowlab.evaluation.physics import Comparison, PhysicsReport

app = typer.Typer(help="Compare the environment with published numbers.", no_args_is_help=True)
DIFFERS = 1
"""Exit code when a number differs from the published one."""


@app.callback()
def _group() -> None:
    """Keep ``physics`` a sub-command."""


@app.command()
def physics(
    years: Annotated[int, typer.Option(min=1, max=100, help="Generated weather years.")] = 12,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    shards: opt.ShardsOption = opt.DEFAULT_SHARDS,
    workers: opt.WorkersOption = None,
) -> None:
    """Levels, effects of single parameters and the fixed reference, beside published numbers.

    Contract v8 and generated weather. Ends with code 1 if a number that is judged differs.
    """
    from slowlab.evaluation.physics import check_physics, published_physics

    with report_user_errors():
        study = opt.choose_study(opt.DEFAULT_CONTRACT, None)
        named = published_physics().reference_sites
        sites = study.sites(named.partition, list(named.sites))
        with study.runner(workers, shards) as runner:
            report = check_physics(
                runner, study.distribution.default_parameters(), sites, years=years
            )
    if as_json:
        typer.echo(json.dumps(report.plain(), indent=1))
    else:
        _print(report)
        typer.echo(opt.describe_counts(runner.counts))
    if report.failed:
        raise typer.Exit(DIFFERS)


def _print(report: PhysicsReport) -> None:
    from slowlab.commands.evaluation_tables import report_console

    console = report_console()
    where = f"default site, mean of {len(report.years)} generated years"
    _print_table(console, f"Levels, {where}", report.levels)
    _print_table(console, f"Change of the January margin, {where}", report.effects)
    _print_table(console, "Fixed reference, three scoring years a site", [report.reference])
    scores = ", ".join(f"{site}: {score:.2f}" for site, score in report.reference_scores.items())
    console.print(f"By site: {scores}")
    console.print(f"Published: {report.source}")
    verdict = "[bold red]DIFFERS[/bold red]" if report.failed else "[bold]agrees[/bold]"
    names = ": " + ", ".join(item.name for item in report.failed) if report.failed else ""
    console.print(verdict + names)


def _print_table(console: Console, title: str, rows: Sequence[Comparison]) -> None:
    from slowlab.commands.evaluation_tables import print_table

    headings = ("quantity", "verdict", "rule", "published", "measured")
    cells = [
        (
            f"{row.name.replace('_', ' ')}, {row.unit}",
            row.verdict,
            row.rule,
            f"{row.published:.2f}",
            f"{row.measured:.2f} ± {row.error:.2f}",
        )
        for row in rows
    ]
    print_table(console, title, headings, cells, texts=3)
