"""``slowlab simulate`` as a user meets it: files, table, messages, exit codes."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from slowlab import __version__
from slowlab.cli import app
from slowlab.world.simulator import Simulator
from tests import simulations
from tests.simulations import CROP_DAYS, YEAR_DAYS, plain_weather, write_weather

FILES = {f"crop.{suffix}" for suffix in ("parquet", "json", "png", "svg")}
POLICY = {
    "day_temperature_c": 20.5,
    "night_temperature_c": 16,
    "co2_target_ppm": 700,
    "supplemental_light_hours": 10,
    "vent_temperature_offset_c": 4,
    "vent_rh_threshold_pct": 80,
}
HEAVY = ("jax", "matplotlib", "numpy", "pandas", "pyarrow", "scipy")


def slowlab(*arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command in this process."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Each test runs in a folder of its own with a contract of short crops and some weather."""
    monkeypatch.chdir(tmp_path)
    Path("short.yaml").write_text(simulations.SHORT_CONTRACT_FILE, encoding="utf-8")
    write_weather(Path("days.csv"), plain_weather(8))
    return tmp_path


SHORT = ("simulate", "--contract", "short.yaml", "--weather", "days.csv")


def test_one_crop_is_written_and_printed():
    code, printed, errors = slowlab(*SHORT, "--out", "here")
    assert (code, errors) == (0, "")
    assert {path.name for path in Path("here").iterdir()} == FILES
    summary = json.loads(Path("here/crop.json").read_text(encoding="utf-8"))
    account = summary["crops"][0]["account_eur_m2"]
    for line, amount in (
        ("fruit sales", account["fruit"]),
        ("heat, EUR", -account["heat"]),
        ("lamps, EUR", -account["light"]),
        ("planting", -2.0),
        ("cleaning", -0.5),
        ("margin", account["margin"]),
    ):
        assert re.search(rf"{line}.* {amount:.2f} ", printed), line
    assert "completed" in printed
    assert "(DRAFT)" in printed
    assert "Weather: days.csv" in printed
    table = pd.read_parquet("here/crop.parquet")
    assert len(table) == CROP_DAYS * 288
    assert table["heat_kwh_m2"].sum() == pytest.approx(summary["crops"][0]["totals"]["heat_kwh_m2"])
    assert str(Path.cwd()) not in Path("here/crop.json").read_text(encoding="utf-8")


def test_the_same_command_writes_the_same_bytes():
    for out in ("first", "second"):
        assert slowlab(*SHORT, "--noise-seed", 7, "--out", out)[0] == 0
    for name in FILES:
        assert Path("first", name).read_bytes() == Path("second", name).read_bytes(), name


def test_a_facility_year_prints_four_crops():
    write_weather(Path("year.parquet"), simulations.plain_year())
    arguments = ("simulate", "--contract", "short.yaml", "--weather", "year.parquet")
    code, printed, _ = slowlab(*arguments, "--mode", "year", "--out", "here")
    assert code == 0
    assert "Mean of the plantings" in printed
    assert "…" not in printed  # nothing is cut off at 80 columns
    summary = json.loads(Path("here/year.json").read_text(encoding="utf-8"))
    assert [crop["compartment"] for crop in summary["crops"]] == [0, 1, 2, 3]
    assert summary["simulated_days"] == YEAR_DAYS


@pytest.mark.parametrize("name", ["policy.json", "policy.yaml"])
def test_a_policy_file_is_read_and_single_values_replace_its_own(name):
    Path(name).write_text(json.dumps(POLICY), encoding="utf-8")
    write_weather(Path("day.csv"), plain_weather(1))
    run = ("simulate", "--contract", "short.yaml", "--weather", "day.csv", "--out", "here")
    assert slowlab(*run, "--policy", name, "--co2-target", 900)[0] == 0
    inputs = json.loads(Path("here/crop.json").read_text(encoding="utf-8"))["inputs"]
    assert inputs["policy"] == POLICY | {"co2_target_ppm": 900.0}


def test_options_reach_the_run():
    options = ("--parameter", "laiMax=2.5", "--parameter", "ueff = 1", "--start-day", 2)
    code, _, _ = slowlab(*SHORT, *options, "--collapse", "stop", "--noise-seed", 3, "--out", "here")
    assert code == 0
    summary = json.loads(Path("here/crop.json").read_text(encoding="utf-8"))
    inputs = summary["inputs"]
    assert (inputs["parameters"]["laiMax"], inputs["parameters"]["ueff"]) == (2.5, 1.0)
    assert (inputs["collapse_rule"], inputs["noise_seed"]) == ("stop", 3)
    assert summary["crops"][0]["planted_day"] == 2
    assert summary["crops"][0]["standby_totals"]["heat_kwh_m2"] > 0


def test_a_failed_integration_ends_with_code_1(monkeypatch):
    sound = simulations.short_simulator()
    stepper = simulations.FailingStepper(sound.stepper, 300)
    failing = Simulator(sound.contract, sound.sensors, stepper)
    monkeypatch.setattr(Simulator, "build", lambda *_, **__: failing)
    code, printed, _ = slowlab(*SHORT, "--out", "here")
    assert code == 1
    assert "numerical failure" in re.sub(r"\s+", " ", printed.replace("│", " "))
    assert "the integration failed in tick 300" in printed


def broken_weather(change) -> str:
    table = plain_weather(3).frame().iloc[1:].reset_index()
    change(table).to_csv("broken.csv", index=False)
    return "broken.csv"


def lacks_a_value(table):
    table.loc[100, "air_temperature_c"] = float("nan")
    return table


def is_too_hot(table):
    table.loc[100, "air_temperature_c"] = 90.0
    return table


BAD_INPUTS = [
    (("--day-temperature", 30), "day_temperature_c is too high (allowed: 18 to 26 degC)"),
    (("--day-temperature", "nan"), "day_temperature_c must be a finite number"),
    (("--night-temperature", 22, "--day-temperature", 20), "must not be above day_temperature_c"),
    (("--policy", "none.yaml"), "none.yaml: No such file"),
    (("--policy", "days.csv"), "a policy file ends in .json, .yaml, .yml"),
    (("--policy", "list.yaml"), "policy (list.yaml): a policy is an object"),
    (("--policy", "lacking.json"), "lacking.json): night_temperature_c is missing"),
    (("--policy", "twice.yaml"), "twice.yaml:2"),
    (("--policy", "broken.json"), "broken.json: syntax at position"),
    (("--parameter", "laiMax=9"), "laiMax must be a number from 1 to 6"),
    (("--parameter", "laiMax=nan"), "laiMax must be a number from 1 to 6"),
    (("--parameter", "laiMax"), "laiMax must be a number from 1 to 6"),
    (("--parameter", "lai=2"), "unknown parameter 'lai'; there are tCan24Min"),
    (("--parameter", "ueff=1", "--parameter", "ueff=2"), "ueff is given twice"),
    (
        ("--parameter", "tCan24Min=24", "--parameter", "tCan24Max=20"),
        "tCan24Min of lane 0 is 24.0; it must be below tCan24Max = 20.0",
    ),
    (("--start-day", 7), "start day 7: the contract allows 0 to 6"),
    (("--start-day", -1), "start day -1"),
    (("--mode", "year", "--start-day", 1), "--start-day"),
    (("--mode", "year"), "--mode year with weather days.csv: a weather year has 365 days"),
    (("--weather", "none.csv"), "none.csv: No such file"),
    (("--weather", "short.yaml"), "weather file short.yaml: no known weather format"),
    (("--weather", "junk.parquet"), "weather file junk.parquet"),
    (("--contract", "none.yaml"), "none.yaml: No such file"),
    (("--contract", "list.yaml"), "list.yaml"),
    (("--contract", "odd.yaml"), "calendar.tick_seconds is 600"),
    (("--out", "days.csv"), "--out days.csv: days.csv is not a folder"),
    (("--out", "days.csv/deeper"), "--out days.csv/deeper: days.csv is not a folder"),
    (("--mode", "decade"), "'decade' is not one of 'crop', 'year'"),
    (("--noise-seed", -1), "--noise-seed"),
    (("--substeps", 0), "--substeps"),
]


@pytest.mark.parametrize(("options", "message"), BAD_INPUTS)
def test_bad_input_is_named_and_nothing_is_written(options, message):
    Path("list.yaml").write_text("- 21\n- 17\n", encoding="utf-8")
    Path("twice.yaml").write_text("day_temperature_c: 20\nday_temperature_c: 21\n")
    Path("broken.json").write_text('{"day_temperature_c": }', encoding="utf-8")
    Path("lacking.json").write_text(
        json.dumps({k: v for k, v in POLICY.items() if k != "night_temperature_c"})
    )
    Path("odd.yaml").write_text("extends: short.yaml\ncalendar: {tick_seconds: 600}\n")
    Path("junk.parquet").write_bytes(b"PAR1" + bytes(100))
    before = {path.name for path in Path.cwd().iterdir()}
    out = () if "--out" in options else ("--out", "here")
    code, printed, errors = slowlab(*SHORT, *options, *out)
    assert code == 2
    assert printed == ""
    assert message in re.sub(r"\s+", " ", errors.replace("│", " ")), errors
    assert "Traceback" not in errors
    assert {path.name for path in Path.cwd().iterdir()} == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop(columns="wind_speed_m_s"), "column wind_speed_m_s is missing"),
        (lambda table: table.drop(index=50), "1 records are missing: 2001-01-01T08:20:00"),
        (lambda table: table.iloc[:-20], "not at the end of a local day"),
        (lacks_a_value, "air_temperature_c at 2001-01-01T16:40:00 is missing"),
        (is_too_hot, "air_temperature_c at 2001-01-01T16:40:00 = 90 is outside"),
    ],
)
def test_a_broken_weather_file_is_named_with_column_and_time(change, message):
    code, _, errors = slowlab(*SHORT, "--weather", broken_weather(change), "--out", "here")
    assert code == 2
    assert "weather file broken.csv" in errors
    assert message in errors
    assert not Path("here").exists()


def test_absent_greenlight_files_are_named_with_the_remedy(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    for arguments in (SHORT, ("simulate",)):
        code, _, errors = slowlab(*arguments, "--out", "here")
        assert code == 2
        assert "GreenLight 2.0.5 is not installed" in errors
        assert "pip install --no-deps greenlight==2.0.5" in errors


def test_the_command_itself_runs_on_the_packaged_winter(folder):
    run = subprocess.run(
        [Path(sys.executable).with_name("slowlab"), "simulate"],
        cwd=folder,
        text=True,
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert "weather series ends after 111 days" in run.stdout
    [written] = (folder / "results" / "simulate").iterdir()
    assert re.fullmatch(r"bleiswijk-crop-[0-9a-f]{8}", written.name)
    assert {path.name for path in written.iterdir()} == FILES
    summary = json.loads((written / "crop.json").read_text(encoding="utf-8"))
    crop = summary["crops"][0]
    assert crop["ending"] == "weather_end"
    assert summary["inputs"]["weather"]["source"].startswith("measured, Bleiswijk")
    # A poor winter crop, cut early: plausible use, no profit.
    assert crop["totals"]["harvest_kg_m2"] == pytest.approx(9.3, abs=0.3)
    assert crop["totals"]["heat_kwh_m2"] == pytest.approx(96.5, abs=3)
    assert crop["totals"]["light_kwh_m2"] == pytest.approx(88.4, abs=0.5)


def test_version_is_that_of_the_package():
    assert slowlab("--version") == (0, f"slowlab {__version__}\n", "")
    assert __version__ == importlib.metadata.version("slowlab")


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "--help"], ["--version"]])
def test_help_needs_no_heavy_library(arguments):
    source = (
        "import sys\n"
        "from slowlab.cli import app\n"
        f"app({arguments!r}, standalone_mode=False)\n"
        f"print('LOADED', sorted(set({HEAVY!r}) & set(sys.modules)))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", source], text=True, capture_output=True, check=True, timeout=60
    )
    assert run.stdout.splitlines()[-1] == "LOADED []"
