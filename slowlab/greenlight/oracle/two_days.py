"""The two-day case: a fixed command pattern and two winter days of GreenLight's Bleiswijk weather.

The crop is well grown and close to its first harvest, the lamps burn from 06:00 to 18:00, the
screen is closed by night, heating follows a seeded pattern from tick to tick and the vents open
around noon, so that every flow of the compartment takes part. Nothing here reacts to the climate.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

SEED = 20_100_110
TICK_S = 300.0
TICKS = 576
RECORD_S = 600.0
WEATHER_FILE = "models/katzin_2021/input_data/test_data/Bleiswijk_from_20091020.csv"
WEATHER_START_DAY = 82
"""Days from 20 October 2009 00:00 to the first day, 10 January 2010."""

COMMANDS = ("uBoil", "uRoof", "uExtCo2", "uLamp", "uThScr")
MEASURED = ("tOut", "vpOut", "wind", "tSky", "iGlob")
INPUT_NAMES = (*COMMANDS, *MEASURED, "co2Out", "tSoOut", "dayRadSum", "isDay", "isDaySmooth")

INITIAL: dict[str, float] = {
    **dict.fromkeys(("tAir", "tTop", "tFlr", "tSo1", "tThScr", "tPipe", "tGroPipe"), 16.5),
    **dict.fromkeys(("tCovIn", "tCovE", "tBlScr", "tLamp", "tIntLamp"), 16.5),
    **{"tSo2": 13.364, "tSo3": 10.228, "tSo4": 7.092, "tSo5": 3.956},
    **{"tCan": 18.0, "tCan24": 20.0, "tCanSum": 1200.0, "time_state": 0.0},
    **{"vpAir": 1681.91, "vpTop": 1313.0, "co2Air": 722.0, "co2Top": 722.0},
    **{"cBuf": 10_000.0, "cFruit": 292_000.0, "cLeaf": 80_000.0, "cStem": 150_000.0},
}
"""Initial states by name, in the model's units."""


def weather_records(path: Path, first_day: int, records: int) -> np.ndarray:
    """Return ten-minute means of GreenLight's five-minute weather table.

    Args:
        path: The packaged weather table: a header row, a row of descriptions, a row of units.
        first_day: Whole days from the start of the table.
        records: How many ten-minute records.

    Returns:
        ``[records, 5]`` in the order of `MEASURED`: degC, Pa, m/s, degC, W/m2.

    Raises:
        ValueError: The table is too short or its rows are not five minutes apart.
    """
    with path.open(encoding="cp1252", newline="") as stream:
        rows = list(csv.reader(stream))
    header, values = rows[0], rows[3:]
    per_record = int(RECORD_S / TICK_S)
    first = int(first_day * 86_400 / TICK_S)
    chosen = values[first : first + per_record * records]
    times = np.array([float(row[0]) for row in chosen])
    expected = first_day * 86_400.0 + TICK_S * np.arange(per_record * records)
    if not np.array_equal(times, expected):
        raise ValueError(f"{path.name}: no {records} records of five-minute rows from {first_day}")
    columns = [header.index(name) for name in MEASURED]
    table = np.array([[float(row[column]) for column in columns] for row in chosen])
    return table.reshape(records, per_record, len(MEASURED)).mean(axis=1)


def commands() -> np.ndarray:
    """Return the five commands ``[576, 5]``, 0 to 1, in the order of `COMMANDS`."""
    generator = np.random.default_rng(SEED)
    hour = (np.arange(TICKS) * TICK_S / 3600.0) % 24.0
    heating = 0.65 + 0.2 * np.cos(2.0 * np.pi * (hour - 4.0) / 24.0)
    heating = np.clip(heating + generator.normal(0.0, 0.25, TICKS), 0.0, 1.0)
    noon = np.clip(1.0 - np.abs(hour - 13.0) / 2.5, 0.0, 1.0)
    vents = 0.08 * noon * generator.uniform(0.3, 1.0, TICKS)
    lamp = ((hour >= 6.0) & (hour < 18.0)).astype(float)
    carbon_dioxide = lamp * generator.uniform(0.2, 0.7, TICKS)
    closed = (hour < 7.0) | (hour >= 19.0)
    screen = np.where(closed, 1.0 - 0.05 * generator.uniform(size=TICKS), 0.0)
    screen = np.where(closed & (generator.uniform(size=TICKS) < 0.7), 1.0, screen)
    return np.column_stack([heating, vents, carbon_dioxide, lamp, screen])


def held_inputs(records: np.ndarray) -> np.ndarray:
    """Return all inputs per tick ``[576, 15]`` in the order of `INPUT_NAMES`.

    Outdoor CO2 is 760 mg/m3, the deep soil 20 degC, the radiation sum 0; day is 06:00 to 22:00.
    """
    drivers = np.repeat(records, int(RECORD_S / TICK_S), axis=0)
    hour = (np.arange(TICKS) * TICK_S / 3600.0) % 24.0
    day = ((hour >= 6.0) & (hour < 22.0)).astype(float)
    constant = np.ones(TICKS)
    rest = np.column_stack([760.0 * constant, 20.0 * constant, 0.0 * constant, day, day])
    return np.hstack([commands(), drivers, rest])
