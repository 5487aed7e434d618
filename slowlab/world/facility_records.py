"""The readings of one campaign: what the instruments showed after every control step.

Four instruments with noise and gaps, and four exact meters that run per compartment from the
campaign's start. A campaign's readings take 14 MB: of the meters only what was booked in each step
is kept, in the precision of the simulator; running totals are formed again by the same additions
in the same order that made them.

Source: SlowLab sensor noise v0; observations of the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowlab.greenlight.controller import TICKS_PER_DAY
from slowlab.greenlight.integrator import STEP_SECONDS
from slowlab.greenlight.lanes import LEDGER
from slowlab.greenlight.sensors import READ_CHANNELS
from slowlab.world.contract import Contract
from slowlab.world.sensors import SensorSpec

METERS: Mapping[str, str] = MappingProxyType(
    {
        "cumulative_harvest_fresh_equivalent": "harvest_dry_kg_m2",
        "heating_energy": "heat_kwh_m2",
        "lighting_energy": "light_kwh_m2",
        "co2_dosed": "co2_kg_m2",
    }
)
"""Public meters and the books that they show; the harvest as fresh fruit."""

_BOOKS = tuple(name for name in LEDGER if name in METERS.values())
_BOOK_ROWS = [LEDGER.index(name) for name in _BOOKS]


class Record(NamedTuple):
    """One public reading.

    Attributes:
        unit: number of the compartment.
        channel: one of ``PUBLIC_CHANNELS``.
        tick: when it was taken and available, in control steps since the campaign's start.
        value: in the unit of the channel.
    """

    unit: int
    channel: str
    tick: int
    value: float

    @property
    def time_s(self) -> int:
        """Seconds since the campaign's start."""
        return self.tick * STEP_SECONDS


class Series(NamedTuple):
    """Readings of one channel that exist: ticks, int32 [n], and values, float64 [n]."""

    ticks: NDArray[np.int32]
    values: NDArray[np.float64]


class RecordStore:
    """Readings of all compartments of one campaign, written once per control step.

    Args:
        contract: length of the campaign, number of compartments, dry-matter fraction.
        sensors: decimals of the readings.
        dtype: of the simulator.
        noise: False where the instruments are exact, which are not rounded either.
    """

    def __init__(self, contract: Contract, sensors: SensorSpec, dtype: str, *, noise: bool) -> None:
        ticks, units = contract.calendar.campaign_ticks + 1, contract.facility.compartments
        self._decimals = {
            name: sensors.channels[name].decimals if noise else None for name in READ_CHANNELS
        }
        self._dry_matter_fraction = contract.economics.fixed_costs.fruit_dry_matter_fraction
        self._shown = np.empty((ticks, len(READ_CHANNELS), units), dtype)
        self._booked = np.empty((ticks, len(_BOOKS), units), dtype)
        # Running totals at the beginning of every day.
        self._totals = np.empty((ticks // TICKS_PER_DAY + 1, len(_BOOKS), units))

    def open(self, shown: NDArray) -> None:
        """Take the readings at tick 0, [4, units], of which none is lost; the meters show zero."""
        self._shown[0], self._booked[0], self._totals[0] = shown, 0.0, 0.0

    def write(self, first: int, shown: NDArray, before: NDArray, totals: NDArray) -> None:
        """Take the readings after consecutive control steps of one day.

        Args:
            first: tick of the first reading.
            shown: instruments, [n, 4, units]; NaN where lost.
            before: books before the first step in the order of ``LEDGER``, [5, units].
            totals: books after every step, [n, 5, units].
        """
        until = first + len(shown)
        running = np.concatenate([before[None, _BOOK_ROWS], totals[:, _BOOK_ROWS]])
        self._shown[first:until] = shown
        # In the precision of the states: this takes off the rounding of the running totals.
        self._booked[first:until] = np.diff(running, axis=0)
        day, rest = divmod(until - 1, TICKS_PER_DAY)
        if rest == 0:
            self._totals[day] = running[-1]

    def series(self, unit: int, channel: str, start: int, end: int) -> Series:
        """Readings of one compartment and channel from tick ``start`` to ``end``, both included.

        Lost readings are absent. Instruments are rounded as specified, meters are exact.

        Raises:
            KeyError: no such channel.
        """
        ticks = np.arange(start, end + 1, dtype=np.int32)
        if channel in METERS:
            return Series(ticks, self._meter(unit, channel, start, end))
        row, decimals = READ_CHANNELS.index(channel), self._decimals[channel]
        shown = self._shown[start : end + 1, row, unit].astype(np.float64)
        there = ~np.isnan(shown)
        values = shown[there] if decimals is None else np.round(shown[there], decimals)
        return Series(ticks[there], values + 0.0)

    def _meter(self, unit: int, channel: str, start: int, end: int) -> NDArray[np.float64]:
        """Running totals from the beginning of the day in which the window begins."""
        row, day = _BOOKS.index(METERS[channel]), start // TICKS_PER_DAY
        steps = self._booked[day * TICKS_PER_DAY : end + 1, row, unit].astype(np.float64)
        steps[0] = self._totals[day, row, unit]
        totals = np.add.accumulate(steps)[start - day * TICKS_PER_DAY :]
        return totals / self._dry_matter_fraction if "harvest" in channel else totals

    def arrays(self, tick: int) -> dict[str, NDArray]:
        """Everything up to the reading of ``tick``, by name."""
        return {
            "records.shown": self._shown[: tick + 1],
            "records.booked": self._booked[: tick + 1],
            "records.totals": self._totals[: tick // TICKS_PER_DAY + 1],
        }

    def fill(self, arrays: Mapping[str, NDArray]) -> None:
        """Take back what :meth:`arrays` gave."""
        for name, target in (
            ("shown", self._shown),
            ("booked", self._booked),
            ("totals", self._totals),
        ):
            saved = arrays[f"records.{name}"]
            target[: len(saved)] = saved
