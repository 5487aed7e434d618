"""Read any accepted weather source, chosen by what is in a file rather than by its name."""

from __future__ import annotations

import re
from pathlib import Path

from slowlab.weather.cabauw import available_years, read_cabauw_year
from slowlab.weather.epw import read_epw
from slowlab.weather.sel import read_sel
from slowlab.weather.series import WeatherError, WeatherSeries, WeatherYear
from slowlab.weather.tables import read_csv, read_greenlight_csv, read_parquet

_HEAD_BYTES = 4096
_DATE_IN_NAME = re.compile(r"from_(\d{4})(\d{2})(\d{2})")


def read_weather(
    path: str | Path,
    *,
    source: str | None = None,
    start: str | None = None,
    year: int | None = None,
) -> WeatherSeries:
    """Read EPW, CSV, Parquet, GreenLight CSV, the SEL year, or a folder of KNMI files.

    Args:
        path: the file, or the folder of monthly Cabauw files.
        source: shown in tables and figures; taken from the file by default.
        start: ISO local time of the first record, for GreenLight files only (they hold no date); by
            default taken from a file name like ``..._from_20091020.csv``.
        year: calendar year, for a folder only; the one that is complete there by default.

    Raises:
        WeatherError: unknown format, or the file breaks a rule of its format.
        OSError: the file cannot be read.
    """
    path = Path(path)
    if path.is_dir():
        return read_cabauw_year(path, year if year is not None else _only_year(path))
    kind = detect_format(path)
    if kind == "epw":
        return read_epw(path, source)
    if kind == "parquet":
        return read_parquet(path, source)
    if kind == "sel":
        return read_sel(path)
    if kind == "greenlight":
        return read_greenlight_csv(path, start or _start_from_name(path), source)
    return read_csv(path, source)


def read_weather_year(path: str | Path, *, source: str | None = None) -> WeatherYear:
    """Read a file as a year of 365 days from 1 January.

    Raises:
        WeatherError: as :func:`read_weather`, or the file does not hold such a year.
    """
    series = read_weather(path, source=source)
    return series if isinstance(series, WeatherYear) else WeatherYear.from_series(series)


def detect_format(path: Path) -> str:
    """Name the format of a file: epw, parquet, sel, greenlight or csv.

    Raises:
        WeatherError: the file is empty or starts like none of them.
    """
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    if not head.strip():
        raise WeatherError(f"{path.name} is empty")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"\x89HDF", b"CDF")):
        raise WeatherError(f"{path.name} is a single NetCDF file; give the folder of KNMI months")
    return _text_format(head.removeprefix(b"\xef\xbb\xbf").decode("latin-1"), path)


def _text_format(head: str, path: Path) -> str:
    lines = [line for line in head.splitlines() if line.strip() and not line.startswith("#")]
    first = lines[0] if lines else ""
    names = [name.strip().strip('"') for name in first.split(",")]
    if names[0].upper() == "LOCATION":
        return "epw"
    if "hour_of_year" in names:
        return "sel"
    if {"Time", "iGlob"} <= set(names) or {"Time", "tOut"} <= set(names):
        return "greenlight"
    if "time" in names or "air_temperature_c" in names:
        return "csv"
    hint = " (separate columns with commas, not semicolons)" if ";" in first else ""
    raise WeatherError(f"{path.name}: no known weather format; it begins {first[:60]!r}{hint}")


def _only_year(folder: Path) -> int:
    years = available_years(folder)
    if len(years) != 1:
        held = ", ".join(map(str, years)) or "none"
        raise WeatherError(f"{folder.name}: say which year; complete Cabauw years here: {held}")
    return years[0]


def _start_from_name(path: Path) -> str:
    found = _DATE_IN_NAME.search(path.name)
    if found is None:
        raise WeatherError(f"{path.name} holds no date: give the start of its first record")
    return "{}-{}-{}T00:00:00".format(*found.groups())
