"""Run the campaigns of one job: one method, condition and repeat on a shard of sites.

All campaigns of a job are stepped together. Each has a fresh method, its own random numbers and its
own journal, so a campaign's bytes do not depend on its company.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from slowlab.campaign.errors import Reply
from slowlab.campaign.history import History
from slowlab.campaign.journal import Durability, Journal
from slowlab.campaign.journal_format import head_path
from slowlab.campaign.opening import CampaignSpec, Opener
from slowlab.campaign.pool import Ending, Entry, PoolResult, run_pool
from slowlab.campaign.session import FailureKind, ToolCall, ToolHandler
from slowlab.campaign.settlement import CampaignStatus
from slowlab.canonical import canonical_json
from slowlab.evaluation.recommendations import (
    FORMAT,
    Recommendation,
    RecommendationFile,
    from_settlement,
)
from slowlab.io import atomic_write_text
from slowlab.methods._base import Campaign, Method, StaticMethod, watched
from slowlab.methods._external import build_external
from slowlab.methods._registry import build_method
from slowlab.plan.study import MethodEntry
from slowlab.seeds import SeedKey
from slowlab.stages.materials import Materials
from slowlab.stages.progress import PoolReporter
from slowlab.tools.toolbox import Toolbox
from slowlab.world.task import Feedback, site_task

COMMANDS_AT_ONCE = 8
"""Programs that think at the same time; no result depends on it."""
RETRIES = 2
"""How often a campaign is run again after a failure of the machinery."""
_FINAL = (FailureKind.FIREWALL, FailureKind.SPENDING_CAP)


class MethodFailedError(RuntimeError):
    """A registered method raised an exception: a fault to be mended, not a result."""


@dataclass(frozen=True)
class CampaignJob:
    """What one job runs.

    Attributes:
        entry: the method.
        feedback: feedback condition; ``none`` for a method without campaigns.
        repeat: number of the repeat.
        sites: numbers of the sites.
    """

    entry: MethodEntry
    feedback: str
    repeat: int
    sites: tuple[int, ...]


@dataclass(frozen=True)
class CampaignRecord:
    """One campaign and its end.

    Attributes:
        site: number of the site.
        history: everything the method has seen.
        result: how it ended.
        tool_uses: name of each tool that was used and whether it answered.
    """

    site: int
    history: History
    result: PoolResult
    tool_uses: tuple[tuple[str, bool], ...]

    @property
    def ending(self) -> str:
        """How the method ended, in one word; of a program, how it ended itself."""
        ending, returned = self.result.ending, self.result.returned
        return str(returned) if ending is Ending.SETTLED and returned else ending.value

    @property
    def worth_another_try(self) -> bool:
        """Whether the machinery failed and may not fail again."""
        failure = self.result.failure
        final = failure is not None and failure.kind in _FINAL
        return self.result.ending is Ending.INFRASTRUCTURE_FAILURE and not final


@dataclass
class CountedTools:
    """Tools that keep count of their use.

    Attributes:
        answer: the tools.
        uses: name of each tool that was used and whether it answered.
    """

    answer: ToolHandler
    uses: list[tuple[str, bool]] = field(default_factory=list)

    def __call__(self, call: ToolCall) -> Reply:
        """Answer a call."""
        reply = self.answer(call)
        self.uses.append((call.name, reply.ok))
        return reply


def run_campaigns(materials: Materials, job: CampaignJob, folder: Path) -> list[CampaignRecord]:
    """Run all campaigns of a job; journals go to ``folder/journals``, one file a site.

    Args:
        materials: what the study's setting names.
        job: what to run; its method must run campaigns.
        folder: made anew.

    Returns:
        One record for each site, in order.

    Raises:
        MethodFailedError: a method raised an exception; names the site and shows the traceback.
        PartitionError, CommitmentError, WeatherError, ArtifactError, ConfigError: as their modules
            say.
        OSError: a journal cannot be written.
    """
    shutil.rmtree(folder / "journals", ignore_errors=True)
    opener = Opener.make(materials.partitions, materials.weather)
    records = with_retries(
        lambda sites: _run_together(materials, job, opener, sites, folder), job.sites
    )
    for site, record in records.items():
        stop_at_method_error(record, f"{job.entry.name}, {job.feedback}, repeat {job.repeat}", site)
    return [records[site] for site in job.sites]


def with_retries[KeyT](
    run: Callable[[Sequence[KeyT]], Mapping[KeyT, CampaignRecord]], keys: Sequence[KeyT]
) -> dict[KeyT, CampaignRecord]:
    """Run campaigns, and those whose machinery failed again, at most :data:`RETRIES` times.

    Args:
        run: runs the campaigns of some keys.
        keys: one for each campaign.
    """
    records: dict[KeyT, CampaignRecord] = {}
    waiting = list(keys)
    for _ in range(1 + RETRIES):
        records |= run(waiting)
        waiting = [key for key in waiting if records[key].worth_another_try]
        if not waiting:
            break
    return records


def stop_at_method_error(record: CampaignRecord, where: str, site: int) -> None:
    """Stop the job where a method raised an exception.

    Raises:
        MethodFailedError: names the site and shows the traceback.
    """
    if record.result.ending is Ending.METHOD_ERROR:
        raise MethodFailedError(f"{where}, site {site}: the method failed\n{record.result.error}")


def _run_together(
    materials: Materials, job: CampaignJob, opener: Opener, sites: Sequence[int], folder: Path
) -> dict[int, CampaignRecord]:
    opened = [_open(materials, job, opener, site, folder) for site in sites]
    name = f"{job.entry.name}, {job.feedback}, repeat {job.repeat}"
    progress = PoolReporter(name, materials.contract.calendar.campaign_ticks)
    workers = 1 if job.entry.command is None else COMMANDS_AT_ONCE
    entries = [entry for entry, _, _ in opened]
    results = run_pool(entries, workers=workers, progress=progress)
    return {
        site: CampaignRecord(site, history, result, tuple(tools.uses))
        for site, result, (_, history, tools) in zip(sites, results, opened, strict=True)
    }


def _open(
    materials: Materials, job: CampaignJob, opener: Opener, site: int, folder: Path
) -> tuple[Entry, History, CountedTools]:
    """One campaign with a fresh method, a fresh journal and its own streams."""
    spec = campaign_spec(materials, site, Feedback(job.feedback))
    session = opener.open(spec, fresh_journal(folder / "journals" / f"site-{site:03d}.jsonl"))
    history = History(session.task())
    key = partial(seed_key, materials, job, site)
    tools = counted_tools(materials, history, key("tools").seed())
    method = _method(materials, job.entry, folder / "logs" / f"site-{site:03d}.log")
    rng = key("method").generator()
    steps = watched(method.play(Campaign(history), rng), history)
    return Entry(f"site {site}", session, steps, tools), history, tools


def _method(materials: Materials, entry: MethodEntry, log: Path) -> Method:
    """A fresh method: nothing is kept from one campaign to the next."""
    if entry.command is not None:
        return build_external(entry.command, entry.time_limit_s, materials.artifacts, log)
    return build_method(entry.registered_name, entry.settings, materials.artifacts)


def fresh_journal(path: Path) -> Journal:
    """A journal without records, also where an attempt that failed has left one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in (path, head_path(path)):
        left.unlink(missing_ok=True)
    return Journal.open(path, durability=Durability.PROCESS)


def campaign_spec(materials: Materials, site: int, feedback: Feedback) -> CampaignSpec:
    """What one campaign of a study is opened from."""
    setting = materials.setting
    return CampaignSpec(
        partition=setting.partition,
        site=site,
        feedback=feedback,
        weather=setting.weather,
        shuffle_key=f"{setting.partition}|{site}",
        contract=materials.contract,
        sensors=materials.sensors,
        distribution=materials.distribution,
    )


def counted_tools(materials: Materials, history: History, seed: int) -> CountedTools:
    """The analysis tools of one campaign."""
    limits = materials.contract.analysis_tools
    return CountedTools(Toolbox(history, materials.artifacts, seed, limits))


def seed_key(materials: Materials, job: CampaignJob, site: int, purpose: str) -> SeedKey:
    """Where the random numbers of one campaign belong; the feedback condition does not enter."""
    setting = materials.setting
    return SeedKey(setting.study, setting.partition, site, job.entry.name, job.repeat, purpose)


def recommend_without_campaign(materials: Materials, job: CampaignJob) -> list[Recommendation]:
    """What a method without campaigns recommends for each site from its public task alone."""
    method = build_method(job.entry.registered_name, job.entry.settings, materials.artifacts)
    if not isinstance(method, StaticMethod):
        raise TypeError(f"{job.entry.name} runs campaigns")
    contract, sensors = materials.contract, materials.sensors
    return [
        Recommendation(
            site=site.index,
            method=job.entry.name,
            feedback=job.feedback,
            repeat=job.repeat,
            policy=method.recommend(
                site_task(contract, sensors, site, Feedback.UNASSIGNED)
            ).model_dump(),
        )
        for site in materials.sites(job.sites)
    ]


def recommendation(job: CampaignJob, record: CampaignRecord) -> Recommendation:
    """What one campaign recommends; missing after a failure of the machinery."""
    result = record.result
    if result.settlement is not None:
        return from_settlement(
            result.settlement, site=record.site, method=job.entry.name, repeat=job.repeat
        )
    kind = "unknown" if result.failure is None else result.failure.kind.value
    return Recommendation(
        site=record.site,
        method=job.entry.name,
        feedback=job.feedback,
        repeat=job.repeat,
        campaign=CampaignStatus.INFRASTRUCTURE_FAILURE,
        failure=kind,
    )


def write_recommendations(
    path: Path, materials: Materials, recommendations: Sequence[Recommendation]
) -> Path:
    """Write what campaigns or readers recommend, in one step."""
    content = RecommendationFile(
        format=FORMAT,
        contract=materials.contract.id,
        partition=materials.setting.partition,
        recommendations=tuple(recommendations),
    )
    return atomic_write_text(path, canonical_json(content.model_dump(mode="json")) + "\n")
