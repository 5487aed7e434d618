"""Random numbers that depend on a name alone, the same on every platform and NumPy version.

A stream is the raw output of PCG64 (whose bit stream NumPy keeps fixed) seeded with a SHA-256 of
its name. Normal numbers come from it by the inverse distribution function, one number for one
number, so that no release of NumPy can change them by choosing another sampling method.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def integer_from_text(text: str) -> int:
    """A 63-bit integer from the SHA-256 of ``text``."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big") >> 1


class NormalStream:
    """A stream of standard normal numbers that is fixed by its name."""

    def __init__(self, name: str) -> None:
        """Start the stream called ``name`` from its first number."""
        digest = hashlib.sha256(name.encode("utf-8")).digest()
        self._bits = np.random.PCG64(int.from_bytes(digest[:16], "big"))

    def draw(self, *shape: int) -> Array:
        """The next standard normal numbers, as an array of ``shape``."""
        from scipy.special import ndtri

        raw = self._bits.random_raw(int(np.prod(shape)))
        uniform = ((raw >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        return ndtri(uniform).reshape(shape)


def red_noise(stream: NormalStream, n_records: int, memory_records: float) -> Array:
    """Stationary first-order autoregressive noise of unit variance, ``[n_records]``.

    Args:
        stream: where the innovations come from.
        n_records: length.
        memory_records: lag at which the autocorrelation has fallen to 1/e.
    """
    from scipy.signal import lfilter

    keep = float(np.exp(-1.0 / memory_records))
    shocks = stream.draw(n_records)
    shocks[1:] *= np.sqrt(1.0 - keep**2)
    return lfilter([1.0], [1.0, -keep], shocks)


def exponential_filter(signal: Array, memory_records: float) -> Array:
    """Response ``[n]`` of a store that forgets with ``memory_records``; it starts in balance."""
    from scipy.signal import lfilter

    keep = float(np.exp(-1.0 / memory_records))
    response, _ = lfilter([1.0 - keep], [1.0, -keep], signal, zi=[keep * signal[0]])
    return response


def mean_preserving_path(daily: Array, records_per_day: int) -> Array:
    """A path of straight lines between mid-days whose daily means are ``daily``.

    Args:
        daily: ``[n]`` daily means.
        records_per_day: records in a day.

    Returns:
        ``[n * records_per_day]``; the daily means agree to about 1e-3 of the day-to-day changes.
    """
    days = np.arange(len(daily), dtype=np.float64)
    at = (np.arange(len(daily) * records_per_day) + 0.5) / records_per_day - 0.5
    knots = daily.astype(np.float64)
    for _ in range(8):
        path = np.interp(at, days, knots)
        knots = knots + (daily - path.reshape(len(daily), -1).mean(axis=1))
    return np.interp(at, days, knots)
