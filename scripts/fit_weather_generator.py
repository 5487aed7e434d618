"""Fit the constants of the weather generator and write the packaged file.

    python scripts/fit_weather_generator.py --sel SEL_CSV --targets TARGETS_JSON

Needed only when the generator changes. Two steps: (1) correlations between the daily variables,
on the same day and from day to day, and the mean diurnal cycle of wind, from the hourly SEL year;
(2) monthly constants, adjusted in rounds of simulation until the mean of many generated years
meets the targets. Monthly targets of a single year are noisy: each is first drawn towards two
annual harmonics, as far as a fixed part of the permitted tolerance. What cannot be fitted to
hourly data of one year (variability below one hour, spread between years) is set by hand in
``WITHIN_DAY`` and marked so in the file.
"""

from __future__ import annotations

import argparse
import copy
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slowlab.io import atomic_write_text
from slowlab.weather.constants import LATENT_NAMES, MONTHLY_NAMES, GeneratorConstants
from slowlab.weather.conversions import dew_point_c
from slowlab.weather.daily import CLEAR_SKY_LIMITS, sigmoid
from slowlab.weather.fitting import diurnal_wind, feasible, latent_correlations
from slowlab.weather.generator import generate_year
from slowlab.weather.sel import level_shift, read_sel
from slowlab.weather.series import DAYS_PER_YEAR, WeatherYear
from slowlab.weather.statistics import (
    CURVE_DRIVERS,
    CURVE_MONTHS,
    EXCEEDED_PCT,
    by_month,
    daily_means,
    describe_year,
    diurnal_cycles,
    duration_curve,
)
from slowlab.weather.targets import DEW_POINT_SHIFT_K, Targets, load_targets
from slowlab.weather.within_day import clear_sky_records

Array = NDArray[np.float64]
DATA = Path(__file__).resolve().parents[1] / "slowlab" / "weather" / "data"
VERSION = "cabauw-like-1"

# Set by hand; see "basis" in the file that is written.
WITHIN_DAY = {
    "linke_turbidity": {"winter": 2.4, "summer": 3.2},
    "sky": {
        "least_index": 0.02,
        "greatest_index": 1.3,
        "slow_hours": 1.5,
        "fast_hours": 0.25,
        "fast_share": 0.35,
        "amplitude_at_index": [0.0, 0.7, 0.85, 0.95, 1.05],
        "amplitude_logit": [0.75, 0.72, 0.5, 0.3, 0.12],
    },
    "cloud": {"greatest": 0.95, "coupling": 0.8},
    "wind": {
        "slow_hours": 4.0,
        "slow_sd": 0.6,
        "fast_hours": 0.3,
        "fast_sd": 0.18,
        "noise_halving_m_s": 5.0,
        "least_m_s": 0.3,
    },
    "air": {
        "absorbed": 0.8,
        "store_hours": [0.7, 6.0],
        "store_k_per_w_m2": [0.018, 0.048],
        "wind_halving_m_s": 3.0,
        "noise_hours": 6.0,
        "noise_sd_k": 1.1,
    },
    "dew_point": {
        "shared_noise_k": 0.6,
        "own_noise_k": 0.9,
        "least_depression_k": 0.05,
        "dew_fall_width_k": 0.5,
    },
}
TARGETS_SOURCE = (
    "SEL reference year, KNMI De Bilt, selected real months (Breuer and Van de Braak 1989): "
    "months, residuals and curves; KNMI Cabauw observatory, surface products lc1 v1.0, years 2002, "
    "2011 and 2015 with the December before: annual levels"
)
BASIS = {
    "correlation, lag_correlation": "hourly SEL year, normal scores of deseasonalised daily values",
    "diurnal_winter, diurnal_summer": "hourly SEL year",
    "monthly": "adjusted by simulation to targets.json after the level shift",
    "sky.amplitude, air.store": "read off the hourly SEL year",
    "sky.fast, wind.fast": "assumed: the source has no data below one hour",
    "cloud, dew_point, air.noise": "assumed, of the size of hourly residuals in the SEL year",
    "year_temperature_sd_k": "chosen so that annual means vary by about 0.6 K",
}
YEAR_TEMPERATURE_SD_K = 0.5
ACCEPTED_SPREADS = 2.0
# Figures of one year are taken after its own harmonics are removed, which lowers its lag
# correlations.
LAG_CORRECTION = (0.05, 0.03, 0.0, 0.0, 0.0)
ROUNDS, YEARS_PER_ROUND = 8, 120
START = {
    "clear_sky_logit_mean": 0.2,
    "clear_sky_logit_sd": 1.3,
    "temperature_sd_c": 3.0,
    "depression_root_sd": 0.4,
    "wind_root_sd": 0.4,
    "cloud_logit_mean": -0.3,
    "cloud_logit_sd": 1.4,
    "diurnal_gain": 1.0,
}


def main() -> None:
    """Fit, adjust, write, and print the last comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sel", type=Path, required=True, help="hourly SEL year (CSV)")
    parser.add_argument("--targets", type=Path, required=True, help="targets (JSON)")
    parser.add_argument("--out", type=Path, default=DATA, help="folder of the packaged files")
    arguments = parser.parse_args()
    source = json.loads(arguments.targets.read_text("utf-8"))
    sel, targets = read_sel(arguments.sel), load_targets(source)
    wanted, raw = (
        wanted_months(targets, sel),
        latent_correlations(sel, clear_sky_days(), LAG_CORRECTION),
    )
    content = initial_content(sel, raw, wanted)
    for number in range(ROUNDS):
        measured = simulate(content)
        show(number, wanted, measured)
        adjust(content["monthly"], wanted, measured)
        adjust_latent(content["latent"], raw, targets, measured)
    content["annual_limits"] = annual_limits(targets, spread_between_years(content))
    content["stated_spread"] = spread_between_years(content)
    write(arguments.out / "cabauw_like_v1.json", content)
    extra = {"source": TARGETS_SOURCE, "curves_shifted_sel_year": reference_curves(sel)}
    write(arguments.out / "targets.json", source | extra)


def initial_content(sel: WeatherYear, raw: tuple[Array, Array], wanted: dict[str, Array]) -> dict:
    """Everything but the adjustment of the monthly constants."""
    correlation, lag = feasible(*raw)
    within_day = copy.deepcopy(WITHIN_DAY)
    within_day["wind"] |= diurnal_wind(sel)
    monthly = {name: np.full(12, START.get(name, 0.0)) for name in MONTHLY_NAMES}
    monthly["temperature_mean_c"] = wanted["air_temperature_mean_c"].copy()
    monthly["depression_root_mean"] = np.full(12, 1.7)
    monthly["wind_root_mean"] = np.sqrt(wanted["wind_mean_m_s"])
    return {
        "version": VERSION,
        "source": "SEL reference year (De Bilt; Breuer and Van de Braak 1989) for the shape, "
        "formal Cabauw years (2002, 2011, 2015) for the level",
        "made_by": "scripts/fit_weather_generator.py",
        "basis": BASIS,
        "latent": {
            "names": list(LATENT_NAMES),
            "correlation": correlation,
            "lag_correlation": lag,
        },
        "monthly": monthly,
        "within_day": within_day,
        "year_temperature_sd_k": YEAR_TEMPERATURE_SD_K,
        "stated_spread": {},
        "annual_limits": {},
    }


def clear_sky_days() -> Array:
    """Daily mean clear-sky radiation at Cabauw [W/m2]."""
    constants = GeneratorConstants(VERSION, *[np.eye(5)] * 2, {}, WITHIN_DAY, 0.0, {}, {})
    return clear_sky_records(np.arange(DAYS_PER_YEAR, dtype=np.float64), constants).mean(axis=1)


def clear_sky_months() -> Array:
    """Monthly mean clear-sky radiation at Cabauw [MJ/m2/day]."""
    return by_month(clear_sky_days()) * 0.0864


def wanted_months(targets: Targets, sel: WeatherYear) -> dict[str, Array]:
    """Monthly figures to aim at: the targets drawn towards two harmonics within their tolerance."""
    monthly = targets.monthly
    shifted = describe_year(level_shift(sel)).monthly
    depression = daily_means(sel, "air_temperature_c") - dew_point_c(
        daily_means(sel, "vapour_pressure_pa")
    )
    clear = clear_sky_months()
    radiation = clear * smooth(monthly["global_radiation_mean_mj_m2_day"] / clear, 0.015)
    # The level shift stretches clear days beyond a clear sky; spread grows less than the mean.
    radiation_sd = 0.95 * monthly["global_radiation_sd_mj_m2_day"]
    radiation_sd = radiation * smooth(radiation_sd / radiation, 0.06)
    sky = monthly["sky_minus_air_temperature_c"]
    return {
        "air_temperature_mean_c": smooth(monthly["air_temperature_mean_c"], absolute=0.3),
        "daily_mean_temperature_sd_c": smooth(monthly["daily_mean_temperature_sd_c"], 0.06),
        "mean_diurnal_range_c": smooth(monthly["mean_diurnal_range_c"], 0.1),
        "global_radiation_mean_mj_m2_day": radiation,
        "global_radiation_sd_mj_m2_day": radiation_sd,
        "wind_mean_m_s": smooth(monthly["wind_mean_m_s"], 0.08),
        "wind_sd_m_s": smooth(monthly["wind_sd_m_s"], 0.08),
        "dew_point_mean_c": smooth(shifted["dew_point_mean_c"] + DEW_POINT_SHIFT_K, absolute=0.4),
        "depression_sd_k": smooth(by_month(depression, np.std), 0.3),
        "sky_minus_air_temperature_c": smooth(sky, absolute=1.0),
    }


def smooth(values: Array, relative: float = 0.0, absolute: float = 0.0) -> Array:
    """Two annual harmonics through twelve values, but never further from a value than allowed."""
    angle = 2 * np.pi * np.arange(12) / 12
    waves = [f(k * angle) for k in (1, 2) for f in (np.cos, np.sin)]
    design = np.stack([np.ones(12), *waves], axis=1)
    curve = design @ np.linalg.lstsq(design, values, rcond=None)[0]
    room = absolute + relative * np.abs(values)
    return np.clip(curve, values - room, values + room)


def simulate(content: dict) -> dict[str, Array]:
    """Monthly figures of generated years: means of means, root mean squares of spreads."""
    constants = GeneratorConstants.from_mapping(content)
    collected: dict[str, list[Array]] = {}
    for year in range(YEARS_PER_ROUND):
        weather = generate_year(10_000_000 + year, constants)
        description = describe_year(weather)
        figures = description.monthly | description.residuals
        depression = daily_means(weather, "air_temperature_c") - dew_point_c(
            daily_means(weather, "vapour_pressure_pa")
        )
        figures["depression_sd_k"] = by_month(depression, np.std)
        figures["depression_mean_k"] = by_month(depression)
        for name, values in figures.items():
            collected.setdefault(name, []).append(values)
    figures = {name: combine(name, np.array(values)) for name, values in collected.items()}
    return figures | expected_months(constants)


def expected_months(constants: GeneratorConstants) -> dict[str, Array]:
    """Monthly means that follow from the constants without simulation, free of sampling error."""
    days = np.arange(DAYS_PER_YEAR, dtype=np.float64)
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    centre = constants.on_days("clear_sky_logit_mean", days)[:, None]
    scale = constants.on_days("clear_sky_logit_sd", days)[:, None]
    low, high = CLEAR_SKY_LIMITS
    index = low + (high - low) * sigmoid(centre + scale * nodes) @ weights / weights.sum()
    return {
        "air_temperature_mean_c": by_month(constants.on_days("temperature_mean_c", days)),
        "global_radiation_mean_mj_m2_day": by_month(index * clear_sky_days()) * 0.0864,
    }


def combine(name: str, values: Array) -> Array:
    """Mean over years, or root mean square if the figure is a standard deviation."""
    return np.sqrt((values**2).mean(axis=0)) if "_sd_" in name else values.mean(axis=0)


def adjust(monthly: dict[str, Array], wanted: dict[str, Array], measured: dict) -> None:
    """One round: move each monthly constant by what its figure is off."""

    def ratio(name: str) -> Array:
        return np.clip(wanted[name] / measured[name], 0.5, 2.0)

    def excess(name: str) -> Array:
        return wanted[name] - measured[name]

    share = ratio("global_radiation_mean_mj_m2_day")
    monthly["clear_sky_logit_mean"] += 3.0 * np.log(share)
    monthly["clear_sky_logit_sd"] *= ratio("global_radiation_sd_mj_m2_day") ** 0.8
    monthly["clear_sky_logit_sd"][:] = np.clip(monthly["clear_sky_logit_sd"], 0.5, 3.0)
    monthly["temperature_mean_c"] += excess("air_temperature_mean_c")
    monthly["temperature_sd_c"] *= ratio("daily_mean_temperature_sd_c")
    monthly["wind_root_mean"] *= ratio("wind_mean_m_s") ** 0.5
    monthly["wind_root_sd"] *= ratio("wind_sd_m_s") ** 0.8
    root = monthly["depression_root_mean"]
    goal = wanted["air_temperature_mean_c"] - wanted["dew_point_mean_c"]
    root *= np.clip(goal / measured["depression_mean_k"], 0.5, 2.0) ** 0.5
    monthly["depression_root_sd"] *= ratio("depression_sd_k") ** 0.8
    monthly["cloud_logit_mean"] += 0.15 * excess("sky_minus_air_temperature_c")
    monthly["diurnal_gain"] *= ratio("mean_diurnal_range_c") ** 0.9


def adjust_latent(latent: dict, raw: tuple[Array, Array], targets: Targets, measured: dict) -> None:
    """One round for the correlations that have targets of their own."""
    today, lag = raw
    seasons = ("winter_djf", "summer_jja")
    for season, name in enumerate(f"corr_temperature_radiation_{part}" for part in seasons):
        off = float((targets.residuals[name] - measured[name])[0])
        for one, other in ((0, 1), (1, 0)):
            today[season, one, other] += 0.5 * off
            lag[season, one, other] += 0.25 * off
    latent["correlation"], latent["lag_correlation"] = feasible(today, lag)


def annual_limits(targets: Targets, spread: dict[str, float]) -> dict[str, list[float]]:
    """The range of the formal Cabauw years, widened on either side."""
    return {
        name: [low - ACCEPTED_SPREADS * spread[name], high + ACCEPTED_SPREADS * spread[name]]
        for name, (low, high) in targets.annual_range.items()
    }


def spread_between_years(content: dict, n_years: int = 100) -> dict[str, float]:
    """Standard deviation between generated years of each annual level."""
    constants = GeneratorConstants.from_mapping(content)
    years = [
        describe_year(generate_year(20_000_000 + year, constants)).annual for year in range(n_years)
    ]
    return {name: float(np.std([year[name] for year in years], ddof=1)) for name in years[0]}


def show(number: int, wanted: dict[str, Array], measured: dict[str, Array]) -> None:
    """Print how far each figure is off, at most over the months."""
    off = {name: np.abs(measured[name] - goal).max() for name, goal in wanted.items()}
    print(number, " ".join(f"{name}={value:.2f}" for name, value in off.items()), flush=True)


def reference_curves(sel: WeatherYear) -> dict[str, object]:
    """Diurnal cycles and duration curves of the SEL year at the level of Cabauw."""
    shifted = level_shift(sel)
    return {
        "months": list(CURVE_MONTHS),
        "exceeded_pct": EXCEEDED_PCT,
        "diurnal": {name: diurnal_cycles(shifted, name) for name in CURVE_DRIVERS},
        "duration": {name: duration_curve(shifted, name) for name in CURVE_DRIVERS},
    }


def write(path: Path, content: dict) -> None:
    """Write JSON with plain numbers, rounded to what the fit can know."""
    text = json.dumps(plain(content), indent=1, ensure_ascii=False) + "\n"
    atomic_write_text(path, text)


def plain(content: object) -> object:
    """Arrays and nested mappings as lists and dictionaries, numbers with five decimals."""
    if isinstance(content, dict):
        return {name: plain(value) for name, value in content.items()}
    if isinstance(content, (list, tuple, np.ndarray)):
        return [plain(value) for value in content]
    return round(float(content), 5) if isinstance(content, (float, np.floating)) else content


if __name__ == "__main__":
    main()
