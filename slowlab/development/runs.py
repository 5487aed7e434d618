"""Which development runs there are: sites, years, layouts, policies. Pure; nothing is simulated.

Source: SlowLab, process predictor and kernel, data. Ours: runs with like crops, from which the
noise between compartments is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from slowlab.development.config import DevelopmentConfig, Layout
from slowlab.seeds import SeedKey
from slowlab.world.contract import Contract
from slowlab.world.policy import POLICY_FIELDS, Policy, PolicyBounds, decode, from_unit

PARTITION = "development"
_DECIMALS = 2


@dataclass(frozen=True)
class PlannedCrop:
    """A crop to be planted.

    Attributes:
        unit: compartment.
        start_day: day of planting.
        policy: its policy.
    """

    unit: int
    start_day: int
    policy: Policy


@dataclass(frozen=True)
class PlannedRun:
    """One run.

    Attributes:
        site: development site.
        number: number of the run on its site; it chooses the weather year.
        layout: how it plants.
        crops: by start day and compartment.
    """

    site: int
    number: int
    layout: Layout
    crops: tuple[PlannedCrop, ...]

    @property
    def name(self) -> str:
        """Unique name."""
        return f"site-{self.site:03d}-run-{self.number}"


def planned_runs(config: DevelopmentConfig, contract: Contract) -> list[PlannedRun]:
    """All runs, site by site."""
    return [
        plan_run(config, contract, site, number, layout)
        for site in config.runs.sites
        for number, layout in enumerate(config.runs.layouts)
    ]


def jobs(config: DevelopmentConfig, contract: Contract) -> list[list[PlannedRun]]:
    """The runs in jobs of those that are stepped together."""
    runs, size = planned_runs(config, contract), config.runs.runs_per_job
    return [runs[first : first + size] for first in range(0, len(runs), size)]


def plan_run(
    config: DevelopmentConfig, contract: Contract, site: int, number: int, layout: Layout
) -> PlannedRun:
    """One run, from a stream of its own."""
    rng = SeedKey(config.id, PARTITION, site, layout.value, number, "runs").generator()
    draw = _policies(rng, contract.policy)
    units, calendar = range(contract.facility.compartments), contract.calendar
    second = calendar.crop_days + calendar.cleanup_days
    if layout is Layout.SINGLE:
        days = rng.integers(0, calendar.latest_start_day, len(units), endpoint=True).tolist()
        crops = [PlannedCrop(unit, days[unit], next(draw)) for unit in units]
    elif layout is Layout.REPLICATE:
        waves = [(0, next(draw)), (second, next(draw))]
        crops = [PlannedCrop(unit, day, policy) for day, policy in waves for unit in units]
    else:
        crops = [PlannedCrop(unit, day, next(draw)) for day in (0, second) for unit in units]
    ordered = sorted(crops, key=lambda crop: (crop.start_day, crop.unit))
    return PlannedRun(site, number, layout, tuple(ordered))


def _policies(rng: np.random.Generator, bounds: PolicyBounds) -> Iterator[Policy]:
    """Policies, uniform in the box where the night is not warmer than the day."""
    while True:
        encoded = from_unit(rng.random((1, len(POLICY_FIELDS))), POLICY_FIELDS, bounds)
        if encoded.is_feasible()[0]:
            policy = decode(encoded)[0]
            yield Policy(**{k: round(getattr(policy, k), _DECIMALS) for k in POLICY_FIELDS})
