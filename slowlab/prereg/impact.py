"""What has to be run again after a change, and what need not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from slowlab.plan.items import conditions, runs_campaigns, scored_conditions, sources
from slowlab.plan.study import StudyConfig
from slowlab.prereg.dependencies import (
    CAMPAIGNS,
    READING_SCORES,
    READINGS,
    SCORES,
    Job,
)


@dataclass(frozen=True)
class Impact:
    """Jobs that a change concerns.

    Attributes:
        causes: changed files and parts behind each job that depends on them itself.
        affected: all jobs that have to be run again, those behind others included, in their order.
        unconcerned: changed files on which no job depends.
    """

    causes: Mapping[str, tuple[str, ...]]
    affected: tuple[str, ...]
    unconcerned: tuple[str, ...]

    def of(self, kind: str) -> tuple[str, ...]:
        """Methods, readers or figures of one kind of job."""
        return tuple(
            name.partition(":")[2] for name in self.affected if name.startswith(f"{kind}:")
        )

    def plain(self) -> dict[str, Any]:
        """The content as plain data."""
        return {
            "causes": {name: list(found) for name, found in sorted(self.causes.items())},
            "affected": list(self.affected),
            "unconcerned": list(self.unconcerned),
        }

    @classmethod
    def parse(cls, plain: Mapping[str, Any]) -> Impact:
        """Read what :meth:`plain` wrote."""
        causes = {name: tuple(found) for name, found in plain["causes"].items()}
        return cls(causes, tuple(plain["affected"]), tuple(plain["unconcerned"]))


def impact_of(jobs: Mapping[str, Job], files: Iterable[str], parts: Iterable[str] = ()) -> Impact:
    """Follow changes through the jobs of a study.

    Args:
        jobs: all jobs, see ``slowlab.prereg.dependencies.study_jobs``.
        files: changed, added and removed files, from the root.
        parts: changed parts of the study.
    """
    files, parts = set(files), set(parts)
    causes = {
        name: tuple(sorted((job.files & files) | (job.parts & parts)))
        for name, job in jobs.items()
        if job.files & files or job.parts & parts
    }
    affected: list[str] = []
    for name, job in jobs.items():
        if name in causes or set(job.after) & set(affected):
            affected.append(name)
    known = {file for job in jobs.values() for file in job.files}
    return Impact(causes, tuple(affected), tuple(sorted(files - known)))


def affected_records(config: StudyConfig, impact: Impact) -> dict[str, int]:
    """How many campaigns, scored recommendations and readings are made again.

    Args:
        config: the study.
        impact: what is affected; names that the study no longer has are left out.
    """
    sites, known = config.sites, {entry.name: entry for entry in config.methods}
    played = [known[name] for name in impact.of(CAMPAIGNS) if name in known]
    scored = [known[name] for name in impact.of(SCORES) if name in known]
    packets = len(config.packet_sites) * len(sources(config))
    return {
        "campaigns": sites * sum(len(conditions(config, e)) for e in played if runs_campaigns(e)),
        "scored_recommendations": sites * sum(len(scored_conditions(config, e)) for e in scored),
        "readings": packets * len(impact.of(READINGS)),
        "scored_readings": packets * len(impact.of(READING_SCORES)),
    }


def rerun_commands(config_file: str, impact: Impact) -> list[str]:
    """The commands that bring a study up to date under an amended lock; none if it is.

    Args:
        config_file: the study file, from the root.
        impact: what is affected.
    """
    if not impact.affected:
        return ["slowlab prereg carry-over"]
    return [
        "slowlab prereg carry-over",
        f"snakemake --cores all --configfile {config_file}",
        "slowlab prereg compare",
    ]
