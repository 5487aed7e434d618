"""The simulator's own proof: one report that measures its errors and holds them to gates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np

from slowlab.greenlight import parity
from slowlab.greenlight.batch import LaneBatch
from slowlab.greenlight.controller import PolicyLanes, lamp_off_tick
from slowlab.greenlight.day import StepperSettings
from slowlab.greenlight.golden import load_golden
from slowlab.greenlight.integrator import Scheme
from slowlab.greenlight.lanes import LEDGER, LaneParameters
from slowlab.greenlight.parity import DailyWeather, Recorded, ReferenceRun
from slowlab.greenlight.stepper import Stepper, lane_parameters

Progress = Callable[[str, float], None]
# Policies as (day, night, CO2, light hours, vent offset, RH): the two of the published golden
# checks, the corner of the box where the optimum lies, and a hot, humid-averse one.
_POLICIES = {
    "a": (22.0, 18.0, 800.0, 12.0, 4.0, 85.0),
    "g": (21.0, 17.0, 800.0, 12.0, 3.0, 85.0),
    "corner": (18.0, 15.0, 1130.0, 16.0, 6.0, 90.0),
    "hot": (25.0, 21.0, 1000.0, 8.0, 2.0, 72.0),
}
# Audit build: more and more even substeps, in float64.
AUDIT_SCHEME = Scheme(substeps=24, ratio=1.05)
# Totals below this are compared absolutely (kWh or kg per m2): a young crop harvests nothing.
_TOTAL_FLOOR = 0.01


class Gates(NamedTuple):
    """Largest errors the production build may have."""

    rhs_relative: float = 1e-10
    air_temperature_rmse_k: float = 0.02
    air_temperature_max_k: float = 0.2
    co2_rmse_mg_m3: float = 2.0
    open_loop_totals: float = 1e-3
    closed_loop_totals: float = 2e-3


class Scenario(NamedTuple):
    """A window of a year: policy, planting day (None: empty house) and first day compared."""

    name: str
    policy: str
    planted_day: int | None
    first_day: int


OPEN_LOOP = (
    Scenario("winter, young crop", "a", 0, 5),
    Scenario("spring, mature crop", "g", 0, 80),
    Scenario("late spring, hot policy", "hot", 0, 120),
    Scenario("summer, corner policy", "corner", 0, 150),
    Scenario("late summer, young crop", "a", 182, 195),
    Scenario("autumn, corner policy", "corner", 182, 270),
    Scenario("winter, mature crop", "a", 182, 335),
    Scenario("winter, crop-free", "g", None, 0),
    Scenario("summer, crop-free", "g", None, 150),
)
CLOSED_LOOP = (
    Scenario("winter to spring", "a", 0, 20),
    Scenario("spring to summer", "g", 0, 110),
    Scenario("spring to summer, corner policy", "corner", 0, 110),
    Scenario("summer to autumn", "a", 182, 200),
    Scenario("autumn to winter, corner policy", "corner", 182, 290),
)


@dataclass(frozen=True)
class OpenLoopError:
    """Errors against RK4 with the same commands; see ``audit_simulator``."""

    scenario: str
    air_temperature_rmse_k: float
    air_temperature_max_k: float
    co2_rmse_mg_m3: float
    totals_max_relative_error: float


@dataclass(frozen=True)
class AuditReport:
    """What was measured, on what, against which gates.

    ``open_loop_audit_build`` and ``closed_loop_audit_build`` repeat the comparison for the
    float64 build with more substeps: they show how much of the error is the integrator's.
    """

    rhs_max_relative_error: float
    rhs_states: int
    weather: str
    open_loop_days: int
    open_loop: tuple[OpenLoopError, ...]
    open_loop_audit_build: tuple[OpenLoopError, ...]
    closed_loop_days: int
    closed_loop_totals_max_relative_error: float
    closed_loop_totals_audit_build: float
    closed_loop_by_total: dict[str, float]
    substeps: int
    audit_substeps: int
    reference_step_s: float
    gates: dict[str, float]
    passed: bool

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def audit_simulator(
    weather: DailyWeather,
    weather_source: str,
    *,
    quick: bool = False,
    stepper: Stepper | None = None,
    progress: Progress | None = None,
) -> AuditReport:
    """Measure the errors of the production stepper.

    Args:
        weather: a year of 365 days.
        weather_source: its name in the report.
        quick: 2 and 3 days instead of 20 and 60, same scenarios.
        stepper: the build to audit.
        progress: called with a stage name and the share done.
    """
    stepper = stepper or Stepper()
    report = progress or (lambda stage, share: None)
    open_days, closed_days = (2, 3) if quick else (20, 60)
    golden = load_golden("greenlight_rhs")
    rhs = max(parity.right_hand_side_errors(golden).values())
    report("right-hand side", 1.0)
    open_loop, open_fine = _open_loop(stepper, weather, open_days, report)
    closed, closed_fine = _closed_loop(stepper, weather, closed_days, report)
    gates = Gates()
    worst = max(closed.values())
    return AuditReport(
        rhs_max_relative_error=rhs,
        rhs_states=len(golden["states"]),
        weather=weather_source,
        open_loop_days=open_days,
        open_loop=open_loop,
        open_loop_audit_build=open_fine,
        closed_loop_days=closed_days,
        closed_loop_totals_max_relative_error=worst,
        closed_loop_totals_audit_build=max(closed_fine.values()),
        closed_loop_by_total=closed,
        substeps=stepper.settings.scheme.substeps,
        audit_substeps=AUDIT_SCHEME.substeps,
        reference_step_s=parity.REFERENCE_SECONDS,
        gates=gates._asdict(),
        passed=_passes(gates, rhs, open_loop, worst),
    )


def _passes(gates: Gates, rhs: float, rows: tuple[OpenLoopError, ...], closed: float) -> bool:
    return (
        rhs <= gates.rhs_relative
        and closed <= gates.closed_loop_totals
        and all(
            r.air_temperature_rmse_k <= gates.air_temperature_rmse_k
            and r.air_temperature_max_k <= gates.air_temperature_max_k
            and r.co2_rmse_mg_m3 <= gates.co2_rmse_mg_m3
            and r.totals_max_relative_error <= gates.open_loop_totals
            for r in rows
        )
    )


def audit_build(stepper: Stepper) -> Stepper:
    """The float64 build with more substeps of the same facility and rules."""
    settings: StepperSettings = replace(stepper.settings, scheme=AUDIT_SCHEME)
    return replace(stepper, settings=settings, precision="float64")


def scenario_parameters(scenarios: tuple[Scenario, ...], precision: str) -> LaneParameters:
    """Default site, exact readings, one lane per scenario."""
    table = np.array([_POLICIES[s.policy] for s in scenarios])
    settings = StepperSettings().controller
    policy = PolicyLanes(
        table[:, 0],
        table[:, 1],
        table[:, 2],
        np.array([lamp_off_tick(hours, settings) for hours in table[:, 3]]),
        table[:, 4],
        table[:, 5],
    )
    lanes = np.zeros(len(scenarios), np.int64)
    return lane_parameters(
        {}, policy, noise_seeds=None, compartments=lanes, dtype=np.dtype(precision)
    )


def scenario_starts(
    stepper: Stepper, scenarios: tuple[Scenario, ...], weather: DailyWeather
) -> LaneBatch:
    """The lanes at the first day of their windows, grown there by the production stepper."""
    parameters = scenario_parameters(scenarios, stepper.precision)
    batch = stepper.open(parameters)
    planted = np.array([-1 if s.planted_day is None else s.planted_day for s in scenarios])
    first = np.array([s.first_day for s in scenarios])
    waiting: dict[int, LaneBatch] = {}
    for day in range(int(first.max()) + 1):
        if np.any(planted == day):
            batch = batch.plant(planted == day)
        waiting |= {int(i): batch.take(np.array([i])) for i in np.flatnonzero(first == day)}
        records = weather.day_records(day)
        batch = stepper.advance_day(
            batch, parameters, np.repeat(records[:, :, None], len(scenarios), axis=2)
        ).batch
    return jax.tree.map(
        lambda *parts: np.concatenate(parts, axis=-1),
        *(waiting[i] for i in range(len(scenarios))),
    )


def window_weather(
    scenarios: tuple[Scenario, ...], weather: DailyWeather, days: int
) -> list[np.ndarray]:
    """Per day of the windows, the records of every scenario, [145, 5, lanes]."""
    return [
        np.stack([weather.day_records(s.first_day + d) for s in scenarios], axis=2)
        for d in range(days)
    ]


def as_precision(batch: LaneBatch, precision: str) -> LaneBatch:
    """The same lanes with states of another precision."""
    state = batch.state._replace(
        states=np.asarray(batch.state.states, precision),
        held=np.asarray(batch.state.held, precision),
    )
    return batch._replace(state=state)


def _recorded(
    stepper: Stepper,
    scenarios: tuple[Scenario, ...],
    start: LaneBatch,
    days: list[np.ndarray],
) -> tuple[LaneParameters, Recorded]:
    parameters = scenario_parameters(scenarios, stepper.precision)
    start = as_precision(start, stepper.precision)
    return parameters, parity.record_run(stepper, start, parameters, days)


def _open_loop(
    stepper: Stepper, weather: DailyWeather, days: int, report: Progress
) -> tuple[tuple[OpenLoopError, ...], tuple[OpenLoopError, ...]]:
    """Errors of the production and of the audit build under the same recorded commands."""
    start = scenario_starts(stepper, OPEN_LOOP, weather)
    records = window_weather(OPEN_LOOP, weather, days)
    parameters, run = _recorded(stepper, OPEN_LOOP, start, records)
    reference = parity.replay_open_loop(
        stepper, parameters, run, progress=lambda share: report("open loop", share)
    )
    production = parity.replay_with_stepper(stepper, parameters, run)
    fine = parity.replay_with_stepper(audit_build(stepper), parameters, run)
    return _open_loop_errors(production, reference), _open_loop_errors(fine, reference)


def _open_loop_errors(run: ReferenceRun, reference: ReferenceRun) -> tuple[OpenLoopError, ...]:
    air = run.state("tAir") - reference.state("tAir")
    co2 = run.state("co2Air") - reference.state("co2Air")
    totals = _relative_totals(run.booked, reference.booked).max(axis=0)
    return tuple(
        OpenLoopError(
            scenario=scenario.name,
            air_temperature_rmse_k=float(np.sqrt(np.mean(air[:, i] ** 2))),
            air_temperature_max_k=float(np.max(np.abs(air[:, i]))),
            co2_rmse_mg_m3=float(np.sqrt(np.mean(co2[:, i] ** 2))),
            totals_max_relative_error=float(totals[i]),
        )
        for i, scenario in enumerate(OPEN_LOOP)
    )


def _relative_totals(ours: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """|ours - exact| / max(exact, floor) for [5, lanes]."""
    return np.abs(ours - exact) / np.maximum(np.abs(exact), _TOTAL_FLOOR)


def _closed_loop(
    stepper: Stepper, weather: DailyWeather, days: int, report: Progress
) -> tuple[dict[str, float], dict[str, float]]:
    """Largest relative error of each total, for the production and the audit build."""
    start = scenario_starts(stepper, CLOSED_LOOP, weather)
    records = window_weather(CLOSED_LOOP, weather, days)
    parameters, run = _recorded(stepper, CLOSED_LOOP, start, records)
    reference = parity.run_closed_loop(
        stepper, parameters, run, progress=lambda share: report("closed loop", share)
    )
    _, fine = _recorded(audit_build(stepper), CLOSED_LOOP, start, records)
    both = []
    for each in (run, fine):
        worst = _relative_totals(each.booked, reference.booked).max(axis=1)
        both.append({name: float(e) for name, e in zip(LEDGER, worst, strict=True)})
    return both[0], both[1]
