"""How much work a study is, and how long it will take.

Seconds come from the study's own earlier jobs where there are any (Snakemake's timing files), else
from the rates below, which one run of a study of the paper's size gave on one core of an AMD EPYC
processor. They are expectations for a person who waits; no result depends on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from slowlab.plan.items import (
    CampaignItem,
    Shard,
    agents,
    campaign_items,
    packet_shards,
    scored_conditions,
    shards,
    side_wall_methods,
    sources,
)
from slowlab.plan.run_log import job_seconds
from slowlab.plan.study import NO_FEEDBACK, StudyConfig

LANES = 64
"""Compartments that are stepped together; a batch that is not full costs as much."""
LANE_DAYS_PER_S = 3_400.0
"""Scoring."""
CAMPAIGN_LANE_DAYS_PER_S = 2_000.0
"""Lower than in scoring: records are kept, journals written, methods think."""
_SUGGESTED = 14
"""Policies that a search of a site starts from, beside those of campaigns and its own."""
START_S = 4.0
"""Start of a job with the compiled step."""


@dataclass(frozen=True)
class JobEstimate:
    """One job that steps greenhouses.

    Attributes:
        name: as its timing file is called, without suffix.
        campaigns: campaigns, or recommendations to score.
        lane_days: compartment-days.
        seconds: expected time on one core.
        measured: whether an earlier run of this very job gave the time.
    """

    name: str
    campaigns: int
    lane_days: int
    seconds: float
    measured: bool = False


@dataclass(frozen=True)
class Calendar:
    """What a campaign and a scoring run cost.

    Attributes:
        days: length of both.
        compartments: of a facility.
        evaluation_years: years in which a recommendation is scored.
    """

    days: int = 365
    compartments: int = 4
    evaluation_years: int = 3


def campaign_job(item: CampaignItem, calendar: Calendar) -> JobEstimate:
    """What one campaign job costs."""
    name = f"{item.method}.{item.feedback}.{item.repeat}.{item.shard.name}"
    count = len(item.shard.sites)
    if item.feedback == NO_FEEDBACK:
        return JobEstimate(name, 0, 0, START_S)
    lanes = count * calendar.compartments
    return _job(name, count, lanes, calendar.days, CAMPAIGN_LANE_DAYS_PER_S)


def agent_job(
    study: StudyConfig, method: str, repeat: int, shard: Shard, calendar: Calendar
) -> JobEstimate:
    """What the campaigns of a language model cost beside the answering time of the model."""
    count = len(shard.sites) * len(study.feedback)
    lanes = count * calendar.compartments
    name = f"{method}.{repeat}.{shard.name}"
    return _job(name, count, lanes, calendar.days, CAMPAIGN_LANE_DAYS_PER_S)


def scoring_job(study: StudyConfig, method: str, shard: Shard, calendar: Calendar) -> JobEstimate:
    """What scoring one method on one shard costs at most: equal recommendations run once."""
    count = len(shard.sites) * len(scored_conditions(study, study.entry(method)))
    lanes = count * calendar.compartments * calendar.evaluation_years
    return _job(f"{method}.{shard.name}", count, lanes, calendar.days)


def reading_job(study: StudyConfig, reader: str, shard: Shard, calendar: Calendar) -> JobEstimate:
    """What scoring one reader costs at most: what a source recommended too was run before."""
    sites = set(shard.sites) & set(study.packet_sites)
    count = len(sites) * len(sources(study))
    lanes = count * calendar.compartments * calendar.evaluation_years
    return _job(f"{reader}.{shard.name}", count, lanes, calendar.days)


def oracle_job(study: StudyConfig, shard: Shard, calendar: Calendar) -> JobEstimate:
    """What the searches on one shard cost at most: most recommendations are alike or known."""
    assert study.oracle is not None
    search = study.oracle.search
    sites = len(set(shard.sites) & set(study.oracle_sites))
    again = len(set(shard.sites) & set(study.repeated_oracle_sites))
    given = sum(len(scored_conditions(study, entry)) for entry in study.methods)
    own = search.sobol + search.rounds * search.population
    finalists = (search.finalists + 2) * search.selection_years + calendar.evaluation_years
    screened = sites * (given + _SUGGESTED) + (sites + again) * own
    lanes = screened + (sites + again) * finalists * calendar.compartments
    return _job(shard.name, sites + again, lanes, calendar.days)


def side_wall_job(study: StudyConfig, shard: Shard, calendar: Calendar) -> JobEstimate:
    """What scoring with other side walls costs at most."""
    assert study.side_wall is not None
    sites = len(set(shard.sites) & set(study.side_wall_sites))
    count = sites * len(side_wall_methods(study)) * len(study.side_wall.exchange_w_m2_k)
    lanes = count * calendar.compartments * calendar.evaluation_years
    return _job(shard.name, count, lanes, calendar.days)


def estimates(study: StudyConfig, calendar: Calendar) -> dict[str, list[JobEstimate]]:
    """All jobs of a study that step greenhouses, by rule."""
    return {
        "run_campaigns": [
            campaign_job(item, calendar)
            for item in campaign_items(study)
            if item.method not in agents(study)
        ],
        "run_agents": [
            agent_job(study, method, repeat, shard, calendar)
            for method in agents(study)
            for repeat in range(study.repeats)
            for shard in shards(study)
        ],
        "score_method": [
            scoring_job(study, entry.name, shard, calendar)
            for entry in study.methods
            for shard in shards(study)
        ],
        "score_reader": [
            reading_job(study, reader.name, shard, calendar)
            for reader in study.readers
            for shard in packet_shards(study)
        ],
        "find_oracle": [
            oracle_job(study, shard, calendar)
            for shard in shards(study)
            if set(shard.sites) & set(study.oracle_sites)
        ],
        "rescore_side_wall": [
            side_wall_job(study, shard, calendar)
            for shard in shards(study)
            if set(shard.sites) & set(study.side_wall_sites)
        ],
    }


def with_timings(jobs: Iterable[JobEstimate], folder: Path) -> list[JobEstimate]:
    """The same jobs with the seconds that they took before, where a timing file says so."""
    return [_measured(job, folder / f"{job.name}.tsv") for job in jobs]


def _job(
    name: str, campaigns: int, lanes: int, days: int, rate: float = LANE_DAYS_PER_S
) -> JobEstimate:
    stepped = math.ceil(lanes / LANES) * LANES * days
    return JobEstimate(name, campaigns, lanes * days, START_S + stepped / rate)


def _measured(job: JobEstimate, path: Path) -> JobEstimate:
    seconds = job_seconds(path)
    return job if seconds is None else replace(job, seconds=seconds, measured=True)
