"""The simulator's own proof: one report that measures its errors and holds them to gates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from slowlab.greenlight import parity
from slowlab.greenlight.batch import LaneBatch
from slowlab.greenlight.day import StepperSettings
from slowlab.greenlight.golden import load_golden
from slowlab.greenlight.integrator import Scheme
from slowlab.greenlight.lanes import LEDGER, LaneParameters
from slowlab.greenlight.model import STATES
from slowlab.greenlight.parity import Recorded, ReferenceRun
from slowlab.greenlight.scenarios import (
    CLOSED_LOOP,
    OPEN_LOOP,
    DailyWeather,
    Scenario,
    as_precision,
    scenario_parameters,
    scenario_starts,
    window_weather,
)
from slowlab.greenlight.stepper import Stepper
from slowlab.greenlight.two_days import TwoDayError, two_day_errors

Progress = Callable[[str, float], None]
# Audit build: more and more even substeps, in float64.
AUDIT_SCHEME = Scheme(substeps=40, ratio=1.05)
# Days compared in open and in closed loop.
FULL_DAYS = (20, 60)
QUICK_DAYS = (2, 10)
# Closed loop: so many nearly equal starts per scenario, this far apart.
ENSEMBLE = 4
_PERTURBATION_K = 0.01
# What the reference policy uses and gives per 180-day crop (published means of the original study
# for heat, light and CO2; own runs at that level for harvest and transpiration). Beside its plain
# relative error, which is judged, a closed-loop total has its error as a share of the total or of
# this use over as many days, whichever is larger: it says what the error is worth to a score.
_CROP_DAYS = 180
TYPICAL_CROP: Mapping[str, float] = {
    "heat_kwh_m2": 139.0,
    "light_kwh_m2": 109.0,
    "co2_kg_m2": 14.1,
    "harvest_dry_kg_m2": 2.1,
    "transpiration_kg_m2": 410.0,
}
# Totals below this are compared absolutely (kWh or kg per m2): a young crop harvests nothing.
_TOTAL_FLOOR = 0.01


class Gates(NamedTuple):
    """Largest errors the production build may have; None where nothing is judged."""

    rhs_relative: float = 1e-10
    air_temperature_rmse_k: float = 0.02
    air_temperature_max_k: float = 0.2
    co2_rmse_mg_m3: float = 2.0
    open_loop_totals: float = 1e-3
    closed_loop_totals: float | None = 2e-3


@dataclass(frozen=True)
class OpenLoopError:
    """Errors against RK4 with the same commands; see ``audit_simulator``."""

    scenario: str
    air_temperature_rmse_k: float
    air_temperature_max_k: float
    co2_rmse_mg_m3: float
    totals_max_relative_error: float


@dataclass(frozen=True)
class ClosedLoopTotal:
    """An ensemble-mean total against RK4's, and its error as a share (see ``TYPICAL_CROP``)."""

    scenario: str
    total: str
    value: float
    reference: float
    error_of_typical_use: float


@dataclass(frozen=True)
class AuditReport:
    """What was measured, on what, against which gates.

    ``open_loop_audit_build`` and ``closed_loop_totals_audit_build`` repeat the comparison for the
    float64 build with more substeps: they show how much of the error is the integrator's.
    ``greenlight_two_days`` stands GreenLight's own solver error beside ours.
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
    closed_loop_totals_max_share_of_typical_use: float
    closed_loop: tuple[ClosedLoopTotal, ...]
    greenlight_two_days: tuple[TwoDayError, ...]
    substeps: int
    audit_substeps: int
    reference_step_s: float
    gates: dict[str, float | None]
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
        quick: 2 and 10 days instead of 20 and 60, same scenarios; the closed loop is not judged.
        stepper: the build to audit.
        progress: called with a stage name and the share done.
    """
    stepper = stepper or Stepper()
    report = progress or (lambda stage, share: None)
    open_days, closed_days = QUICK_DAYS if quick else FULL_DAYS
    golden = load_golden("greenlight_rhs")
    rhs = max(parity.right_hand_side_errors(golden).values())
    report("right-hand side", 1.0)
    two_days = two_day_errors(load_golden("greenlight_two_days"), stepper, audit_build(stepper))
    report("two days beside GreenLight", 1.0)
    open_loop, open_fine = _open_loop(stepper, weather, open_days, report)
    closed, closed_fine = _closed_loop(stepper, weather, closed_days, report)
    # Ten days of a heating total are too few to judge: a quick run reports closed-loop errors only.
    gates = Gates(closed_loop_totals=None) if quick else Gates()
    worst = _worst(closed)
    return AuditReport(
        rhs_max_relative_error=rhs,
        rhs_states=len(golden["states"]),
        weather=weather_source,
        open_loop_days=open_days,
        open_loop=open_loop,
        open_loop_audit_build=open_fine,
        closed_loop_days=closed_days,
        closed_loop_totals_max_relative_error=worst,
        closed_loop_totals_audit_build=_worst(closed_fine),
        closed_loop_totals_max_share_of_typical_use=max(t.error_of_typical_use for t in closed),
        closed_loop=closed,
        greenlight_two_days=two_days,
        substeps=stepper.settings.scheme.substeps,
        audit_substeps=AUDIT_SCHEME.substeps,
        reference_step_s=parity.REFERENCE_SECONDS,
        gates=gates._asdict(),
        passed=_passes(gates, rhs, open_loop, worst),
    )


def _passes(gates: Gates, rhs: float, rows: tuple[OpenLoopError, ...], closed: float) -> bool:
    return (
        rhs <= gates.rhs_relative
        and (gates.closed_loop_totals is None or closed <= gates.closed_loop_totals)
        and all(
            r.air_temperature_rmse_k <= gates.air_temperature_rmse_k
            and r.air_temperature_max_k <= gates.air_temperature_max_k
            and r.co2_rmse_mg_m3 <= gates.co2_rmse_mg_m3
            and r.totals_max_relative_error <= gates.open_loop_totals
            for r in rows
        )
    )


def _worst(totals: tuple[ClosedLoopTotal, ...]) -> float:
    """Largest relative error of a total that is not next to nothing."""
    return max(
        abs(t.value - t.reference) / t.reference for t in totals if t.reference > _TOTAL_FLOOR
    )


def audit_build(stepper: Stepper) -> Stepper:
    """The float64 build with more substeps of the same facility and rules."""
    settings: StepperSettings = replace(stepper.settings, scheme=AUDIT_SCHEME)
    return replace(stepper, settings=settings, precision="float64")


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
) -> tuple[tuple[ClosedLoopTotal, ...], tuple[ClosedLoopTotal, ...]]:
    """Ensemble means of the totals, of the production and of the audit build, against RK4."""
    members = tuple(s for s in CLOSED_LOOP for _ in range(ENSEMBLE))
    start = _perturbed(scenario_starts(stepper, members, weather))
    records = window_weather(members, weather, days)
    parameters, run = _recorded(stepper, members, start, records)
    reference = parity.run_closed_loop(
        stepper, parameters, run, progress=lambda share: report("closed loop", share)
    )
    _, fine = _recorded(audit_build(stepper), members, start, records)
    exact = _ensemble_mean(reference.booked)
    return tuple(
        _closed_loop_totals(_ensemble_mean(each.booked), exact, days) for each in (run, fine)
    )


def _perturbed(batch: LaneBatch) -> LaneBatch:
    """Ensemble members start a hundredth of a kelvin apart, which chaos soon makes independent."""
    states = np.array(batch.state.states)
    member = np.arange(batch.lanes) % ENSEMBLE
    states[STATES.index("tAir")] += (_PERTURBATION_K * member).astype(states.dtype)
    return batch._replace(state=batch.state._replace(states=states))


def _ensemble_mean(booked: np.ndarray) -> np.ndarray:
    """[5, scenarios * members] -> [5, scenarios]."""
    return booked.reshape(len(LEDGER), -1, ENSEMBLE).mean(axis=2)


def _closed_loop_totals(
    ours: np.ndarray, exact: np.ndarray, days: int
) -> tuple[ClosedLoopTotal, ...]:
    typical = np.array([TYPICAL_CROP[name] for name in LEDGER]) * days / _CROP_DAYS
    return tuple(
        ClosedLoopTotal(
            scenario=scenario.name,
            total=name,
            value=float(ours[row, i]),
            reference=float(exact[row, i]),
            error_of_typical_use=float(
                abs(ours[row, i] - exact[row, i]) / max(exact[row, i], typical[row])
            ),
        )
        for i, scenario in enumerate(CLOSED_LOOP)
        for row, name in enumerate(LEDGER)
    )
