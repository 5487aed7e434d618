"""The simulator benchmark measures and reports; it asserts no timings."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from slowlab.greenlight import bench
from slowlab.greenlight.bench_load import random_parameters
from slowlab.greenlight.bench_worker import synthetic_weather
from slowlab.greenlight.integrator import Scheme


def test_random_lanes_differ_in_site_policy_and_noise() -> None:
    parameters = random_parameters(64, seed=3)
    for name in ("laiMax", "cLeakage", "tCan24Min", "ueff"):
        assert len(np.unique(parameters.model[name])) == 64
    assert len(np.unique(parameters.policy.day_temperature_c)) == 64
    assert parameters.noise.noisy.all()
    assert (parameters.policy.night_temperature_c <= parameters.policy.day_temperature_c).all()


def test_synthetic_weather_is_stated_for_every_lane_and_plausible() -> None:
    weather = synthetic_weather(365, 3)
    assert weather.shape == (365, 145, 5, 3)
    assert np.isfinite(weather).all()
    radiation, air = weather[:, :, 0], weather[:, :, 1]
    assert radiation.min() == 0.0
    assert radiation.max() < 1000
    assert air.min() > -20
    assert air.max() < 40


def test_a_dying_worker_is_an_error_with_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(cpu: int, seconds: float, environment: object) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [sys.executable, "-c", "raise SystemExit('no greenhouse today')"],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )

    monkeypatch.setattr(bench, "_start", broken)
    with pytest.raises(bench.BenchError, match="no greenhouse today"):
        bench.bench_simulator(seconds=0.1)


@pytest.mark.slow
def test_command_prints_one_json_object() -> None:
    command = [sys.executable, "-m", "slowlab", "bench", "simulator", "--json", "--seconds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["lane_days_per_s_one_core"] > 0
    assert report["lane_days_per_s_two_cores"] > 0
    assert report["substeps"] == Scheme().substeps
    assert report["peak_memory_mb"] > 0
    assert 0 < report["warm_start_s"] < report["cold_start_s"]
    assert report["greenlight_lane_days_per_s"] is None
    assert report["ratio_one_core"] is None
