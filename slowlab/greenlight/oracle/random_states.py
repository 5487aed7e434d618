"""Random states and inputs at which the right-hand side is compared with GreenLight's own.

Three kinds of rows alternate: *ordinary* (temperatures near one common value, the crop within its
bounds), *independent* (every value uniform over its whole range) and *corner* (every value at one
end of its range or in the middle). All draws come from one seeded generator, row by row, so that
row ``k`` does not depend on how many rows are drawn.
"""

from __future__ import annotations

import numpy as np

TEMPERATURES = (
    *("tCan", "tAir", "tFlr", "tSo1", "tSo2", "tSo3", "tSo4", "tSo5", "tThScr", "tTop"),
    *("tCovIn", "tCovE", "tPipe", "tCan24", "tBlScr", "tGroPipe", "tLamp", "tIntLamp"),
)
"""States in degC that share one range."""

STATE_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(TEMPERATURES, (-20.0, 60.0)),
    "vpAir": (100.0, 6000.0),
    "vpTop": (100.0, 6000.0),
    "co2Air": (200.0, 4000.0),
    "co2Top": (200.0, 4000.0),
    "cBuf": (-100.0, 21_000.0),
    "cFruit": (1.0, 310_000.0),
    "cLeaf": (50.0, 125_000.0),
    "cStem": (50.0, 500_000.0),
    "tCanSum": (-50.0, 4000.0),
    "time_state": (0.0, 365.0),
}
"""Lower and upper end of every state, in the model's units."""

INPUT_RANGES: dict[str, tuple[float, float]] = {
    "tOut": (-25.0, 42.0),
    "vpOut": (50.0, 4000.0),
    "co2Out": (600.0, 1000.0),
    "wind": (0.0, 30.0),
    "tSky": (-50.0, 30.0),
    "tSoOut": (0.0, 25.0),
    "iGlob": (0.0, 1150.0),
    "dayRadSum": (0.0, 32.0),
    "isDay": (0.0, 1.0),
    "isDaySmooth": (0.0, 1.0),
    "hElevation": (-5.0, 1500.0),
}
"""Lower and upper end of every input, in the model's units."""

STATE_NAMES = tuple(STATE_RANGES)
INPUT_NAMES = tuple(INPUT_RANGES)
_KINDS = ("ordinary", "independent", "corner")


def draw_rows(seed: int, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows ``first`` to ``first + count - 1``.

    Returns:
        States ``[count, 28]`` in the order of `STATE_NAMES` and inputs ``[count, 11]`` in the
        order of `INPUT_NAMES`, float64, in the model's units.
    """
    states = np.empty((count, len(STATE_NAMES)))
    inputs = np.empty((count, len(INPUT_NAMES)))
    for index in range(count):
        states[index], inputs[index] = _draw_row(seed, first + index)
    return states, inputs


def _draw_row(seed: int, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw one row; its kind follows from its number."""
    generator = np.random.default_rng([seed, row])
    kind = _KINDS[row % len(_KINDS)]
    bounds = np.array([*STATE_RANGES.values(), *INPUT_RANGES.values()])
    share = generator.uniform(size=len(bounds))
    if kind == "corner":
        share = generator.choice([0.0, 0.5, 1.0], size=len(bounds))
    values = bounds[:, 0] + share * (bounds[:, 1] - bounds[:, 0])
    row_values = dict(zip((*STATE_NAMES, *INPUT_NAMES), values, strict=True))
    if kind == "ordinary":
        _make_ordinary(row_values, generator)
    _set_switches(row_values, generator, row)
    drawn = np.array(list(row_values.values()))
    return drawn[: len(STATE_NAMES)], drawn[len(STATE_NAMES) :]


def _make_ordinary(row: dict[str, float], generator: np.random.Generator) -> None:
    """Bring a row near to what occurs in a heated greenhouse, in place."""
    base = generator.uniform(5.0, 32.0)
    for name in TEMPERATURES:
        row[name] = base + generator.normal(0.0, 3.0)
    row["tPipe"] = base + generator.uniform(-1.0, 45.0)
    row["tLamp"] = base + generator.uniform(-1.0, 25.0)
    row["vpAir"] = generator.uniform(600.0, 3200.0)
    row["vpTop"] = row["vpAir"] * generator.uniform(0.6, 1.05)
    row["co2Air"] = generator.uniform(500.0, 2500.0)
    row["co2Top"] = row["co2Air"] * generator.uniform(0.6, 1.05)
    row["cLeaf"] = np.exp(generator.uniform(np.log(3000.0), np.log(118_000.0)))
    row["cFruit"] = np.exp(generator.uniform(np.log(100.0), np.log(302_000.0)))
    row["tOut"] = base - generator.uniform(-3.0, 25.0)
    row["tSky"] = row["tOut"] - generator.uniform(0.0, 20.0)
    row["vpOut"] = generator.uniform(300.0, 2200.0)
    row["wind"] = generator.exponential(4.0)
    row["iGlob"] = max(0.0, generator.uniform(-400.0, 1000.0))


def _set_switches(row: dict[str, float], generator: np.random.Generator, index: int) -> None:
    """Give the day indicators their usual values 0 and 1, and every fourth row a young crop."""
    row["isDay"] = float(generator.integers(2))
    row["isDaySmooth"] = generator.choice([0.0, 1.0, generator.uniform()])
    if index % 4 == 0:
        row["cLeaf"] = np.exp(generator.uniform(np.log(50.0), np.log(8000.0)))
        row["tCanSum"] = generator.uniform(-20.0, 1100.0)
    if index % 5 == 0:
        row["cBuf"] = generator.uniform(-100.0, 300.0)
    row["time_state"] = generator.uniform(0.0, 365.0)
