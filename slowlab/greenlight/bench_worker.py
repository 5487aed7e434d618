"""One measuring process of the simulator benchmark; started by ``slowlab.greenlight.bench``.

Talks JSON lines: says when the first day is done, waits for a line on standard input, then steps
days for the asked time and reports the rate. The load is the real one: random hidden parameters
and policies per lane, controller, sensors with noise, books.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time

import numpy as np

_LANE_GROUPS = 2


def _pin(cpu: int | None) -> None:
    """Keep this process on one processor, where the system allows it."""
    if cpu is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cpu})


def _say(**message: object) -> None:
    print(json.dumps(message), flush=True)


def synthetic_weather(days: int, lanes: int) -> np.ndarray:
    """Plain sinusoidal seasons and days for timing only, [days, 145, 5, lanes]."""
    day = np.arange(days)[:, None]
    hour = np.arange(-1, 144)[None, :] / 6.0
    season = -np.cos(2 * np.pi * (day - 15) / 365)
    sun = np.maximum(0.0, np.sin((hour - 6.5) / 11 * np.pi)) * (250 + 200 * season)
    air = 10 + 7 * season + 3 * np.sin((hour - 9) / 12 * np.pi)
    vapour = 0.8 * 610.78 * np.exp(17.2694 * air / (air + 238.3))
    drivers = np.stack([sun, air, vapour, 4.0 + 0 * air, air - 12.0], axis=2)
    return np.repeat(drivers[:, :, :, None], lanes, axis=3).astype(np.float32)


def main() -> None:
    """Run the worker."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--started", type=float, required=True, help="time.time() at the spawn")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--cpu", type=int)
    options = parser.parse_args()
    _pin(options.cpu)

    from slowlab.greenlight.bench_load import random_parameters
    from slowlab.greenlight.stepper import Stepper

    stepper = Stepper()
    lanes = _LANE_GROUPS * stepper.width
    parameters = random_parameters(lanes, seed=0)
    weather = synthetic_weather(365, lanes)
    batch = stepper.open(parameters).plant(np.ones(lanes, bool))
    batch = stepper.advance_day(batch, parameters, weather[0]).batch
    _say(first_day_s=time.time() - options.started)
    sys.stdin.readline()
    begun, days = time.perf_counter(), 0
    while time.perf_counter() - begun < options.seconds:
        batch = stepper.advance_day(batch, parameters, weather[1 + days % 179]).batch
        days += 1
    elapsed = time.perf_counter() - begun
    failed = int(np.sum(np.asarray(batch.state.failed_tick) >= 0))
    _say(
        lane_days_per_s=lanes * days / elapsed,
        peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        failed_lanes=failed,
        substeps=stepper.settings.scheme.substeps,
    )


if __name__ == "__main__":
    main()
