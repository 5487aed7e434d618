"""Small weather tables and generated years shared by the tests."""

import numpy as np
import pandas as pd
import pytest

from slowlab.weather.pools import pool_year
from slowlab.weather.series import DRIVERS

ORDINARY = {
    "global_radiation_w_m2": 120.0,
    "air_temperature_c": 10.0,
    "vapour_pressure_pa": 1000.0,
    "wind_speed_m_s": 4.0,
    "sky_temperature_c": 0.0,
}


def ordinary_values(n_records):
    """Constant, unremarkable records ``[n, 5]``."""
    return np.tile([ORDINARY[driver] for driver in DRIVERS], (n_records, 1))


def weather_table(start, n_days, step_s, seed=0):
    """A table of a user's file: time and drivers, with some variety in every column."""
    n_records = n_days * 86_400 // step_s
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(ordinary_values(n_records), columns=list(DRIVERS))
    table += rng.uniform(0.0, 5.0, table.shape)
    times = pd.date_range(start, periods=n_records, freq=f"{step_s}s")
    table.insert(0, "time", times.strftime("%Y-%m-%dT%H:%M:%S"))
    return table


@pytest.fixture(scope="session")
def development_years():
    """24 synthetic years of the development pool."""
    return [pool_year("development", index) for index in range(24)]
