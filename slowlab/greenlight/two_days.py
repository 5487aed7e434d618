"""Two winter days under held commands: the stepper and RK4 beside GreenLight's own solutions.

The golden file holds GreenLight 2.0.5's states with its default solver and with tight tolerances.
All are compared with the tight run, so the stepper's error stands beside GreenLight's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from slowlab.greenlight import parity
from slowlab.greenlight.batch import open_batch
from slowlab.greenlight.controller import PolicyLanes
from slowlab.greenlight.lanes import LaneParameters, Phase
from slowlab.greenlight.model import COMMANDS, STATES, WEATHER
from slowlab.greenlight.reference import DYNAMIC_STATES
from slowlab.greenlight.stepper import Stepper, lane_parameters

_BOOKED_NAMES = ("hBoilPipe", "qLampIn", "mcExtAir", "mcFruitHar", "mvCanAirPositive")


@dataclass(frozen=True)
class TwoDayError:
    """Errors against GreenLight's tight run at the ends of 576 ticks, and of its totals."""

    solver: str
    air_temperature_rmse_k: float
    air_temperature_max_k: float
    co2_rmse_mg_m3: float
    harvest_relative: float
    transpiration_relative: float


def two_day_errors(
    golden: Mapping[str, np.ndarray], stepper: Stepper, fine: Stepper
) -> tuple[TwoDayError, ...]:
    """Errors of GreenLight's default solver, of the stepper, of a finer build and of RK4.

    Args:
        golden: arrays of ``greenlight_two_days``.
        stepper: production build.
        fine: audit build.
    """
    parameters, recorded = as_recorded(golden)
    exact = _states(golden, "tight_states")
    exact_sums = golden["tight_integrals"].sum(axis=0)
    rows = [
        _errors(
            "GreenLight, default tolerances",
            _states(golden, "states"),
            golden["integrals"].sum(axis=0),
            exact,
            exact_sums,
        )
    ]
    runs = {
        _name(stepper): parity.replay_with_stepper(stepper, parameters, recorded),
        _name(fine): parity.replay_with_stepper(fine, parameters, recorded),
        f"RK4 at {parity.REFERENCE_SECONDS} s": parity.replay_open_loop(
            stepper, parameters, recorded
        ),
    }
    scale = parity.LEDGER_SCALE
    for name, run in runs.items():
        states = {s: run.state(s)[:, 0] for s in DYNAMIC_STATES}
        rows.append(_errors(name, states, run.booked[:, 0] / scale, exact, exact_sums))
    return tuple(rows)


def as_recorded(golden: Mapping[str, np.ndarray]) -> tuple[LaneParameters, parity.Recorded]:
    """The golden case as one recorded lane with a growing crop at the default site."""
    names = [str(n) for n in golden["state_names"]]
    inputs = [str(n) for n in golden["input_names"]]
    initial = dict(zip(names, golden["initial"], strict=True))
    batch = open_batch(1, np.float64)
    state = batch.state._replace(
        states=np.array([[initial[s]] for s in STATES]),
        phase=np.array([Phase.GROWING], np.int32),
    )
    zero = np.zeros(1)
    policy = PolicyLanes(zero, zero, zero, zero.astype(np.int32), zero, zero)
    parameters = lane_parameters(
        {}, policy, noise_seeds=None, compartments=np.zeros(1, np.int64), dtype=np.float64
    )

    def columns(wanted: tuple[str, ...]) -> np.ndarray:
        return golden["inputs"][:, [inputs.index(n) for n in wanted]][:, :, None]

    weather = columns(WEATHER)
    recorded = parity.Recorded(
        start=batch._replace(state=state),
        commands=columns(COMMANDS),
        weather=weather,
        released=weather,
        states=np.empty((len(weather), len(STATES), 0)),
        booked=np.empty((len(_BOOKED_NAMES), 0)),
    )
    return parameters, recorded


def _name(stepper: Stepper) -> str:
    return f"stepper, {stepper.precision}, {stepper.settings.scheme.substeps} substeps"


def _states(golden: Mapping[str, np.ndarray], key: str) -> dict[str, np.ndarray]:
    """State name -> values at the ends of the ticks."""
    names = [str(n) for n in golden["state_names"]]
    return dict(zip(names, golden[key][1:].T, strict=True))


def _errors(
    name: str,
    states: Mapping[str, np.ndarray],
    sums: np.ndarray,
    exact: Mapping[str, np.ndarray],
    exact_sums: np.ndarray,
) -> TwoDayError:
    air = states["tAir"] - exact["tAir"]
    co2 = states["co2Air"] - exact["co2Air"]
    relative = np.abs(sums - exact_sums) / np.abs(exact_sums)
    return TwoDayError(
        solver=name,
        air_temperature_rmse_k=float(np.sqrt(np.mean(air**2))),
        air_temperature_max_k=float(np.max(np.abs(air))),
        co2_rmse_mg_m3=float(np.sqrt(np.mean(co2**2))),
        harvest_relative=float(relative[_BOOKED_NAMES.index("mcFruitHar")]),
        transpiration_relative=float(relative[_BOOKED_NAMES.index("mvCanAirPositive")]),
    )
