"""``slowlab bench agents``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from slowlab.stages.agent_bench import AgentBench


def bench_agents_command(
    campaigns: Annotated[int, typer.Option(help="Number of campaigns.", min=8)] = 32,
    delay_s: Annotated[
        float, typer.Option("--delay", help="Time that every answer takes, s.", min=0)
    ] = 0.2,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output.")
    ] = False,
) -> None:
    """Campaigns of stand-ins for language models: each alone, and all of them together."""
    from rich.console import Console

    from slowlab.stages.agent_bench import bench_agents

    with Console(stderr=True).status("measuring") as status:
        report = bench_agents(campaigns=campaigns, delay_s=delay_s, progress=status.update)
    if as_json:
        typer.echo(json.dumps(report.as_json(), indent=1))
    else:
        _print(report, Console())


def _print(report: AgentBench, console: Console) -> None:
    from rich.table import Table

    table = Table(title=f"{report.campaigns} campaigns, {report.delay_s:g} s for every answer")
    table.add_column("figure")
    table.add_column("measured", justify="right")
    for item in report.alone:
        name = f"alone: stand-in {item.script}, {item.feedback}, {item.calls} calls, s"
        table.add_row(name, f"{item.wall_s:.1f}")
    for name, value in (
        ("longest alone, s", report.longest_alone_s),
        ("stepping of all alone, s", report.stepping_s),
        ("all together, s", report.together_s),
        ("processor time of that, s", report.together_cpu_s),
        ("allowed: 1.5 times the longest, and the stepping, s", report.allowed_s),
    ):
        table.add_row(name, f"{value:.1f}")
    console.print(table)
