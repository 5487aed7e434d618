"""Weather from tables: a user's CSV or Parquet file, and the format of GreenLight.

A user's table has a column ``time`` (local time, UTC+1 all year, the beginning of each record's
interval) and one column for each driver, in any order; further columns are ignored, and so are
lines of a CSV file that begin with ``#``. Times with an explicit offset from UTC are converted.
"""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slowlab.weather.repair import repair_runs
from slowlab.weather.resample import series_from_records
from slowlab.weather.series import BOUNDS, DRIVERS, WeatherError, WeatherSeries

if TYPE_CHECKING:
    import pandas as pd

GREENLIGHT_COLUMNS = {
    "global_radiation_w_m2": "iGlob",
    "air_temperature_c": "tOut",
    "vapour_pressure_pa": "vpOut",
    "wind_speed_m_s": "wind",
    "sky_temperature_c": "tSky",
}
BLEISWIJK_FILE = "greenlight/models/katzin_2021/input_data/test_data/Bleiswijk_from_20091020.csv"
BLEISWIJK_START = "2009-10-20T00:00:00"
BLEISWIJK_SOURCE = (
    "measured, Bleiswijk NL, winter 2009/10 (Katzin et al. 2025, 4TU.ResearchData "
    "10.4121/78968E1B-EAEA-4F37-89F9-2B98BA3ED865, as packaged with GreenLight)"
)
_UTC_OFFSET = "+01:00"


def read_csv(path: str | Path, source: str | None = None) -> WeatherSeries:
    """Read a user's comma-separated weather file (UTF-8) with steps of 1 to 60 minutes.

    Args:
        path: the file.
        source: shown in tables and figures; the file's name by default.

    Raises:
        WeatherError: a column is missing, a value is missing, not a number or impossible, the
            time axis is irregular, or the file does not end with a whole local day.
        OSError: the file cannot be read.
    """
    import pandas as pd

    path = Path(path)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        table = pd.read_csv(stream, dtype=str, comment="#", keep_default_na=False)
    return _series_from_table(table, path, source)


def read_parquet(path: str | Path, source: str | None = None) -> WeatherSeries:
    """Read a user's Parquet file; columns, errors and rules as for :func:`read_csv`."""
    import pandas as pd

    path = Path(path)
    table = pd.read_parquet(path)
    if table.index.name == "time":
        table = table.reset_index()
    return _series_from_table(table, path, source)


def read_greenlight_csv(
    path: str | Path, start: str, source: str | None = None, *, repair: bool = False
) -> WeatherSeries:
    """Read a weather file in the format of GreenLight: names, descriptions, units, then records.

    The time column holds seconds since the start of the data, so the date must be given. The
    columns for CO2, soil temperature and elevation are not drivers here and are left out.

    Args:
        path: the file (latin-1).
        start: ISO local time of the first record.
        source: shown in tables and figures; the file's name by default.
        repair: interpolate impossible records of at most one hour and log them in the provenance.

    Raises:
        WeatherError: as for :func:`read_csv`.
    """
    import pandas as pd

    path = Path(path)
    table = pd.read_csv(path, skiprows=[1, 2], encoding="latin-1")
    _require_columns(table, ["Time", *GREENLIGHT_COLUMNS.values()], path)
    seconds = _numbers(table["Time"], path, "Time")
    times = np.datetime64(start, "s") + seconds.astype("timedelta64[s]")
    values = _driver_columns(table, GREENLIGHT_COLUMNS, path, times)
    provenance = file_provenance(path)
    if repair:
        values, provenance["repairs"] = _repair_impossible(times, values)
    return series_from_records(times, values, source or path.name, provenance)


def bleiswijk_winter() -> WeatherSeries:
    """111 measured days from 20 October 2009, from the installed GreenLight distribution.

    GreenLight is located, never imported. One impossible record (vapour pressure of 0.03 Pa) is
    interpolated and logged.

    Raises:
        WeatherError: the distribution is not installed or lacks the file.
    """
    try:
        located = metadata.distribution("greenlight").locate_file(BLEISWIJK_FILE)
    except metadata.PackageNotFoundError as error:
        raise WeatherError("the Bleiswijk winter is part of the package greenlight") from error
    path = Path(str(located))
    if not path.is_file():
        raise WeatherError(f"the installed greenlight package lacks {BLEISWIJK_FILE}")
    return read_greenlight_csv(path, BLEISWIJK_START, BLEISWIJK_SOURCE, repair=True)


def file_provenance(path: Path) -> dict[str, Any]:
    """Name and SHA-256 of the file that the numbers were read from."""
    return {"file": path.name, "file_sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def _series_from_table(table: pd.DataFrame, path: Path, source: str | None) -> WeatherSeries:
    _require_columns(table, ["time", *DRIVERS], path)
    times = _local_times(table["time"], path)
    values = _driver_columns(table, {driver: driver for driver in DRIVERS}, path, times)
    return series_from_records(times, values, source or path.name, file_provenance(path))


def _driver_columns(
    table: pd.DataFrame, names: dict[str, str], path: Path, times: NDArray[np.datetime64]
) -> NDArray[np.float64]:
    columns = [_numbers(table[names[driver]], path, driver, times) for driver in DRIVERS]
    return np.stack(columns, axis=1)


def _require_columns(table: pd.DataFrame, names: list[str], path: Path) -> None:
    found = [str(name).strip() for name in table.columns]
    table.columns = found
    missing = [name for name in names if name not in found]
    if missing:
        raise WeatherError(
            f"{path.name}: column {', '.join(missing)} is missing; found: {', '.join(found)}"
        )
    twice = sorted({name for name in names if found.count(name) > 1})
    if twice:
        raise WeatherError(f"{path.name}: column {', '.join(twice)} appears twice")


def _local_times(column: pd.Series, path: Path) -> NDArray[np.datetime64]:
    """Parse ISO times; an explicit offset is converted to UTC+1."""
    import pandas as pd

    for row, text in enumerate(column, start=1):
        if not str(text).strip() or str(text) == "NaT":
            raise WeatherError(f"{path.name}: time of record {row} is missing")
    style = None if column.dtype.kind == "M" else "ISO8601"
    try:
        times = pd.to_datetime(column, format=style, utc=True)
    except (ValueError, TypeError) as error:
        raise WeatherError(
            f"{path.name}: column time is not an ISO date and time: {error}"
        ) from error
    if len(column) and not _is_naive(column.iloc[0]):
        times = times.dt.tz_convert(_UTC_OFFSET)
    return times.dt.tz_localize(None).to_numpy().astype("datetime64[s]")


def _is_naive(moment: Any) -> bool:
    import pandas as pd

    return pd.Timestamp(moment).tzinfo is None


def _numbers(
    column: pd.Series, path: Path, name: str, times: NDArray[np.datetime64] | None = None
) -> NDArray[np.float64]:
    """The column as float64; text that is not a number is refused with its time."""
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.flatnonzero(np.isnan(numbers))
    if len(bad):
        row = int(bad[0])
        when = f"at {times[row]}" if times is not None else f"in record {row + 1}"
        raise WeatherError(
            f"{path.name}: {name} {when} is missing or not a number ({str(column.iloc[row])!r}; "
            f"{len(bad)} such records)"
        )
    return numbers


def _repair_impossible(
    times: NDArray[np.datetime64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], list[dict[str, Any]]]:
    """Interpolate runs of at most one hour outside the bounds, column by column."""
    hour = 3600 // int((times[1] - times[0]).astype(np.int64))
    repaired, log = values.copy(), []
    for column, driver in enumerate(DRIVERS):
        low, high = BOUNDS[driver]
        valid = (values[:, column] >= low) & (values[:, column] <= high)
        repaired[:, column], changes = repair_runs(values[:, column], valid, times, driver, hour)
        log.extend(change.as_dict() for change in changes)
    return repaired, log
