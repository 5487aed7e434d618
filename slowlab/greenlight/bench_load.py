"""Random lanes for timing: hidden parameters and policies over the ranges of the environment."""

from __future__ import annotations

import numpy as np

from slowlab.greenlight.controller import ControllerSettings, PolicyLanes, lamp_off_tick
from slowlab.greenlight.lanes import LaneParameters
from slowlab.greenlight.stepper import lane_parameters

# Site distribution v1 (uniform; log-uniform where marked).
_UNIFORM = {
    "j25LeafMax": (210 * 0.85, 210 * 1.15),
    "rgFruit": (0.328 * 0.85, 0.328 * 1.15),
    "tEndSum": (1035 * 0.9, 1035 * 1.1),
    "laiMax": (2.5, 3.5),
    "tauRfPar": (0.75, 0.88),
    "tauRfNir": (0.75, 0.88),
    "cDgh": (0.6, 0.9),
    "cWgh": (0.072, 0.108),
    "etaLampPar": (0.45, 0.60),
    "tSoOut": (8.0, 20.0),
    "ueff": (1.0, 3.0),
}
_LOG_LEAKAGE = (3e-5, 2e-4)
_WINDOW_SHIFT_K = 1.5


def random_parameters(lanes: int, seed: int) -> LaneParameters:
    """Different sites, policies and noise in every lane."""
    rng = np.random.default_rng(seed)
    model = {name: rng.uniform(low, high, lanes) for name, (low, high) in _UNIFORM.items()}
    model["cLeakage"] = np.exp(rng.uniform(*np.log(_LOG_LEAKAGE), lanes))
    shift = rng.uniform(-_WINDOW_SHIFT_K, _WINDOW_SHIFT_K, lanes)
    model |= {"tCan24Min": 15.0 + shift, "tCan24Max": 24.5 + shift}
    day = rng.uniform(18, 26, lanes)
    settings = ControllerSettings()
    policy = PolicyLanes(
        day_temperature_c=day,
        night_temperature_c=np.minimum(day, rng.uniform(15, 22, lanes)),
        co2_target_ppm=rng.uniform(400, 1200, lanes),
        lamp_off_tick=np.array([lamp_off_tick(h, settings) for h in rng.uniform(0, 16, lanes)]),
        vent_temperature_offset_c=rng.uniform(2, 6, lanes),
        vent_rh_threshold_pct=rng.uniform(70, 90, lanes),
    )
    return lane_parameters(
        model,
        policy,
        noise_seeds=rng.integers(0, 2**63, lanes),
        compartments=np.arange(lanes) % 4,
    )
