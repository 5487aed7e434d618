"""``slowlab audit simulator`` and ``slowlab bench simulator``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from slowlab.greenlight.audit import AuditReport
    from slowlab.greenlight.bench import BenchReport

audit = typer.Typer(help="Measure errors against reference solutions.", no_args_is_help=True)
bench = typer.Typer(help="Measure speed.", no_args_is_help=True)

_AUDIT_WEATHER_SEED = 0
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


@audit.callback()
def _audit_group() -> None:
    """Keep ``simulator`` a sub-command."""


@bench.callback()
def _bench_group() -> None:
    """Keep ``simulator`` a sub-command."""


@audit.command("simulator")
def audit_simulator_command(
    as_json: Json = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Short windows (2 and 10 days): a minute, not ten.")
    ] = False,
) -> None:
    """Errors of the compiled stepper against GreenLight's equations, tightly integrated."""
    from rich.console import Console
    from rich.progress import Progress

    from slowlab.greenlight.audit import audit_simulator
    from slowlab.weather.generator import generate_year

    year = generate_year(_AUDIT_WEATHER_SEED)
    console = Console(stderr=True)
    with Progress(console=console, transient=True) as bar:
        tasks: dict[str, int] = {}

        def advanced(stage: str, share: float) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=1.0)
            bar.update(tasks[stage], completed=share)

        report = audit_simulator(year, year.source, quick=quick, progress=advanced)
    if as_json:
        typer.echo(json.dumps(report.as_json(), indent=1))
    else:
        _print_audit(report, Console())
    if not report.passed:
        raise typer.Exit(1)


@bench.command("simulator")
def bench_simulator_command(
    as_json: Json = False,
    oracle: Annotated[
        bool, typer.Option("--oracle", help="Time GreenLight 2.0.5 itself beside it.")
    ] = False,
    seconds: Annotated[float, typer.Option(help="Length of each timed run.", min=0.5)] = 8.0,
) -> None:
    """Lane-days per second on one and two cores, memory and start-up time."""
    from rich.console import Console

    from slowlab.greenlight.bench import bench_simulator

    console = Console(stderr=True)
    with console.status("measuring") as status:
        report = bench_simulator(
            seconds=seconds, oracle=oracle, progress=lambda text: status.update(text)
        )
    if as_json:
        typer.echo(json.dumps(report.as_json(), indent=1))
    else:
        _print_bench(report, Console())


def _print_audit(report: AuditReport, console: Console) -> None:
    from rich.table import Table

    gates = report.gates
    console.print(
        f"Right-hand side, {report.rhs_states} random states: largest relative error "
        f"{report.rhs_max_relative_error:.1e} (gate {gates['rhs_relative']:.0e})"
    )
    table = Table(
        title=f"Open loop, {report.open_loop_days} days against RK4 at "
        f"{report.reference_step_s} s; in brackets the audit build "
        f"(float64, {report.audit_substeps} substeps)"
    )
    for heading in ("scenario", "air RMSE, K", "air max, K", "CO2 RMSE, mg/m3", "totals, relative"):
        table.add_column(heading, justify="left" if heading == "scenario" else "right")
    for row, fine in zip(report.open_loop, report.open_loop_audit_build, strict=True):
        table.add_row(
            row.scenario,
            f"{row.air_temperature_rmse_k:.4f} ({fine.air_temperature_rmse_k:.4f})",
            f"{row.air_temperature_max_k:.3f} ({fine.air_temperature_max_k:.3f})",
            f"{row.co2_rmse_mg_m3:.2f} ({fine.co2_rmse_mg_m3:.2f})",
            f"{row.totals_max_relative_error:.1e} ({fine.totals_max_relative_error:.1e})",
        )
    table.add_row(
        "gate",
        f"{gates['air_temperature_rmse_k']}",
        f"{gates['air_temperature_max_k']}",
        f"{gates['co2_rmse_mg_m3']}",
        f"{gates['open_loop_totals']:.0e}",
    )
    console.print(table)
    _print_two_days(report, console)
    gate = gates["closed_loop_totals"]
    closed_gate = "none in a quick run" if gate is None else f"{gate:.0e}"
    console.print(
        f"Closed loop, {report.closed_loop_days} days, ensemble means: largest relative error of a "
        f"total {report.closed_loop_totals_max_relative_error:.1e} "
        f"(audit build {report.closed_loop_totals_audit_build:.1e}, gate {closed_gate}); "
        f"as a share of the larger of the total and the typical use "
        f"{report.closed_loop_totals_max_share_of_typical_use:.1e}"
    )
    console.print(f"Weather: {report.weather}")
    console.print("[bold]passed[/bold]" if report.passed else "[bold red]FAILED[/bold red]")


def _print_two_days(report: AuditReport, console: Console) -> None:
    from rich.table import Table

    table = Table(title="Two winter days under held commands, against GreenLight's tight solution")
    for heading in ("solver", "air RMSE, K", "air max, K", "CO2 RMSE, mg/m3", "harvest, relative"):
        table.add_column(heading, justify="left" if heading == "solver" else "right")
    for row in report.greenlight_two_days:
        table.add_row(
            row.solver,
            f"{row.air_temperature_rmse_k:.1e}",
            f"{row.air_temperature_max_k:.1e}",
            f"{row.co2_rmse_mg_m3:.1e}",
            f"{row.harvest_relative:.1e}",
        )
    console.print(table)


def _print_bench(report: BenchReport, console: Console) -> None:
    from rich.table import Table

    table = Table(title=f"Simulator, {report.substeps} substeps, {report.cpu_count} processors")
    table.add_column("figure")
    table.add_column("measured", justify="right")
    rows = [
        ("lane-days per second, one core", f"{report.lane_days_per_s_one_core:,.0f}"),
        ("lane-days per second, two cores", f"{report.lane_days_per_s_two_cores:,.0f}"),
        ("peak memory of a process, MB", f"{report.peak_memory_mb:,.0f}"),
        ("first day, full cache, s", f"{report.warm_start_s:.1f}"),
        ("first day, empty cache, s", f"{report.cold_start_s:.1f}"),
    ]
    if report.greenlight_lane_days_per_s is not None and report.ratio_one_core is not None:
        rows += [
            ("GreenLight itself, lane-days per second", f"{report.greenlight_lane_days_per_s:.3f}"),
            ("ratio, one core", f"{report.ratio_one_core:,.0f}"),
        ]
    for row in rows:
        table.add_row(*row)
    console.print(table)
