"""``slowlab bench campaigns``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from slowlab.world.facility_bench import CampaignBench


def bench_campaigns_command(
    campaigns: Annotated[int, typer.Option(help="Number of campaigns.", min=1)] = 48,
    days: Annotated[int, typer.Option(help="Length of each, days.", min=1, max=365)] = 365,
    processes: Annotated[int, typer.Option(help="Processes that share them.", min=1)] = 2,
    records: Annotated[bool, typer.Option(help="Keep the readings of all instruments.")] = True,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output.")
    ] = False,
) -> None:
    """Speed and memory of whole campaigns on development sites."""
    from rich.console import Console

    from slowlab.world.facility_bench import bench_campaigns

    with Console(stderr=True).status("stepping campaigns"):
        report = bench_campaigns(
            campaigns=campaigns, days=days, processes=processes, records=records
        )
    if as_json:
        typer.echo(json.dumps(report.as_json(), indent=1))
    else:
        _print(report, Console())


def _print(report: CampaignBench, console: Console) -> None:
    from rich.table import Table

    kept = "with" if report.records else "without"
    table = Table(
        title=f"{report.campaigns} campaigns of {report.days} days {kept} readings, "
        f"{report.processes} process(es)"
    )
    table.add_column("figure")
    table.add_column("measured", justify="right")
    for name, value in (
        ("stepping, s", f"{report.stepping_s:.1f}"),
        ("processor time, s", f"{report.cpu_s:.1f}"),
        ("lane-days per second", f"{report.lane_days_per_s:,.0f}"),
        ("lane-days per second of processor time", f"{report.lane_days_per_cpu_s:,.0f}"),
        ("memory per campaign, MB", f"{report.memory_mb_per_campaign:.1f}"),
        ("peak memory of a process, MB", f"{report.peak_memory_mb:,.0f}"),
    ):
        table.add_row(name, value)
    console.print(table)
