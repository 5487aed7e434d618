"""Conversions between what weather stations report and what the greenhouse model takes.

All functions are vectorised over arrays of any shape and return float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

STEFAN_BOLTZMANN_W_M2_K4 = 5.670374419e-8
ZERO_CELSIUS_K = 273.15

# Magnus form over water: e = A exp(B T / (T + C)), with T in degC and e in Pa.
_MAGNUS_A_PA = 610.78
_MAGNUS_B = 17.2694
_MAGNUS_C_K = 238.3


def saturation_pressure_pa(temperature_c: ArrayLike) -> NDArray[np.float64]:
    """Saturation vapour pressure over water [Pa] at ``temperature_c`` [degC].

    Applied to a dew point it gives the vapour pressure of the air. The same form and constants as
    in GreenLight (Katzin et al. 2020).
    """
    temperature = np.asarray(temperature_c, dtype=np.float64)
    return _MAGNUS_A_PA * np.exp(_MAGNUS_B * temperature / (temperature + _MAGNUS_C_K))


def dew_point_c(vapour_pressure_pa: ArrayLike) -> NDArray[np.float64]:
    """Dew point [degC] of air with ``vapour_pressure_pa`` [Pa]; inverts the function above."""
    exponent = np.log(np.asarray(vapour_pressure_pa, dtype=np.float64) / _MAGNUS_A_PA)
    return _MAGNUS_C_K * exponent / (_MAGNUS_B - exponent)


def sky_temperature_c(longwave_w_m2: ArrayLike) -> NDArray[np.float64]:
    """Temperature [degC] of a black sky that sends down ``longwave_w_m2`` [W/m2]."""
    longwave = np.asarray(longwave_w_m2, dtype=np.float64)
    return (longwave / STEFAN_BOLTZMANN_W_M2_K4) ** 0.25 - ZERO_CELSIUS_K


def longwave_w_m2(sky_temperature: ArrayLike) -> NDArray[np.float64]:
    """Downward longwave radiation [W/m2] of a black sky at ``sky_temperature`` [degC]."""
    kelvin = np.asarray(sky_temperature, dtype=np.float64) + ZERO_CELSIUS_K
    return STEFAN_BOLTZMANN_W_M2_K4 * kelvin**4
