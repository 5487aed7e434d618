"""Position of the sun and clear-sky radiation.

Sources: Spencer (1971) for declination, equation of time and distance; Rigollier, Bauer and Wald
    (2000,
Solar Energy 68, 33-48: the ESRA model, with the Rayleigh thickness of Kasten 1996) for radiation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

SOLAR_CONSTANT_W_M2 = 1361.0
_RAYLEIGH = (6.6296, 1.7513, -0.1202, 0.0065, -0.00013)
_LOWEST_SUN = 0.005  # cosine of the zenith angle below which there is no radiation
_DAYS = 365.0

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """Where the sun is seen from: degrees north, degrees east, hours of the clock ahead of UTC."""

    latitude_deg: float
    longitude_deg: float
    utc_offset_h: float


CABAUW = Place(latitude_deg=51.97, longitude_deg=4.93, utc_offset_h=1.0)


def cosine_zenith(day: ArrayLike, clock_h: ArrayLike, place: Place = CABAUW) -> Array:
    """Cosine of the sun's zenith angle, negative below the horizon.

    Args:
        day: day of the year, 0 = 1 January; broadcast against ``clock_h``.
        clock_h: local clock time [h].
        place: location and clock.
    """
    utc_h = np.asarray(clock_h, dtype=np.float64) - place.utc_offset_h
    angle = _year_angle(day, utc_h)
    solar_h = utc_h + place.longitude_deg / 15.0 + _equation_of_time_h(angle)
    hour_angle = np.radians(15.0 * (solar_h - 12.0))
    latitude, declination = np.radians(place.latitude_deg), _declination(angle)
    vertical = np.sin(latitude) * np.sin(declination)
    return vertical + np.cos(latitude) * np.cos(declination) * np.cos(hour_angle)


def extraterrestrial_normal_w_m2(day: ArrayLike) -> Array:
    """Radiation [W/m2] on a plane that faces the sun, outside the atmosphere."""
    angle = _year_angle(day, np.float64(12.0))
    eccentricity = (
        1.00011
        + 0.034221 * np.cos(angle)
        + 0.00128 * np.sin(angle)
        + 0.000719 * np.cos(2 * angle)
        + 0.000077 * np.sin(2 * angle)
    )
    return SOLAR_CONSTANT_W_M2 * eccentricity


def clear_sky_w_m2(cosine: Array, normal_w_m2: Array, linke_turbidity: ArrayLike) -> Array:
    """Global radiation [W/m2] on the horizontal under a cloudless sky (ESRA model, sea level).

    Args:
        cosine: cosine of the zenith angle, any shape; zero radiation below about 0.3 degrees.
        normal_w_m2: extraterrestrial radiation, broadcast against ``cosine``.
        linke_turbidity: Linke turbidity at air mass 2, broadcast likewise; 2 is very clear, 5 hazy.
    """
    up = np.maximum(cosine, _LOWEST_SUN)
    turbidity = np.asarray(linke_turbidity, dtype=np.float64)
    beam = np.exp(-0.8662 * turbidity * _optical_depth(up)) * up
    radiation = normal_w_m2 * (beam + _diffuse_share(up, turbidity))
    return np.where(cosine > _LOWEST_SUN, radiation, 0.0)


def _optical_depth(cosine: Array) -> Array:
    """Relative air mass times Rayleigh optical thickness."""
    elevation_deg = np.degrees(np.arcsin(cosine))
    mass = 1.0 / (cosine + 0.50572 * (elevation_deg + 6.07995) ** -1.6364)
    low = 10.4 + 0.718 * mass
    high = sum(factor * mass**power for power, factor in enumerate(_RAYLEIGH))
    return mass / np.where(mass > 20.0, low, high)


def _diffuse_share(cosine: Array, turbidity: Array) -> Array:
    """Diffuse part of the clear-sky radiation over the extraterrestrial normal radiation."""
    zenith = -0.015843 + 0.030543 * turbidity + 0.0003797 * turbidity**2
    constant = 0.26463 - 0.061581 * turbidity + 0.0031408 * turbidity**2
    constant = np.where(constant * zenith < 0.002, 0.002 / zenith, constant)
    linear = 2.0402 + 0.018945 * turbidity - 0.011161 * turbidity**2
    square = -1.3025 + 0.039231 * turbidity + 0.0085079 * turbidity**2
    return zenith * (constant + linear * cosine + square * cosine**2)


def _year_angle(day: ArrayLike, utc_h: Array) -> Array:
    return 2 * np.pi * (np.asarray(day, dtype=np.float64) + (utc_h - 12.0) / 24.0) / _DAYS


def _declination(angle: Array) -> Array:
    return (
        0.006918
        - 0.399912 * np.cos(angle)
        + 0.070257 * np.sin(angle)
        - 0.006758 * np.cos(2 * angle)
        + 0.000907 * np.sin(2 * angle)
        - 0.002697 * np.cos(3 * angle)
        + 0.00148 * np.sin(3 * angle)
    )


def _equation_of_time_h(angle: Array) -> Array:
    minutes = 229.18 * (
        0.000075
        + 0.001868 * np.cos(angle)
        - 0.032077 * np.sin(angle)
        - 0.014615 * np.cos(2 * angle)
        - 0.040849 * np.sin(2 * angle)
    )
    return minutes / 60.0
