"""The compiled stepper against GreenLight's equations, tightly integrated."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from slowlab.greenlight import audit, parity
from slowlab.greenlight.audit import Gates, audit_build, audit_simulator
from slowlab.greenlight.golden import load_golden
from slowlab.greenlight.integrator import Scheme
from slowlab.greenlight.model import Facility
from slowlab.greenlight.stepper import Stepper
from slowlab.greenlight.two_days import as_recorded, two_day_errors
from slowlab.weather.generator import generate_year


@pytest.fixture(scope="module")
def two_days() -> tuple:
    stepper = Stepper()
    return two_day_errors(load_golden("greenlight_two_days"), stepper, audit_build(stepper))


def test_rk4_reproduces_greenlight_tight_solution(two_days: tuple) -> None:
    """Our graph integrated by RK4 and GreenLight's own model at 1e-10 are the same trajectory."""
    exact = two_days[3]
    assert exact.air_temperature_max_k < 1e-4
    assert exact.co2_rmse_mg_m3 < 1e-4
    assert exact.harvest_relative < 1e-7
    assert exact.transpiration_relative < 1e-6


def test_production_stepper_is_within_its_gates_of_greenlight(two_days: tuple) -> None:
    own, production = two_days[:2]
    gates = Gates()
    assert production.air_temperature_rmse_k <= gates.air_temperature_rmse_k
    assert production.air_temperature_max_k <= gates.air_temperature_max_k
    assert production.co2_rmse_mg_m3 <= gates.co2_rmse_mg_m3
    assert production.harvest_relative <= gates.open_loop_totals
    assert own.air_temperature_rmse_k < production.air_temperature_rmse_k


def test_more_substeps_come_closer(two_days: tuple) -> None:
    _, production, fine, exact = two_days
    assert fine.air_temperature_rmse_k < 0.5 * production.air_temperature_rmse_k
    assert exact.air_temperature_rmse_k < 0.01 * fine.air_temperature_rmse_k


@pytest.mark.parametrize(
    "fault",
    [
        {"side_wall_form": "neighbour_minus_indoor"},
        {"constants": dict(Facility().constants) | {"aRoof": 2.88}},
        {"walls": Facility().walls[:2]},
    ],
)
def test_a_wrong_facility_leaves_greenlights_trajectory(fault: dict) -> None:
    """The comparison can fail: another wall form, vent or wall count is far outside the gate."""
    stepper = Stepper(facility=dataclasses.replace(Facility(), **fault))
    golden = load_golden("greenlight_two_days")
    parameters, recorded = as_recorded(golden)
    run = parity.replay_with_stepper(stepper, parameters, recorded)
    names = [str(n) for n in golden["state_names"]]
    exact = golden["tight_states"][1:, names.index("tAir")]
    assert np.sqrt(np.mean((run.state("tAir")[:, 0] - exact) ** 2)) > 5 * 0.02


def test_reference_step_must_divide_the_control_step() -> None:
    golden = load_golden("greenlight_two_days")
    parameters, recorded = as_recorded(golden)
    with pytest.raises(ValueError, match=r"7\.0 s does not divide 300 s"):
        parity.replay_open_loop(Stepper(), parameters, recorded, seconds=7.0)


def test_a_coarse_integrator_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three substeps are too few: the audit must say so."""
    monkeypatch.setattr(audit, "OPEN_LOOP", audit.OPEN_LOOP[:1])
    monkeypatch.setattr(audit, "CLOSED_LOOP", audit.CLOSED_LOOP[:1])
    monkeypatch.setattr(audit, "QUICK_DAYS", (1, 1))
    monkeypatch.setattr(audit, "ENSEMBLE", 1)
    coarse = dataclasses.replace(Stepper().settings, scheme=Scheme(substeps=3, ratio=1.0))
    year = generate_year(0)
    report = audit_simulator(year, year.source, quick=True, stepper=Stepper(settings=coarse))
    assert not report.passed
    assert report.open_loop[0].air_temperature_rmse_k > Gates().air_temperature_rmse_k
    assert report.weather == year.source


@pytest.mark.slow
def test_full_audit() -> None:
    """20 days open loop in nine scenarios over all seasons, 60 days closed loop in five.

    The heat of a summer crop that hardly heats misses the closed-loop gate, and the verdict must
    then say so. Every other gate, and the gate on every other total, is met.
    """
    year = generate_year(0)
    report = audit_simulator(year, year.source)
    gates = Gates()
    limit = gates.closed_loop_totals
    assert limit is not None
    assert report.rhs_max_relative_error <= gates.rhs_relative
    for row in report.open_loop:
        assert row.air_temperature_rmse_k <= gates.air_temperature_rmse_k
        assert row.air_temperature_max_k <= gates.air_temperature_max_k
        assert row.co2_rmse_mg_m3 <= gates.co2_rmse_mg_m3
        assert row.totals_max_relative_error <= gates.open_loop_totals
    assert report.closed_loop_totals_max_share_of_typical_use <= limit, report.as_json()
    assert report.passed == (report.closed_loop_totals_max_relative_error <= limit)
    for total in report.closed_loop:
        if total.total != "heat_kwh_m2" and total.reference > 0.01:
            assert abs(total.value / total.reference - 1) <= limit, total
    assert len(report.open_loop) >= 5
    assert any("crop-free" in row.scenario for row in report.open_loop)
    for coarse, fine in zip(report.open_loop, report.open_loop_audit_build, strict=True):
        assert fine.air_temperature_rmse_k < coarse.air_temperature_rmse_k
