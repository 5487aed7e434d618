"""Compare crops on the level-shifted SEL year with figures published for the same set-up.

The figures come from an independent prototype of the environment (same definitions, own
integrator and controller code) on the same weather: hourly SEL values at mid-hour, linearly
interpolated to ten minutes, shifted to the level of Cabauw. The SEL file is not part of this
project; give its path.

Usage: ``python scripts/check_sel_crop.py --sel sel_year_hourly.csv``
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from slowlab.weather.conversions import saturation_pressure_pa
from slowlab.weather.sel import level_shift
from slowlab.weather.series import DRIVERS, WeatherYear
from slowlab.world.contract import load_contract
from slowlab.world.policy import Policy
from slowlab.world.sensors import load_sensors
from slowlab.world.simulation import Simulation, Simulator, simulate_year

RECORDS, HOURS = 52_560, 8_760
FIELDS = (
    "day_temperature_c",
    "night_temperature_c",
    "co2_target_ppm",
    "supplemental_light_hours",
    "vent_temperature_offset_c",
    "vent_rh_threshold_pct",
)
POLICIES = {"a": (22, 18, 800, 12, 4, 85), "g": (21, 17, 800, 12, 3, 85)}
# Prototype, default site and prices, exact readings: margin EUR/m2, heat and light kWh/m2,
# CO2 and harvest kg/m2, per crop.
PROTOTYPE = {
    ("a", "January"): (42.63, 162.8, 107.8, 13.63, 37.94),
    ("a", "July"): (28.50, 148.0, 115.3, 13.90, 30.91),
    ("g", "January"): (45.50, 148.5, 107.8, 14.18, 39.09),
    ("g", "July"): (31.22, 130.2, 115.3, 14.51, 31.92),
}
NAMES = ("margin", "heat", "light", "CO2", "harvest")
# Gates of the January crop of policy a: margin absolute (EUR/m2), the others relative.
GATES = (0.5, 0.02, 0.005, 0.01, 0.01)


def read_mid_hour(path: Path) -> WeatherYear:
    """The SEL year with each hourly value at mid-hour and straight lines between."""
    table = pd.read_csv(path)
    air = table["air_temperature_c"].to_numpy(float)
    humidity = np.minimum(table["relative_humidity_pct"].to_numpy(float), 100.0) / 100.0
    hourly = {
        "global_radiation_w_m2": table["global_radiation_w_m2"].to_numpy(float),
        "air_temperature_c": air,
        "vapour_pressure_pa": humidity * saturation_pressure_pa(air),
        "wind_speed_m_s": table["wind_m_s"].to_numpy(float),
        "sky_temperature_c": table["sky_temperature_c"].to_numpy(float),
    }
    seconds = 600.0 * np.arange(-1, RECORDS)
    hours = 3600.0 * (np.arange(HOURS) + 0.5)
    columns = [np.interp(seconds, hours, hourly[d], period=3600.0 * HOURS) for d in DRIVERS]
    source = "SEL reference year, De Bilt, hourly values at mid-hour"
    return WeatherYear(source, "2001-01-01T00:00:00", np.stack(columns, axis=1), {})


def figures(simulation: Simulation) -> dict[str, tuple[float, ...]]:
    """Season -> the five figures of its first crop."""
    result = {}
    for crop in simulation.crops:
        season = "January" if crop.planted_day == 0 else "July"
        t = crop.totals
        result.setdefault(
            season,
            (
                crop.statement.margin,
                t.heat_kwh_m2,
                t.light_kwh_m2,
                t.co2_kg_m2,
                t.harvest_kg_m2,
            ),
        )
    return result


def deviations(ours: tuple[float, ...], theirs: tuple[float, ...]) -> tuple[float, ...]:
    """Margin difference in EUR/m2, the others relative."""
    relative = [o / t - 1 for o, t in zip(ours[1:], theirs[1:], strict=True)]
    return (ours[0] - theirs[0], *relative)


def main() -> int:
    """Print the comparison; 1 if the January crop of policy a is outside its gates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sel", type=Path, required=True)
    year = level_shift(read_mid_hour(parser.parse_args().sel))
    simulator = Simulator.build(load_contract(), load_sensors())
    passed = True
    print(year.source)
    print(f"{'crop':12}" + "".join(f"{n:>26}" for n in NAMES))
    for name, values in POLICIES.items():
        policy = Policy(**dict(zip(FIELDS, map(float, values), strict=True)))
        for season, ours in figures(simulate_year(simulator, policy, year)).items():
            theirs = PROTOTYPE[name, season]
            off = deviations(ours, theirs)
            cells = [
                f"{o:10.2f} ({t:6.2f}, {d:+.2%})" if i else f"{o:10.2f} ({t:6.2f}, {d:+.2f})"
                for i, (o, t, d) in enumerate(zip(ours, theirs, off, strict=True))
            ]
            print(f"{name} {season:10}" + "".join(f"{c:>26}" for c in cells))
            if (name, season) == ("a", "January"):
                passed = all(abs(d) <= g for d, g in zip(off, GATES, strict=True))
    print("January crop of policy a within its gates:", "yes" if passed else "NO")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
