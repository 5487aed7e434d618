"""Fitted constants of the weather generator, read from a packaged file.

The file is made by ``scripts/fit_weather_generator.py``; the product never needs the data it was
fitted to. Units are in the names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LATENT_NAMES = ("clear_sky", "temperature", "dew_point_depression", "wind", "cloud")
MONTHLY_NAMES = (
    "clear_sky_logit_mean",
    "clear_sky_logit_sd",
    "temperature_mean_c",
    "temperature_sd_c",
    "depression_root_mean",
    "depression_root_sd",
    "wind_root_mean",
    "wind_root_sd",
    "cloud_logit_mean",
    "cloud_logit_sd",
    "diurnal_gain",
)
GENERATOR_FILE = "cabauw_like_v1.json"
TARGETS_FILE = "targets.json"
# Day of the year (0 = 1 January) in the middle of each month.
MID_MONTH_DAY = np.array([15.5, 45, 74.5, 105, 135.5, 166, 196.5, 227.5, 258, 288.5, 319, 349.5])
COLDEST_DAY = 20.0


@dataclass(frozen=True)
class GeneratorConstants:
    """Everything that is fitted.

    Attributes:
        version: name of the generator; part of every seed.
        correlation: ``[2, 5, 5]`` of the daily latent variables at mid-winter and mid-summer.
        lag_correlation: ``[2, 5, 5]``; entry ``[i, j]`` is variable i of tomorrow with j of today.
        monthly: ``[12]`` each, the names of :data:`MONTHLY_NAMES`.
        within_day: scalars and short tables of the within-day processes.
        year_temperature_sd_k: spread between years on top of what daily weather brings about.
        stated_spread: standard deviation between years of each annual level.
        annual_limits: lowest and highest annual level of a year that is accepted; a seed whose
            first draw lies outside is drawn again.
    """

    version: str
    correlation: Array
    lag_correlation: Array
    monthly: Mapping[str, Array]
    within_day: Mapping[str, Any]
    year_temperature_sd_k: float
    stated_spread: Mapping[str, float]
    annual_limits: Mapping[str, tuple[float, float]]

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> GeneratorConstants:
        """Build from the content of the packaged file.

        Raises:
            ValueError: names of variables or months do not match this code.
        """
        if tuple(content["latent"]["names"]) != LATENT_NAMES:
            raise ValueError(
                f"latent variables {content['latent']['names']} are not {LATENT_NAMES}"
            )
        if set(content["monthly"]) != set(MONTHLY_NAMES):
            raise ValueError(
                f"monthly constants {sorted(content['monthly'])} are not those expected"
            )
        limits = content["annual_limits"]
        return cls(
            version=content["version"],
            correlation=np.array(content["latent"]["correlation"], dtype=np.float64),
            lag_correlation=np.array(content["latent"]["lag_correlation"], dtype=np.float64),
            monthly={name: np.array(content["monthly"][name]) for name in MONTHLY_NAMES},
            within_day=content["within_day"],
            year_temperature_sd_k=float(content["year_temperature_sd_k"]),
            stated_spread=content["stated_spread"],
            annual_limits={name: (low, high) for name, (low, high) in limits.items()},
        )

    def on_days(self, name: str, days: Array) -> Array:
        """A monthly constant on days of the year, interpolated around the year."""
        return np.interp(days, MID_MONTH_DAY, self.monthly[name], period=365.0)


def winter_share(days: Array) -> Array:
    """Share of winter in the season: 1 from December to February, 0 from June to August."""
    return np.clip(0.5 + 0.75 * np.cos(2 * np.pi * (days - COLDEST_DAY) / 365.0), 0.0, 1.0)


@cache
def default_constants() -> GeneratorConstants:
    """The constants of the packaged generator."""
    return GeneratorConstants.from_mapping(read_packaged(GENERATOR_FILE))


def read_packaged(name: str) -> dict[str, Any]:
    """Content of a JSON file in the package's data folder."""
    return json.loads(resources.files("slowlab.weather").joinpath("data", name).read_text("utf-8"))
