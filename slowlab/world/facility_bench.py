"""Benchmark of whole campaigns: development sites, crops from day to day, readings, books.

Campaigns are shared out among processes, which need to know nothing of each other, because no
result depends on who is stepped together. Only stepping is timed; each process has compiled
before and all begin at the same moment.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

from slowlab.greenlight.bench import worker_message
from slowlab.world.contract import load_contract
from slowlab.world.facility import Facility, advance_together
from slowlab.world.facility_books import UnitPhase
from slowlab.world.partitions import draw_partition_site, load_partitions
from slowlab.world.sensors import load_sensors
from slowlab.world.simulator import Simulator
from slowlab.world.site_distribution import load_sites
from slowlab.world.weather_source import WeatherSource

# Clocks stop this often, as those of agents do; crops are then planted wherever possible.
_STOP_DAYS = 7


@dataclass(frozen=True)
class CampaignBench:
    """Measured figures.

    Attributes:
        campaigns: number of campaigns.
        days: length of each, days.
        records: whether readings were kept.
        processes: among which the campaigns were shared out.
        stepping_s: from the common beginning to the end of the last process, s.
        cpu_s: processor time of all processes, s.
        lane_days_per_s: compartment-days per second, all processes together.
        lane_days_per_cpu_s: the same per second of processor time, whoever else uses the machine.
        memory_mb_per_campaign: growth of a process while stepping, per campaign.
        peak_memory_mb: of the largest process.
    """

    campaigns: int
    days: int
    records: bool
    processes: int
    stepping_s: float
    cpu_s: float
    lane_days_per_s: float
    lane_days_per_cpu_s: float
    memory_mb_per_campaign: float
    peak_memory_mb: float

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def bench_campaigns(
    *, campaigns: int = 48, days: int = 365, records: bool = True, processes: int = 2
) -> CampaignBench:
    """Measure campaigns on the original task.

    Args:
        campaigns: number of campaigns.
        days: length of each, days.
        records: whether readings are kept.
        processes: among which campaigns are shared out.

    Raises:
        BenchError: a measuring process failed.
    """
    shares = [len(range(first, campaigns, processes)) for first in range(processes)]
    workers = [_start(first, share, days, records) for first, share in enumerate(shares) if share]
    before = [worker_message(worker) for worker in workers]
    begun = time.perf_counter()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    after = [worker_message(worker) for worker in workers]
    elapsed = time.perf_counter() - begun
    for worker in workers:
        worker.communicate()
    grown = [b["memory_mb"] - a["memory_mb"] for a, b in zip(before, after, strict=True)]
    cpu, lane_days = sum(m["cpu_s"] for m in after), sum(m["lane_days"] for m in after)
    return CampaignBench(
        campaigns=campaigns,
        days=days,
        records=records,
        processes=len(workers),
        stepping_s=elapsed,
        cpu_s=cpu,
        lane_days_per_s=lane_days / elapsed,
        lane_days_per_cpu_s=lane_days / cpu,
        memory_mb_per_campaign=sum(grown) / campaigns,
        peak_memory_mb=max(m["memory_mb"] for m in after),
    )


def _start(first: int, campaigns: int, days: int, records: bool) -> subprocess.Popen[str]:
    numbers = ["--first", str(first), "--campaigns", str(campaigns), "--days", str(days)]
    command = [sys.executable, "-m", "slowlab.world.facility_bench", *numbers]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*command, "--records"] if records else command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
    )


def _open(first: int, campaigns: int, records: bool) -> list[Facility]:
    """Facilities on development sites in synthetic years."""
    contract, source = load_contract(), WeatherSource()
    simulator = Simulator.build(contract, load_sensors())
    partitions, distribution = load_partitions(), load_sites()
    facilities = []
    for index in range(first * 100, first * 100 + campaigns):
        site = draw_partition_site(
            partitions, "development", index, distribution, source=source.name,
            compartments=contract.facility.compartments,
        )  # fmt: skip
        year = source.year(site.campaign_year)
        facilities.append(Facility.open(simulator, site, year, keep_records=records))
    return facilities


def _step(facilities: list[Facility], day: int) -> None:
    """Plant wherever a compartment is idle, then step all campaigns to a day."""
    contract = facilities[0].simulator.contract
    policies = list(contract.evaluation.candidates.values())
    for number, facility in enumerate(facilities):
        for unit in range(facility.compartments):
            if facility.status(unit).phase is UnitPhase.IDLE and not facility.finished:
                facility.plant(unit, policies[(number + unit) % len(policies)])
    ticks = day * facilities[0].ticks_per_day
    advance_together(facilities[0].simulator, [(facility, ticks) for facility in facilities])


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Run one measuring process; talks JSON lines."""
    parser = argparse.ArgumentParser()
    for name in ("first", "campaigns", "days"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--records", action="store_true")
    options = parser.parse_args()
    warm_up = _open(options.first, 1, options.records)
    _step(warm_up, 1)
    facilities = _open(options.first, options.campaigns, options.records)
    print(json.dumps({"memory_mb": _memory_mb()}), flush=True)
    sys.stdin.readline()
    cpu = time.process_time()
    for day in [*range(_STOP_DAYS, options.days, _STOP_DAYS), options.days]:
        _step(facilities, day)
    lanes = sum(facility.compartments for facility in facilities)
    message = {"cpu_s": time.process_time() - cpu, "memory_mb": _memory_mb()}
    print(json.dumps(message | {"lane_days": lanes * options.days}), flush=True)


if __name__ == "__main__":
    main()
