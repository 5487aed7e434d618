"""The sensor noise of the original study, number by number.

Every draw is a keyed hash of what it is for, so it depends neither on queries and actions nor on
the truth. Slow, and used where results must agree with the original's: parity runs and golden
tests. Ordinary runs draw their noise with a counter-based generator inside the compiled step.

Source: SlowLab sensor noise v0 (BLAKE2b rule).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from slowlab.world.sensors import AdditiveChannel, ExactChannel, LogChannel, SensorSpec

PERSON = b"slowlab-noise-v0"
DIGEST_BYTES = 16
_SECONDS_PER_DAY = 86_400
_NORMAL = NormalDist()


@dataclass(frozen=True)
class DayDraws:
    """All uniform draws of one compartment and one day, each strictly between 0 and 1.

    Attributes:
        reading: ``[ticks, noisy channels]``, in the order of :attr:`SensorSpec.noisy_channels`.
        dropout: ``[ticks, groups]``, in the order of the specification.
        day: ``[noisy channels]``, shared by all readings of the day.
    """

    reading: NDArray[np.float64]
    dropout: NDArray[np.float64]
    day: NDArray[np.float64]


@dataclass(frozen=True)
class ReferenceNoise:
    """The original's noise of one site.

    Attributes:
        spec: the instruments.
        seed: noise seed, from 0 to 2^63 - 1.
    """

    spec: SensorSpec
    seed: int

    @cached_property
    def _keyed(self) -> hashlib.blake2b:
        key = self.seed.to_bytes(8, "big")
        return hashlib.blake2b(digest_size=DIGEST_BYTES, key=key, person=PERSON)

    def uniform(self, component: str, name: str, compartment: int, time: int) -> float:
        """One draw strictly between 0 and 1.

        Args:
            component: ``reading``, ``day``, ``bias`` or ``dropout``.
            name: channel, or group for ``dropout``.
            compartment: number, from 0.
            time: seconds for ``reading`` and ``dropout``, day number for ``day``, 0 for ``bias``.
        """
        state = self._keyed.copy()
        state.update(f"{component}|{name}|{compartment}|{time}".encode())
        top = int.from_bytes(state.digest()[:8], "big") >> 11
        return (top + 0.5) / 2.0**53

    def normal(self, component: str, name: str, compartment: int, time: int) -> float:
        """One standard normal draw; arguments as for :meth:`uniform`."""
        return _NORMAL.inv_cdf(self.uniform(component, name, compartment, time))

    def is_lost(self, channel: str, compartment: int, time_s: int) -> bool:
        """Whether the reading of a channel at a time (s since the start) is lost."""
        group = self.spec.group_of(channel)
        if group is None or (time_s == 0 and not self.spec.dropout_at_start):
            return False
        chance = self.spec.groups[group].dropout_probability
        return self.uniform("dropout", group, compartment, time_s) < chance

    def reading(self, channel: str, compartment: int, time_s: int, truth: float) -> float | None:
        """What the agent and the controller see of a true value; None where the reading is lost.

        Args:
            channel: a public channel.
            compartment: number, from 0.
            time_s: seconds since the start of the campaign.
            truth: true value, in the channel's unit.

        Raises:
            KeyError: no such channel.
        """
        model = self.spec.channels[channel]
        if isinstance(model, ExactChannel):
            return truth
        if self.is_lost(channel, compartment, time_s):
            return None
        noise = self.normal("reading", channel, compartment, time_s)
        if isinstance(model, LogChannel):
            shared = self.normal("day", channel, compartment, time_s // _SECONDS_PER_DAY)
            value = truth * math.exp(model.day_sd_log * shared + model.reading_sd_log * noise)
        else:
            value = truth + noise * math.sqrt(model.sd_abs**2 + (model.sd_rel * truth) ** 2)
            value += self._bias(channel, model, compartment)
        return _finish(value, model)

    def _bias(self, channel: str, model: AdditiveChannel, compartment: int) -> float:
        """Constant bias of one instrument, in the channel's unit; zero unless it is switched on."""
        if not self.spec.constant_bias:
            return 0.0
        return model.bias_sd * self.normal("bias", channel, compartment, 0)


def blake2b_draws(
    noise: ReferenceNoise, compartment: int, day: int, tick_seconds: int = 300
) -> DayDraws:
    """All uniform draws of one compartment for the ticks that begin within one day.

    Args:
        noise: the site's noise.
        compartment: number, from 0.
        day: day number, from 0.
        tick_seconds: control step, s.
    """
    channels = noise.spec.noisy_channels
    start = day * _SECONDS_PER_DAY
    times = range(start, start + _SECONDS_PER_DAY, tick_seconds)

    def table(component: str, names: tuple[str, ...]) -> NDArray[np.float64]:
        rows = [[noise.uniform(component, name, compartment, t) for name in names] for t in times]
        return np.array(rows, dtype=np.float64).reshape(len(times), len(names))

    shared = [noise.uniform("day", name, compartment, day) for name in channels]
    return DayDraws(
        reading=table("reading", channels),
        dropout=table("dropout", tuple(noise.spec.groups)),
        day=np.array(shared, dtype=np.float64),
    )


def lost_mask(noise: ReferenceNoise, draws: DayDraws, day: int) -> NDArray[np.bool_]:
    """Which readings of a day are lost, ``[ticks, noisy channels]``."""
    spec = noise.spec
    groups = tuple(spec.groups)
    chances = np.array([spec.groups[name].dropout_probability for name in groups])
    failed = draws.dropout < chances
    if day == 0 and not spec.dropout_at_start:
        failed[0] = False
    never = np.zeros(len(failed), dtype=bool)
    owners = [spec.group_of(name) for name in spec.noisy_channels]
    columns = [never if owner is None else failed[:, groups.index(owner)] for owner in owners]
    return np.column_stack(columns)


def _finish(value: float, model: AdditiveChannel | LogChannel) -> float:
    """Clip to the instrument's range and round to its decimals."""
    low = -math.inf if model.clip_low is None else model.clip_low
    high = math.inf if model.clip_high is None else model.clip_high
    return round(min(max(value, low), high), model.decimals) + 0.0
