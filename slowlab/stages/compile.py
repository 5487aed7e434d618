"""Compile the step once before many jobs use it, into the user's cache."""

from __future__ import annotations

from pathlib import Path

from slowlab.canonical import canonical_json
from slowlab.evaluation.batching import simulator_identity
from slowlab.io import atomic_write_text
from slowlab.plan.study import Setting
from slowlab.stages.materials import Materials
from slowlab.world.facility import Facility, advance_together
from slowlab.world.simulator import Simulator


def compile_step(contract: str, sensors: str, target: Path) -> None:
    """Step one development campaign through its first day and write the identity of the build.

    Args:
        contract: name of the contract's file.
        sensors: name of the sensors' file.
        target: gets the identity as JSON.

    Raises:
        ConfigError: a file does not fit.
        OSError: the file cannot be written.
    """
    materials = Materials.load(
        Setting(study="compile", partition="development", contract=contract, sensors=sensors)
    )
    simulator = Simulator.build(materials.contract, materials.sensors)
    site = materials.sites([0])[0].for_campaign()
    year = materials.weather.year(site.campaign_year)
    for keep_records in (True, False):
        facility = Facility.open(simulator, site, year, keep_records=keep_records)
        advance_together(simulator, [(facility, materials.contract.calendar.ticks_per_day)])
    atomic_write_text(target, canonical_json(simulator_identity(simulator)) + "\n")
