"""What a Cabauw-like year must look like: the shape of the SEL year at the level of Cabauw.

The packaged ``data/targets.json`` holds the figures and their source. Monthly shape and day-to-day
behaviour come from the SEL year; the level shift brings its annual means to those of Cabauw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowlab.weather.constants import TARGETS_FILE, read_packaged
from slowlab.weather.conversions import longwave_w_m2, saturation_pressure_pa, sky_temperature_c

Array = NDArray[np.float64]

TEMPERATURE_SHIFT_K = 1.4
RADIATION_FACTOR = 1.16
WIND_FACTOR = 1.38
LONGWAVE_SHIFT_W_M2 = 16.5
# With relative humidity kept, the shifted year has a mean dew point of 7.54 degC; Cabauw has 7.85.
DEW_POINT_SHIFT_K = 0.31


@dataclass(frozen=True)
class Targets:
    """Figures to be met, named as in :class:`slowlab.weather.statistics.YearStatistics`.

    Attributes:
        monthly: ``[12]`` for each name, after the level shift.
        residuals: standard deviations after the shift; correlations as in the SEL year.
        annual_range: lowest and highest annual level of the formal Cabauw years.
        diurnal: mean of each local hour in January and July, ``[2, 24]`` by driver.
        duration: values exceeded in given shares of the hours of a year, by driver.
        source: where the figures come from.
    """

    monthly: dict[str, Array]
    residuals: dict[str, Array]
    annual_range: dict[str, tuple[float, float]]
    diurnal: dict[str, Array]
    duration: dict[str, Array]
    source: str


def load_targets(content: dict | None = None) -> Targets:
    """Read the targets and shift them to the level of Cabauw.

    Args:
        content: content of a targets file; the packaged one by default.
    """
    content = content or read_packaged(TARGETS_FILE)
    rows = content["monthly_sel_year"]
    sel = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}
    levels = content["annual_level_cabauw_formal_years"]
    ranges = {name: (level[0], level[1]) for name, level in levels.items() if name != "note"}
    residuals = _residual_targets(content["daily_residuals_sel_year"])
    curves = content.get("curves_shifted_sel_year", {"diurnal": {}, "duration": {}})
    return Targets(
        monthly=_shifted_months(sel),
        residuals=residuals,
        annual_range=ranges,
        diurnal={name: np.array(table) for name, table in curves["diurnal"].items()},
        duration={name: np.array(table) for name, table in curves["duration"].items()},
        source=content["source"],
    )


def _shifted_months(sel: dict[str, Array]) -> dict[str, Array]:
    monthly = dict(sel)
    monthly.pop("month")
    temperature = sel["air_temperature_mean_c"] + TEMPERATURE_SHIFT_K
    monthly["air_temperature_mean_c"] = temperature
    for name in ("mean_mj_m2_day", "sd_mj_m2_day", "p10", "p90"):
        monthly[f"global_radiation_{name}"] = sel[f"global_radiation_{name}"] * RADIATION_FACTOR
    for name in ("wind_mean_m_s", "wind_sd_m_s"):
        monthly[name] = sel[name] * WIND_FACTOR
    warmer = saturation_pressure_pa(temperature + DEW_POINT_SHIFT_K)
    growth = warmer / saturation_pressure_pa(sel["air_temperature_mean_c"])
    monthly["vapour_pressure_mean_pa"] = sel["vapour_pressure_mean_pa"] * growth
    sky = sel["air_temperature_mean_c"] + sel["sky_minus_air_temperature_c"]
    shifted_sky = sky_temperature_c(longwave_w_m2(sky) + LONGWAVE_SHIFT_W_M2)
    monthly["sky_minus_air_temperature_c"] = shifted_sky - temperature
    return monthly


def _residual_targets(sel: dict) -> dict[str, Array]:
    return {
        "temperature_sd_c": np.array([sel["temperature_sd_c"]]),
        "temperature_autocorrelation": np.array(
            sel["temperature_autocorrelation_lag_1_2_3_7_days"]
        ),
        "radiation_sd_mj_m2_day": np.array([sel["radiation_sd_mj_m2_day"] * RADIATION_FACTOR]),
        "radiation_autocorrelation": np.array(sel["radiation_autocorrelation_lag_1_2_3_days"]),
        "corr_temperature_radiation_winter_djf": np.array(
            [sel["corr_temperature_radiation_winter_djf"]]
        ),
        "corr_temperature_radiation_summer_jja": np.array(
            [sel["corr_temperature_radiation_summer_jja"]]
        ),
    }
