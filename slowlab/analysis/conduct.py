"""How campaigns used their time and their evidence, and how that goes with what they gained.

All measures are of one campaign and come from the study's tables. They describe: a correlation
with the gain is over campaigns of one method and condition and says nothing about causes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from slowlab.analysis.attempts import SHUFFLED
from slowlab.analysis.campaign_facts import CampaignFacts, Name, idle_days, idle_share
from slowlab.analysis.measure_spec import MeasureSpec
from slowlab.analysis.samples import exact_mean
from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_inputs import AnalysisInputs
from slowlab.analysis.study_scores import number
from slowlab.campaign.settlement import CampaignStatus
from slowlab.world.contract import Contract
from slowlab.world.policy import POLICY_FIELDS

FORCED = ("forced_advance", "context_exhausted", "incumbent_recommended")
"""Flags of a harness that had to bring a campaign to its end."""

type Measure = Callable[[CampaignFacts, Contract], float | None]


def conduct_numbers(inputs: AnalysisInputs, facts: Mapping[Name, CampaignFacts]) -> dict[str, Any]:
    """Means of all measures, and their rank correlations with the gain.

    Args:
        inputs: the study.
        facts: its planned campaigns; those that failed technically are left out.

    Returns:
        By method and condition: ``campaigns``, and for each of :data:`MEASURES` its ``mean``, the
        campaigns behind it, and ``with_gain``: Spearman's correlation with the gain over the policy
        without experiments, None for fewer campaigns than declared or where either does not vary.
    """
    study, declared = inputs.study, spec_of(inputs).measures
    return {
        "wave_tolerance_days": declared.wave_tolerance_days,
        "fewest_campaigns": declared.fewest_campaigns,
        "methods": {
            item.name: {
                mode: _condition(_sound(facts, item.name, mode), inputs.contract, declared)
                for mode in study.feedback
            }
            for item in study.experimenting
        },
    }


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's correlation with mean ranks for ties; None where either does not vary.

    Args:
        first: values.
        second: as many others.
    """
    one, other = (
        pd.Series(values, dtype="float64").rank().to_numpy() for values in (first, second)
    )
    one, other = one - one.mean(), other - other.mean()
    size = float(np.sqrt((one**2).sum() * (other**2).sum()))
    return number(float((one * other).sum()) / size) if size > 0 else None


def planting_groups(crops: pd.DataFrame, tolerance_days: float) -> np.ndarray:
    """Which crops were planted together: each starts within the tolerance of the one before it.

    Args:
        crops: of one campaign, by planting day.
        tolerance_days: days between two plantings that still belong together.

    Returns:
        ``[crop]`` number of its group, from 0, ascending.
    """
    days = crops["start_day"].to_numpy(np.float64)
    return np.cumsum(np.diff(days, prepend=days[:1]) > tolerance_days)


def stagger(facts: CampaignFacts, _: Contract) -> float | None:
    """0 if all crops were planted together, 1 if each on its own; None below two crops."""
    groups = planting_groups(facts.crops, facts.wave_tolerance_days)
    return float(groups[-1]) / (len(groups) - 1) if len(groups) > 1 else None


def evidence_use(facts: CampaignFacts, _: Contract) -> float | None:
    """Share of later plantings before which something was read since the planting before.

    Tables hold days, so that a read on the day of a planting counts as one before it.

    Returns:
        None for a campaign that planted once or never.
    """
    groups, days = (
        planting_groups(facts.crops, facts.wave_tolerance_days),
        facts.crops["start_day"].to_numpy(np.float64),
    )
    last = np.flatnonzero(np.diff(groups, append=np.inf))
    if len(last) < 2:
        return None
    read = facts.reads["day"].to_numpy(np.float64)
    pairs = itertools.pairwise(days[last])
    used = [bool(((read > before) & (read <= start)).any()) for before, start in pairs]
    return sum(used) / len(used)


def totals_read(facts: CampaignFacts, _: Contract) -> float | None:
    """Share of crops whose totals were read; None without a crop."""
    read = facts.crops["totals_read_day"].notna()
    return float(read.mean()) if len(read) else None


def replans(facts: CampaignFacts, _: Contract) -> float | None:
    """Later plantings that brought a policy which had not been planted before."""
    policies = map(tuple, facts.crops[list(POLICY_FIELDS)].to_numpy(np.float64).tolist())
    first: dict[tuple[float, ...], int] = {}
    for policy, group in zip(
        policies, planting_groups(facts.crops, facts.wave_tolerance_days).tolist(), strict=True
    ):
        first.setdefault(policy, group)
    return float(len(set(first.values()) - {0}))


def improvements(facts: CampaignFacts, _: Contract) -> float | None:
    """How often a total was read that exceeded all read before; the first is none.

    Totals that are read on one day count as one reading. In the shuffled condition other totals
    were shown than the table holds, so that nothing is known.
    """
    if facts.name[2] == SHUFFLED:
        return None
    days, margins = (
        facts.crops[name].to_numpy(np.float64) for name in ("totals_read_day", "margin_eur_m2")
    )
    read = np.isfinite(days) & np.isfinite(margins)
    best = [margins[read & (days == day)].max() for day in np.unique(days[read])]
    return float(sum(np.diff(np.maximum.accumulate(best)) > 0)) if best else 0.0


def _of_model(*columns: str) -> Measure:
    """A count of a language model's campaign, None for a numerical method."""
    return lambda facts, _: (
        None if facts.agent is None else float(sum(facts.count(column) for column in columns))
    )


def _forced(facts: CampaignFacts, _: Contract) -> float | None:
    if facts.agent is None:
        return None
    return float(any(facts.count(flag) for flag in FORCED))


def _unused_starts(facts: CampaignFacts, contract: Contract) -> float:
    return float(contract.budget.starts - facts.count("starts"))


MEASURES: dict[str, Measure] = {
    "idle_unit_days": idle_days,
    "idle_share": idle_share,
    "unused_starts": _unused_starts,
    "forced_endgame": _forced,
    "stagger": stagger,
    "evidence_use": evidence_use,
    "totals_read": totals_read,
    "probes": _of_model("probes"),
    "incumbents": _of_model("incumbents"),
    "replans": replans,
    "improvements": improvements,
}
"""All measures by name; each is None where it does not apply."""


def _sound(facts: Mapping[Name, CampaignFacts], method: str, mode: str) -> list[CampaignFacts]:
    return [
        item
        for name, item in facts.items()
        if name[1:3] == (method, mode)
        and item.word("status") in (CampaignStatus.FINISHED, CampaignStatus.CLOSED)
    ]


def _condition(
    facts: Sequence[CampaignFacts], contract: Contract, declared: MeasureSpec
) -> dict[str, Any]:
    return {
        "campaigns": len(facts),
        "measures": {
            name: _summary(
                [(measure(item, contract), item.gain) for item in facts], declared.fewest_campaigns
            )
            for name, measure in MEASURES.items()
        },
    }


def _summary(pairs: Sequence[tuple[float | None, float | None]], fewest: int) -> dict[str, Any]:
    """A measure over campaigns, as (value, gain)."""
    values = [value for value, _ in pairs if value is not None]
    both = [(value, gain) for value, gain in pairs if value is not None and gain is not None]
    enough = len(both) >= fewest
    return {
        "mean": number(exact_mean(np.array(values))) if values else None,
        "campaigns": len(values),
        "with_gain": rank_correlation(*zip(*both, strict=True)) if enough else None,
    }
