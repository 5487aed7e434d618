"""Benchmark of the stepper: rate on one and two cores, memory, start-up, and GreenLight beside it.

Every figure comes from fresh worker processes, one pinned to each core. The oracle environment's
own GreenLight run is timed in the same call, so that both see the same machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

Progress = Callable[[str], None]


class BenchError(RuntimeError):
    """A measuring process failed; holds the end of its error output."""


@dataclass(frozen=True)
class BenchReport:
    """Measured figures. Rates are compartment-days per second of the whole closed loop.

    ``cold_start_s`` is measured with an empty compilation cache, ``warm_start_s`` with a full one,
    both from the start of a fresh process to its first finished day.
    """

    lane_days_per_s_one_core: float
    lane_days_per_s_two_cores: float
    substeps: int
    peak_memory_mb: float
    warm_start_s: float
    cold_start_s: float
    greenlight_lane_days_per_s: float | None
    ratio_one_core: float | None
    cpu_count: int

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def bench_simulator(
    *, seconds: float = 8.0, oracle: bool = False, progress: Progress | None = None
) -> BenchReport:
    """Measure the stepper.

    Args:
        seconds: length of each timed run.
        oracle: also time GreenLight itself (builds its environment on first use).
        progress: called with what is being measured.

    Raises:
        BenchError: a measuring process failed.
    """
    say = progress or (lambda text: None)
    cpus = _cpus()
    say("cold start")
    with tempfile.TemporaryDirectory() as empty:
        cold = _measure([cpus[0]], 0.0, {"SLOWLAB_CACHE_DIR": empty})[0]
    say("filling the compilation cache")
    _measure([cpus[0]], 0.0)
    say("one core")
    one = _measure([cpus[0]], seconds)[0]
    say("two cores")
    both = _measure([cpus[0], cpus[-1]], seconds)
    greenlight = _time_greenlight(say) if oracle else None
    rate = one["lane_days_per_s"]
    return BenchReport(
        lane_days_per_s_one_core=rate,
        lane_days_per_s_two_cores=sum(m["lane_days_per_s"] for m in both),
        substeps=int(one["substeps"]),
        peak_memory_mb=max(m["peak_memory_mb"] for m in (one, *both)),
        warm_start_s=one["first_day_s"],
        cold_start_s=cold["first_day_s"],
        greenlight_lane_days_per_s=greenlight,
        ratio_one_core=None if greenlight is None else rate / greenlight,
        cpu_count=len(cpus),
    )


def _cpus() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _measure(
    cpus: list[int], seconds: float, extra: Mapping[str, str] | None = None
) -> list[dict[str, float]]:
    """Run one worker per entry of ``cpus`` at the same time."""
    environment = {**os.environ, **(extra or {})}
    workers = [_start(cpu, seconds, environment) for cpu in cpus]
    first = [worker_message(w) for w in workers]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    results = [f | worker_message(w) for f, w in zip(first, workers, strict=True)]
    for worker in workers:
        worker.communicate()
    return results


def _start(cpu: int, seconds: float, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    command = [
        sys.executable, "-m", "slowlab.greenlight.bench_worker",
        "--started", repr(time.time()), "--seconds", str(seconds), "--cpu", str(cpu),
    ]  # fmt: skip
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=dict(environment)
    )


def worker_message(worker: subprocess.Popen[str]) -> dict[str, float]:
    """The next line of a measuring process, one JSON object.

    Raises:
        BenchError: it ended without one.
    """
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        _, errors = worker.communicate()
        raise BenchError(f"a measuring process failed:\n{errors[-2000:]}")
    return json.loads(line)


def _time_greenlight(say: Progress) -> float:
    from slowlab.greenlight.oracle import run_oracle

    say("GreenLight itself, one day with its own solver")
    return float(run_oracle("greenlight_timing", {"days": 1}).info["lane_days_per_s"])
