"""What the language models of a study can cost, and what they are likely to cost.

The likely cost takes the tokens that the published study used for a branched campaign, at the
prices of ``models.yaml``; it exists for its three models only.

Source: SlowLab, accounting of the campaigns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from slowlab.agents.bounds import Bound, branch_bound, reading_bound
from slowlab.agents.models import ModelConfig
from slowlab.agents.profile import load_profile
from slowlab.analysis.published import load_published
from slowlab.config import CONFIG_ROOT
from slowlab.plan.agents import model_of
from slowlab.plan.items import sources
from slowlab.plan.study import StudyConfig
from slowlab.world.contract import load_contract
from slowlab.world.sensors import load_sensors
from slowlab.world.task import Feedback, task_description

_BRANCHES = ("full", "endpoint")
"""Conditions of a published campaign."""


@dataclass(frozen=True)
class Spending:
    """What one method or reader of a study uses.

    Attributes:
        name: its name in the study file.
        model: name of the model.
        work: number of campaigns or readings, in words.
        bound: the most.
        likely_usd: what is likely, USD; None where nothing was published.
        free: whether the model is known to cost nothing.
    """

    name: str
    model: str
    work: str
    bound: Bound
    likely_usd: float | None
    free: bool = False


def spending(study: StudyConfig) -> list[Spending]:
    """Every method and reader of a study that is a language model, in the study's order.

    Raises:
        ConfigError: no such model, harness profile, contract or sensors file.
        MethodError: no such method.
        ValueError: a source of readers runs no campaigns.
    """
    task = _task(study)
    campaigns = study.sites * study.repeats
    branches = campaigns * len(study.feedback)
    found = []
    for entry in study.methods:
        if entry.model is None:
            continue
        model, profile = model_of(entry), load_profile(entry.profile)
        likely = likely_usd(model, study.feedback)
        found.append(
            Spending(
                entry.name,
                model.name,
                f"{branches} branches",
                branch_bound(model, profile, task).times(branches),
                None if likely is None else likely * campaigns,
                model.free,
            )
        )
    return found + _readings(study, task)


def likely_usd(model: ModelConfig, feedback: Iterable[str]) -> float | None:
    """What a campaign with branches in these conditions is likely to cost, USD, or None.

    A condition that was not published counts like the one in which records can be read.
    """
    if model.free:
        return 0.0
    if model.published_as is None or model.price is None:
        return None
    used: Any = load_published().accounting["methods"]
    figures = used[model.published_as]
    characters = {name: figures[name]["input_chars"] for name in _BRANCHES}
    share = sum(characters.get(name, characters["full"]) for name in feedback)
    usd = model.price.usd(
        figures["prompt_tokens"], figures["completion_tokens"], figures["cache_hit_tokens"]
    )
    return usd * share / sum(characters.values())


def total(parts: Iterable[Spending]) -> Spending:
    """All of them together.

    A bound with an unknown part is unknown; of likely costs those that are known are added.
    """
    rows = list(parts)
    bound = Bound(
        sum(row.bound.calls for row in rows),
        sum(row.bound.characters for row in rows),
        _sum(row.bound.usd for row in rows),
        _sum(row.bound.usd_retried for row in rows),
    )
    likely = [row.likely_usd for row in rows if row.likely_usd is not None]
    return Spending("All", "", "", bound, sum(likely) if likely else None)


def _task(study: StudyConfig) -> dict[str, Any]:
    """A public task of the study; that of a site differs in prices only."""
    contract = load_contract(CONFIG_ROOT / "contracts" / f"{study.contract}.yaml")
    sensors = load_sensors(CONFIG_ROOT / "sensors" / f"{study.sensors}.yaml")
    return task_description(contract, sensors, contract.economics.default_prices, Feedback.FULL)


def _readings(study: StudyConfig, task: Mapping[str, Any]) -> list[Spending]:
    readers = [entry for entry in study.readers if entry.model is not None]
    packets = len(study.packet_sites) * len(sources(study)) if readers else 0
    found = []
    for entry in readers:
        model, profile = model_of(entry), load_profile(entry.profile)
        bound = reading_bound(model, profile, task).times(packets)
        likely, work = (0.0 if model.free else None), f"{packets} readings"
        found.append(Spending(entry.name, model.name, work, bound, likely, model.free))
    return found


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)
