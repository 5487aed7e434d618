"""``slowlab weather plot|check|fetch``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowlab.commands.errors import InputError, report_user_errors

if TYPE_CHECKING:
    from rich.console import Console

    from slowlab.weather import WeatherSeries, WeatherYear
    from slowlab.weather.gates import Gate
    from slowlab.weather.plots import ComparedYears

app = typer.Typer(
    no_args_is_help=True, help="Weather years: draw them, check a file, fetch measured ones."
)

FAILED = 1
"""Exit code when generated years miss a target."""
_ENOUGH_YEARS = 10
_DEFAULT_PICTURE = Path("results/weather/generated_years")

YearOption = Annotated[
    int | None, typer.Option(help="Calendar year, for a folder of KNMI Cabauw files.")
]


@app.command()
def plot(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Weather years to draw instead of synthetic ones; 2 or more."),
    ] = None,
    pool: Annotated[str, typer.Option(help="development, campaign or evaluation.")] = "development",
    partition: Annotated[str, typer.Option(help="Name that sets a whole set of pools apart.")] = "",
    years: Annotated[int, typer.Option(help="Number of synthetic years.", min=2, max=500)] = 30,
    out: Annotated[Path, typer.Option(help="Picture; .svg and .png are added.")] = _DEFAULT_PICTURE,
) -> None:
    """Compare weather years with the targets of the generator, in a picture and a table.

    Ends with code 1 if a figure of synthetic years is outside its limits.
    """
    from rich.console import Console

    from slowlab.weather.constants import default_constants
    from slowlab.weather.gates import check_gates
    from slowlab.weather.plots import compare_years
    from slowlab.weather.targets import load_targets

    console = Console()
    with report_user_errors(), Console(stderr=True).status("making the years"):
        chosen, source = _read_years(files) if files else _pool_years(pool, partition, years)
        compared = compare_years(chosen, source)
    gates = check_gates(compared.descriptions, load_targets(), default_constants())
    with report_user_errors():
        pictures = _save_picture(compared, out)
    _print_gates(console, source, gates)
    for path in pictures:
        typer.echo(f"wrote {path}")
    if not files and years >= _ENOUGH_YEARS and not all(gate.passed for gate in gates):
        raise typer.Exit(FAILED)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="Weather file, or folder of KNMI Cabauw files.")],
    year: YearOption = None,
    start: Annotated[
        str | None, typer.Option(help="ISO time of the first record, if the file holds no date.")
    ] = None,
    whole_year: Annotated[
        bool, typer.Option("--whole-year", help="Also require 365 days from 1 January.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Read a weather file as a simulation would, and say what it holds or what is wrong."""
    from slowlab.weather import WeatherYear, read_weather

    with report_user_errors():
        series = read_weather(file, start=start, year=year)
        if whole_year:
            series = WeatherYear.from_series(series)
    if as_json:
        typer.echo(json.dumps(_summary(series), indent=1, ensure_ascii=False))
    else:
        _print_summary(_summary(series))


@app.command()
def fetch(
    years: Annotated[list[int], typer.Argument(help="Calendar years, e.g. 2014 2017 2018.")],
    folder: Annotated[Path, typer.Option(help="Where the files go.")] = Path("data/cabauw"),
    base_url: Annotated[str | None, typer.Option(help="Address of the Open Data API.")] = None,
) -> None:
    """Fetch measured Cabauw years from the KNMI Data Platform; goes on where it stopped.

    Needs an API key in the environment variable KNMI_API_KEY. Data: KNMI, CC BY 4.0.
    """
    from slowlab.weather.cabauw import fetch_cabauw_years
    from slowlab.weather.download import BASE_URL, Downloader, key_from_environment

    with report_user_errors():
        key = key_from_environment()
        downloader = Downloader(folder, key, base_url or BASE_URL)
        hashes = fetch_cabauw_years(downloader, years, typer.echo)
    typer.echo(f"{len(hashes)} files in {folder}; their hashes are in manifest.json")


def _pool_years(pool: str, partition: str, n_years: int) -> tuple[list[WeatherYear], str]:
    from slowlab.weather.constants import default_constants
    from slowlab.weather.pools import pool_year, year_label

    try:
        labels = [year_label(pool, index, partition) for index in (0, n_years - 1)]
    except ValueError as error:
        raise InputError(str(error)) from None
    years = [pool_year(pool, index, partition) for index in range(n_years)]
    name = f"{n_years} synthetic Cabauw-like years ({labels[0]} to {labels[1]}, generator "
    return years, f"{name}{default_constants().version})"


def _read_years(files: list[Path]) -> tuple[list[WeatherYear], str]:
    from slowlab.weather import read_weather_year

    if len(files) < 2:
        raise InputError("give two files or more: the picture shows the spread between years")
    years = [read_weather_year(file) for file in files]
    return years, "; ".join(year.source for year in years)


def _save_picture(compared: ComparedYears, out: Path) -> list[Path]:
    from slowlab.io import atomic_write_bytes
    from slowlab.plots.style import figure_bytes, figure_style, new_figure
    from slowlab.weather.constants import default_constants
    from slowlab.weather.plots import FIGURE_IN, draw_comparison
    from slowlab.weather.targets import load_targets

    with figure_style():
        figure = new_figure(*FIGURE_IN)
        draw_comparison(figure, compared, load_targets(), default_constants())
    return [
        atomic_write_bytes(out.with_name(f"{out.name}.{kind}"), figure_bytes(figure, kind))
        for kind in ("svg", "png")
    ]


def _print_gates(console: Console, source: str, gates: list[Gate]) -> None:
    from rich.table import Table

    table = Table("figure", "limits", "measured", "", title=source, title_justify="left")
    for gate in gates:
        limits = f"{gate.low:.2f} .. {gate.high:.2f}"
        table.add_row(
            gate.figure, limits, f"{gate.measured:.2f}", "ok" if gate.passed else "OUTSIDE"
        )
    console.print(table)
    passed = sum(gate.passed for gate in gates)
    console.print(f"{passed} of {len(gates)} figures within their limits")


def _summary(series: WeatherSeries) -> dict[str, Any]:
    """What a file holds, as plain values."""
    from slowlab.weather import DRIVERS

    columns = {
        name: {
            "least": round(float(series.column(name).min()), 3),
            "mean": round(float(series.column(name)[1:].mean()), 3),
            "greatest": round(float(series.column(name).max()), 3),
        }
        for name in DRIVERS
    }
    return {
        "source": series.source,
        "start": series.start,
        "days": series.n_days,
        "sha256": series.sha256,
        "drivers": columns,
        "provenance": dict(series.provenance),
    }


def _print_summary(summary: Mapping[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    for name in ("source", "start", "days", "sha256"):
        typer.echo(f"{name}: {summary[name]}")
    table = Table("driver", "least", "mean", "greatest")
    for name, values in summary["drivers"].items():
        table.add_row(name, *(f"{value:.2f}" for value in values.values()))
    Console().print(table)
    repairs = summary["provenance"].get("repairs", [])
    typer.echo(f"repaired records: {len(repairs)}")
    for repair in repairs:
        typer.echo(
            f"  {repair['channel']} {repair['time']}: {repair['found']} -> {repair['replaced_by']}"
        )
