"""Development runs are played through the real executor, and their exchanges are kept.

What is kept is what an agent with all feedback has seen: actions and replies, from which a
:class:`slowlab.campaign.history.History` is made again. So everything that is fitted later sees
what a method sees and nothing else.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowlab.campaign.executor import Executor
from slowlab.campaign.history import History
from slowlab.campaign.pool import Ending, Entry, PoolResult, Steps, run_pool
from slowlab.campaign.session import Session
from slowlab.canonical import canonical_bytes
from slowlab.development.runs import PARTITION, PlannedRun
from slowlab.io import atomic_write_bytes
from slowlab.tools.process_features import CHANNELS
from slowlab.world.contract import Contract
from slowlab.world.facility import Facility
from slowlab.world.partitions import draw_partition_site, load_partitions
from slowlab.world.sensors import SensorSpec
from slowlab.world.simulator import Simulator
from slowlab.world.site import Site, evaluation_draws
from slowlab.world.site_distribution import SiteDistribution
from slowlab.world.task import Feedback
from slowlab.world.weather_source import WeatherSource

FORMAT = "slowlab-development-runs-1"


@dataclass(frozen=True)
class Ground:
    """What development runs are played on.

    Attributes:
        contract: rules.
        sensors: instruments.
        distribution: what is random about sites.
        weather: weather years.
        simulator: the compiled step.
    """

    contract: Contract
    sensors: SensorSpec
    distribution: SiteDistribution
    weather: WeatherSource
    simulator: Simulator

    @classmethod
    def make(
        cls, contract: Contract, sensors: SensorSpec, distribution: SiteDistribution
    ) -> Ground:
        """With generated weather years."""
        simulator = Simulator.build(contract, sensors)
        return cls(contract, sensors, distribution, WeatherSource(), simulator)

    def site(self, number: int) -> Site:
        """A development site. Private."""
        return draw_partition_site(
            load_partitions(),
            PARTITION,
            number,
            self.distribution,
            source=self.weather.name,
            compartments=self.contract.facility.compartments,
        )

    def session(self, site: Site, feedback: Feedback = Feedback.FULL) -> Session:
        """A campaign on a site, in its campaign year."""
        facility = Facility.open(
            self.simulator,
            site,
            self.weather.year(site.campaign_year),
            keep_records=feedback.releases_records,
            noise=True,
        )
        executor = Executor.open(
            facility,
            self.contract,
            self.sensors,
            site.prices,
            feedback,
            self.contract.fixed_reference,
            draft=site.draft,
        )
        return Session(executor)


def site_in_year(site: Site, number: int) -> Site:
    """The site in another of its years, with compartments and noise drawn anew.

    Args:
        site: with its scoring and spare years.
        number: 0 for the campaign year, then its scoring years, then its spare years.

    Raises:
        IndexError: there are not so many years.
        SiteError: no draws for the year.
    """
    if number == 0:
        return site.for_campaign()
    year = (*site.evaluation_years, *site.spare_years)[number - 1]
    draw = evaluation_draws(site, year)
    changes = {
        "campaign_year": year,
        "parameters": draw.parameters,
        "noise_seed": draw.noise_seed,
    }
    return site.model_copy(update=changes).for_campaign()


def play_planned(run: PlannedRun, last_day: int) -> Steps:
    """Plant as planned; at the end read the totals, and the days of every channel in use."""
    now = 0
    for crop in run.crops:
        if crop.start_day > now:
            now = crop.start_day
            yield {"action": "advance", "day": now}
        policy = crop.policy.model_dump()
        yield {"action": "start", "unit": crop.unit, "policy": policy}
    yield {"action": "advance", "day": last_day}
    numbers = dict.fromkeys((crop.unit for crop in run.crops), 0)
    for crop in run.crops:
        numbers[crop.unit] += 1
        yield {"action": "observe", "unit": crop.unit, "run_index": numbers[crop.unit]}
    for unit in sorted(numbers):
        for channel in CHANNELS:
            window = {"start_day": 0, "end_day": last_day, "resolution": "daily"}
            yield {"action": "observe", "unit": unit, "variable": channel, **window}


def play_runs(ground: Ground, runs: Sequence[PlannedRun]) -> list[dict[str, Any]]:
    """Play runs together; one record for each, as plain data.

    Raises:
        CollectError: a method of ours raised; a bug.
    """
    entries = []
    for run in runs:
        session = ground.session(site_in_year(ground.site(run.site), run.number))
        steps = play_planned(run, ground.contract.calendar.campaign_days)
        entries.append(Entry(run.name, session, steps, settle=False))
    results = run_pool(entries)
    return [
        _record(run, entry.session.executor.history, result)
        for run, entry, result in zip(runs, entries, results, strict=True)
    ]


class CollectError(RuntimeError):
    """A run that ended by a fault of the development stage."""


def _record(run: PlannedRun, history: History, result: PoolResult) -> dict[str, Any]:
    if result.ending is Ending.METHOD_ERROR:
        raise CollectError(f"{run.name}: {result.error}")
    seen = [{"action": item.action, "reply": item.reply} for item in history.exchanges]
    return {
        "site": run.site,
        "run": run.number,
        "layout": run.layout.value,
        "ending": result.ending.value,
        "task": history.task,
        "exchanges": seen,
    }


def write_runs(path: str | Path, records: Sequence[Mapping[str, Any]], build: object) -> Path:
    """Write records, one a line after a header, compressed and the same on every run."""
    header = {"format": FORMAT, "build": build, "runs": len(records)}
    lines = b"".join(canonical_bytes(item) + b"\n" for item in (header, *records))
    return atomic_write_bytes(path, gzip.compress(lines, compresslevel=6, mtime=0))


def read_runs(path: str | Path) -> Iterator[tuple[dict[str, Any], History]]:
    """The records of a file and the history that each holds.

    Raises:
        CollectError: another format.
        OSError: the file cannot be read.
    """
    with gzip.open(path, "rt", encoding="utf-8") as file:
        if json.loads(next(file)).get("format") != FORMAT:
            raise CollectError(f"{path}: is not of the form {FORMAT}")
        for line in file:
            record = json.loads(line)
            yield record, history_of(record)


def read_build(path: str | Path) -> dict[str, Any]:
    """The simulator build that made a file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.loads(next(file))["build"]


def history_of(record: Mapping[str, Any]) -> History:
    """The history of a record, made again from its exchanges."""
    history = History(record["task"])
    for item in record["exchanges"]:
        history.add(item["action"], item["reply"])
    return history
