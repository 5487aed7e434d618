"""Development runs on a fake facility whose meters follow from policies, in milliseconds."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import ClassVar

import numpy as np

from slowlab.campaign.executor import Executor
from slowlab.campaign.pool import Entry, run_pool
from slowlab.campaign.session import Session
from slowlab.config import override
from slowlab.development.collect import play_planned
from slowlab.development.config import DevelopmentConfig, load_development
from slowlab.development.dataset import ProcessData, age_grid, history_data
from slowlab.development.fit_predictor import fit_predictor, validate
from slowlab.development.runs import PlannedRun, plan_run
from slowlab.tools.artifacts import ArtifactFolder, write_artifact
from slowlab.world.contract import load_contract
from slowlab.world.economics import LedgerTotals
from slowlab.world.facility_records import Series
from slowlab.world.policy import POLICY_FIELDS
from slowlab.world.sensors import load_sensors
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import FakeFacility
from tests.campaign.sessions import FakeStepping

_RULES = load_contract()
# Hourly readings, which no contract allows: twelve times fewer to carry through the executor.
CONTRACT = _RULES.model_copy(
    update={"calendar": _RULES.calendar.model_copy(update={"tick_seconds": 3600})}
)
DAY = CONTRACT.calendar.ticks_per_day
_METERS = {
    "cumulative_harvest_fresh_equivalent": "harvest_kg_m2",
    "heating_energy": "heat_kwh_m2",
    "lighting_energy": "light_kwh_m2",
    "co2_dosed": "co2_kg_m2",
}


class MeteredFacility(FakeFacility):
    """Meters are the sum of what crops have used; each policy field has its own, unequal effect."""

    ticks_per_day: ClassVar[int] = DAY

    def _totals(self, crop, tick):
        days, p = (tick - crop.start_tick) / DAY, crop.policy
        season = 1.0 + 0.4 * np.cos(2 * np.pi * crop.start_tick / DAY / 365)
        warmth = (p.day_temperature_c - 18) + 0.4 * (p.night_temperature_c - 15)
        growth = 1.2 - 0.05 * warmth + 0.03 * p.supplemental_light_hours * season
        growth += 0.0003 * p.co2_target_ppm - 0.004 * (90 - p.vent_rh_threshold_pct)
        growth *= self.growth * (1.0 + 0.02 * crop.unit)
        return LedgerTotals(
            harvest_kg_m2=0.25 * growth * max(0.0, days - 60.0),
            heat_kwh_m2=days * (0.3 + 0.08 * warmth) / season,
            light_kwh_m2=days * p.supplemental_light_hours / 20.0,
            co2_kg_m2=days * p.co2_target_ppm / 10_000 * (1 + 0.1 * p.vent_temperature_offset_c),
            transpiration_kg_m2=days,
            active_days=days,
        )

    def series(self, unit, channel, start_tick, end_tick):
        """Readings at every tick; an empty compartment is heated a little."""
        ticks = np.arange(start_tick, end_tick + 1, dtype=np.int32)
        if channel not in _METERS:
            return Series(ticks, 1.0 + 0.01 * unit + ticks / DAY / 400.0)
        values = np.zeros(len(ticks))
        empty = ticks.astype(np.float64)
        for crop in self.grown[unit]:
            until = crop.end_tick or self.tick
            empty -= np.clip(ticks - crop.start_tick, 0, until - crop.start_tick)
            grid = np.arange(crop.start_tick, until + 1, DAY // 2)
            grid = np.unique([*grid, until])
            spent = [getattr(self._totals(crop, int(t)), _METERS[channel]) for t in grid]
            values += np.interp(ticks, grid, spent, left=0.0)
        values += 0.02 * empty if channel == "heating_energy" else 0.0
        return Series(ticks, values)


def open_session(site: int, stepping: FakeStepping) -> Session:
    """A campaign on a site, which differs by growth and prices."""
    rng = np.random.default_rng(site)
    prices = CONTRACT.economics.default_prices.model_copy(
        update={"fruit_eur_per_kg_fresh": float(1.5 + rng.random())}
    )
    facility = MeteredFacility(CONTRACT, prices, growth=float(0.9 + 0.2 * rng.random()))
    executor = Executor.open(
        facility,
        CONTRACT,
        load_sensors(),
        prices,
        Feedback.FULL,
        CONTRACT.fixed_reference,
    )
    return Session(executor, stepping=stepping)


@functools.cache
def small_config() -> DevelopmentConfig:
    """Eight sites, few ages."""
    return override(
        load_development(),
        {
            "runs.last_site": 107,
            "runs.layouts": ["two_wave", "single", "replicate"],
            "predictor.age_step_days": 20,
            "predictor.table_ages_days": [30, 90],
        },
    )


def played(runs: list[PlannedRun]):
    """Records and histories of runs."""
    stepping = FakeStepping()
    entries = [
        Entry(run.name, open_session(run.site, stepping), play_planned(run, 365), settle=False)
        for run in runs
    ]
    assert {result.ending.value for result in run_pool(entries)} == {"left_open"}
    return [
        (
            {"site": run.site, "run": run.number, "layout": run.layout.value},
            entry.session.executor.history,
        )
        for run, entry in zip(runs, entries, strict=True)
    ]


@functools.cache
def small_data() -> ProcessData:
    """Tables of all runs of the small configuration."""
    config = small_config()
    runs = [
        plan_run(config, CONTRACT, site, number, layout)
        for site in config.runs.sites
        for number, layout in enumerate(config.runs.layouts)
    ]
    return history_data(played(runs), age_grid(10, 180, config.predictor.age_step_days))


def fitted_folder(folder: Path, data: ProcessData, fields=POLICY_FIELDS) -> ArtifactFolder:
    """The predictor of some data as an artifact."""
    config = small_config().predictor
    content = fit_predictor(data, CONTRACT, config, validate(data, CONTRACT, config))
    write_artifact(
        folder / "predictor.json",
        contract=CONTRACT.id,
        fields=fields,
        provenance={"provisional": False},
        content=content.model_dump(mode="json"),
    )
    return ArtifactFolder(folder, CONTRACT.id)
