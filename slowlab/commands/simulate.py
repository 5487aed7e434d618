"""``slowlab simulate``: one crop or one facility-year under a policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from slowlab.commands import simulate_options as opt
from slowlab.commands.errors import InputError, report_user_errors
from slowlab.commands.progress import day_progress

if TYPE_CHECKING:
    from slowlab.world.simulation import Simulation

FAILED = 1
"""Exit code when the integration of a compartment failed."""


@dataclass(frozen=True)
class _Request:
    """What was asked for, as far as it is not part of the policy."""

    weather: str
    weather_start: str | None
    mode: Literal["crop", "year"]
    start_day: int | None
    parameters: list[str]
    noise_seed: int | None
    collapse: Literal["floor", "stop"] | None
    precision: Literal["float32", "float64"]
    substeps: int | None
    contract: Path | None
    policy: Path | None
    fields: dict[str, float | None]


def simulate(
    policy: opt.PolicyFile = None,
    day_temperature: opt.DayTemperature = None,
    night_temperature: opt.NightTemperature = None,
    co2_target: opt.Co2Target = None,
    supplemental_light_hours: opt.LightHours = None,
    vent_temperature_offset: opt.VentOffset = None,
    vent_rh_threshold: opt.VentHumidity = None,
    weather: opt.Weather = "bleiswijk",
    weather_start: opt.WeatherStart = None,
    mode: opt.Mode = "crop",
    start_day: opt.StartDay = None,
    out: opt.Out = None,
    contract: opt.ContractFile = None,
    parameter: opt.Parameters = None,
    noise_seed: opt.NoiseSeed = None,
    collapse: opt.Collapse = None,
    precision: opt.Precision = "float32",
    substeps: opt.Substeps = None,
) -> None:
    """Simulate one crop or one facility-year under a policy.

    Prints the economics; writes all control steps (Parquet), a summary (JSON), a picture (PNG,
    SVG).
    """
    request = _Request(
        weather=weather,
        weather_start=weather_start,
        mode=mode,
        start_day=start_day,
        parameters=parameter or [],
        noise_seed=noise_seed,
        collapse=collapse,
        precision=precision,
        substeps=substeps,
        contract=contract,
        policy=policy,
        fields={
            "day_temperature_c": day_temperature,
            "night_temperature_c": night_temperature,
            "co2_target_ppm": co2_target,
            "supplemental_light_hours": supplemental_light_hours,
            "vent_temperature_offset_c": vent_temperature_offset,
            "vent_rh_threshold_pct": vent_rh_threshold,
        },
    )
    with report_user_errors():
        _simulate(request, out)


def _simulate(request: _Request, out: Path | None) -> None:
    """Run, write, print."""
    from rich.console import Console

    from slowlab.commands.simulate_inputs import choose_folder
    from slowlab.commands.simulate_output import print_economics, write_files
    from slowlab.world.simulation import CropEnding
    from slowlab.world.simulation_report import run_sha256

    if out is not None:
        _check_folder(out)
    result = _run(request)
    folder = choose_folder(out, request.weather, request.mode, run_sha256(result))
    files = write_files(result, folder)
    print_economics(result, Console(highlight=False))
    for note in (*result.notes, f"Weather: {result.weather.source}"):
        typer.echo(note)
    typer.echo(f"Wrote {', '.join(str(file) for file in files)}")
    if any(crop.ending is CropEnding.NUMERICAL_FAILURE for crop in result.crops):
        raise typer.Exit(FAILED)


def _check_folder(out: Path) -> None:
    """Refuse a folder that cannot be made, before the work is done."""
    existing = next(path for path in (out, *out.parents) if path.exists())
    if not existing.is_dir():
        raise InputError(f"--out {out}: {existing} is not a folder")


def _run(request: _Request) -> Simulation:
    """Check all inputs, then simulate."""
    from slowlab.commands.simulate_inputs import choose_policy, parse_parameters
    from slowlab.greenlight.definition import read_verified
    from slowlab.world.contract import DEFAULT_CONTRACT, load_contract
    from slowlab.world.sensors import load_sensors
    from slowlab.world.simulation import RunOptions, simulate_crop, simulate_year
    from slowlab.world.simulator import Simulator

    read_verified()
    rules = load_contract(request.contract or DEFAULT_CONTRACT)
    policy = choose_policy(rules, request.policy, request.fields)
    options = RunOptions(
        parameters=parse_parameters(request.parameters),
        noise_seed=request.noise_seed,
        collapse=request.collapse,
    )
    series = _weather(request)
    simulator = Simulator.build(
        rules, load_sensors(), precision=request.precision, substeps=request.substeps
    )
    with day_progress() as on_day:
        if request.mode == "year":
            return simulate_year(simulator, policy, series, options=options, on_day=on_day)
        day = request.start_day or 0
        return simulate_crop(
            simulator, policy, series, start_day=day, options=options, on_day=on_day
        )


def _weather(request: _Request) -> Any:
    """The weather series; in year mode one of a year."""
    from slowlab.commands.simulate_inputs import choose_weather
    from slowlab.weather import WeatherError, WeatherYear

    series = choose_weather(request.weather, request.weather_start)
    if request.mode == "crop":
        return series
    if request.start_day is not None:
        raise InputError("--start-day: in a facility-year the contract says when to plant")
    try:
        return WeatherYear.from_series(series)
    except WeatherError as error:
        raise InputError(f"--mode year with weather {request.weather}: {error}") from None
