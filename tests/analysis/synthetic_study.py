"""SYNTHETIC studies with known effects: no simulation, no result; for tests and layouts only."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from slowlab.analysis.study_inputs import (
    AnalysisInputs,
    KnowledgePair,
    MethodInfo,
    ReaderInfo,
    StudyDescription,
)
from slowlab.evaluation.score import SCORE_SCHEMA, SITE_SCHEMA
from slowlab.stages.agent_table import AGENT_SCHEMA
from slowlab.stages.campaign_table import CAMPAIGN_SCHEMA, CROP_SCHEMA, READ_SCHEMA
from slowlab.stages.site_table import SITE_TABLE
from slowlab.world.contract import load_contract
from slowlab.world.policy import POLICY_FIELDS
from slowlab.world.site_distribution import load_sites
from tests.analysis.synthetic_agents import agent_row, step_table

YEARS, PLANTINGS = ("2003", "2007", "2011"), (0, 182)
EFFECTS = {
    "fixed_reference": 0.0,
    "common_policy": 9.0,
    "prior_bo": 4.3,
    "random_search": -6.0,
    "local_random_search": -1.0,
    "two_wave_sobol": -4.0,
    "repeat_best": 2.0,
    "prior_bo_no_anchor": 1.0,
    "two_wave_bo": 3.0,
    "random_search_with_anchor": -3.0,
    "greedy_grower": 0.5,
    "my_external_agent_command": -11.0,
}
MODELS = {"grower": -2.0, "careful": 1.5}
"""SYNTHETIC language models: the first a stand-in, the second called a model here only."""
LEARNED = 2.5
"""What a synthetic language model gains from its first to its last recommendation."""
FULL_GAIN = -0.7
STATIC = ("fixed_reference", "common_policy")
PUBLISHED = {"prior_bo": "baseline", "fixed_reference": "fixed_reference"}
READERS = {"gp": 0.8, "best_observed": 0.2, "predictor": -0.5, "global_gp": -1.5}


def describe(
    methods: Sequence[str], sites: int, repeats: int, readers: Sequence[str], **changes: Any
) -> StudyDescription:
    """The description of a synthetic study."""
    first = [name for name in methods if name not in STATIC]
    settings = {
        "study": "synthetic",
        "partition": "synthetic",
        "sites": tuple(range(sites)),
        "repeats": repeats,
        "feedback": ("full", "endpoint"),
        "methods": tuple(_method(name) for name in methods),
        "readers": tuple(
            ReaderInfo(
                name=name,
                label=name.replace("_", " "),
                identity_sources=("prior_bo",) if name == "gp" else (),
                published="gp_reader" if name == "gp" else None,
                stand_in=name in MODELS,
                model=f"stand-in-{name}" if name in MODELS else None,
            )
            for name in readers
        ),
        "baseline": "prior_bo",
        "reference": "fixed_reference",
        "common": "common_policy" if "common_policy" in methods else None,
        "example_method": "prior_bo",
        "timeline_methods": tuple(first[:4]),
        "marks": ("SYNTHETIC",),
        "flips": 2000,
        "resamples": 1000,
        "knowledge": (
            (
                KnowledgePair(name="anchor_bo", given="prior_bo", without="prior_bo_no_anchor"),
                KnowledgePair(
                    name="anchor_random",
                    given="random_search_with_anchor",
                    without="random_search",
                ),
            )
            if len(methods) > 9
            else ()
        ),
    }
    return StudyDescription(**(settings | changes))


def _method(name: str) -> MethodInfo:
    return MethodInfo(
        name=name,
        label=name.replace("_", " "),
        experiments=name not in STATIC,
        published=PUBLISHED.get(name),
        stand_in=name == "grower",
        model=f"stand-in-{name}" if name in MODELS else None,
        harness="digest_notes" if name in MODELS else None,
    )


def synthetic_inputs(
    methods: Sequence[str] = ("fixed_reference", "random_search", "prior_bo"),
    *,
    sites: int = 6,
    repeats: int = 2,
    readers: Sequence[str] = ("gp", "best_observed"),
    noise: float = 1.5,
    failed: Sequence[tuple[int, str, str, int]] = (),
    **changes: Any,
) -> AnalysisInputs:
    """A synthetic study.

    Scores are ``30 + site + effect of the method + (FULL_GAIN with full feedback) + noise``; a
    reader adds its own effect to its source's score, and nothing in identity cells. The first
    recommendation of a language model is :data:`LEARNED` below its last one with full feedback.
    """
    study = describe(methods, sites, repeats, readers, **changes)
    rng = np.random.default_rng(5)
    levels = {
        (site, name, mode, repeat): 30.0
        + 1.5 * site % 7
        + (EFFECTS | MODELS)[name]
        + FULL_GAIN * (mode == "full")
        - (LEARNED - FULL_GAIN) * (mode == "initial")
        + noise * rng.normal()
        for name, mode in study.cells()
        for site, repeat in itertools.product(study.sites, range(1 if mode == "none" else repeats))
    }
    scores = [row for key, level in levels.items() for row in _scores(key, level, key in failed)]
    readings = [
        row
        for (site, name, mode, repeat), level in levels.items()
        if mode == study.source_feedback and repeat == 0
        for reader in study.readers
        for row in _scores(
            (site, f"reader:{reader.name}:{name}", mode, repeat),
            level + (0.0 if name in reader.identity_sources else _swap(reader.name, rng)),
            (site, name, mode, repeat) in failed,
        )
    ]
    campaigns = [key for key in levels if key[2] not in ("none", "initial")]
    played = [key for key in campaigns if key[1] in MODELS]
    return AnalysisInputs(
        study=study,
        scores=SCORE_SCHEMA.table(scores),
        sites=SITE_SCHEMA.table(
            [_site(key, level, key in failed) for key, level in levels.items()]
        ),
        campaigns=CAMPAIGN_SCHEMA.table([_campaign(key, key in failed) for key in campaigns]),
        crops=CROP_SCHEMA.table([row for key in campaigns for row in _crops(key)]),
        reads=READ_SCHEMA.table([row for key in campaigns for row in _reads(key)]),
        contract=_world()[0],
        distribution=_world()[1],
        readings=SCORE_SCHEMA.table(readings),
        hashes={"scores": "0" * 64},
        agents=AGENT_SCHEMA.table([agent_row(key) for key in played]) if played else None,
        steps=step_table(campaigns),
        site_facts=SITE_TABLE.table([_site_facts(site) for site in study.sites]),
    )


def without(inputs: AnalysisInputs, method: str) -> AnalysisInputs:
    """The study as it looks before a method has run at all."""
    tables = {
        name: getattr(inputs, name)[getattr(inputs, name)["method"] != method]
        for name in ("scores", "sites", "campaigns", "crops", "reads")
    }
    return replace(inputs, **tables)


@cache
def _world() -> tuple[Any, Any]:
    return load_contract(), load_sites()


def _swap(reader: str, rng: np.random.Generator) -> float:
    return (READERS | MODELS)[reader] + 0.8 * rng.normal()


def _site_facts(site: int) -> dict[str, Any]:
    """Four campaign years over all sites, and a fruit price of each site's own."""
    return {
        "site": site,
        "fruit_eur_per_kg_fresh": 1.5 + 0.125 * (site % 9),
        "electricity_eur_per_kwh": 0.2,
        "delivered_heat_eur_per_kwh": 0.1,
        "co2_eur_per_kg": 0.2,
        "campaign_year": f"{2002 + site % 4}",
        "evaluation_years": " ".join(YEARS),
        "site_sha256": f"{site:064x}",
    }


def _name(key: tuple[int, str, str, int]) -> dict[str, Any]:
    return dict(zip(("site", "method", "feedback", "repeat"), key, strict=True))


def _status(failed: bool) -> dict[str, str]:
    return {
        "status": "campaign_failed" if failed else "scored",
        "reason": "synthetic failure" if failed else "",
        "source": "" if failed else "recommendation",
        "fallback_reason": "",
    }


def _scores(key: tuple[int, str, str, int], level: float, failed: bool) -> list[dict[str, Any]]:
    numbers: Mapping[str, float | None] = {
        "heat_kwh_m2": 90.0 + 2 * level,
        "light_kwh_m2": 60.0 + level,
        "co2_kg_m2": 12.0 + level / 10,
        "harvest_kg_m2": 20.0 + level / 5,
        "active_days": 180.0,
    }
    return [
        {
            **_name(key),
            "year": year,
            "planting_day": day,
            **_status(failed),
            "margin_eur_m2": None if failed else level + (3.0 if day else -3.0),
            **(dict.fromkeys(numbers) if failed else numbers),
            "crops": 0 if failed else 2,
            "crops_stopped": 0,
            "lit_pole_ticks": 0,
        }
        for year, day in itertools.product(YEARS, PLANTINGS)
    ]


def _policy(key: tuple[int, str, str, int]) -> dict[str, float]:
    policy = _world()[0].fixed_reference.model_dump()
    warmer = {
        "day_temperature_c": policy["day_temperature_c"] + (key[3] if key[2] == "full" else 0)
    }
    return {name: (policy | warmer)[name] for name in POLICY_FIELDS}


def _site(key: tuple[int, str, str, int], level: float, failed: bool) -> dict[str, Any]:
    return {
        **_name(key),
        **_status(failed),
        "score_eur_m2": None if failed else level,
        "between_years_sd_eur_m2": None if failed else 0.0,
        "years": 0 if failed else 3,
        **_policy(key),
    }


def _campaign(key: tuple[int, str, str, int], failed: bool) -> dict[str, Any]:
    fallback = key[0] == 0 and key[1] == "random_search" and key[3] == 1 and not failed
    return {
        **_name(key),
        "ending": "infrastructure_failure" if failed else "settled",
        "status": "infrastructure_failure" if failed else "finished",
        "source": "" if failed else ("fixed_policy" if fallback else "recommendation"),
        "fallback_reason": "missing_recommendation" if fallback else "",
        "calls": 20,
        "decisions": 9,
        "starts": 8,
        "rejections": 0,
        "tool_calls": 2,
        "tool_errors": 1,
        "predictor_attempts": 2,
        "predictor_outputs": 1 if key[2] == "full" else 0,
    }


def _crops(key: tuple[int, str, str, int]) -> list[dict[str, Any]]:
    """Four compartments, two waves; the second starts a day later with full feedback."""
    rows = []
    for unit, run in itertools.product(range(4), (1, 2)):
        start = 0.0 if run == 1 else 182.0 + (key[2] == "full")
        short = key[1] == "random_search" and unit == 2 and run == 1
        end = 120.0 if short else start + 180.0
        rows.append(
            {
                **_name(key),
                "unit": unit,
                "run_index": run,
                "start_day": start,
                "end_day": end,
                "reason": "safety_stop" if short else "completed",
                "totals_read_day": 182.0 if run == 1 else 365.0,
                **_policy(key),
                "margin_eur_m2": 20.0 + unit,
            }
        )
    return rows


def _reads(key: tuple[int, str, str, int]) -> list[dict[str, Any]]:
    """Records of two compartments every month with full feedback, totals in both conditions."""
    days = [float(day) for day in range(30, 361, 30)] if key[2] == "full" else []
    records = [
        (day, unit, "canopy_lai_proxy", "daily", 30, "no") for day in days for unit in (0, 1)
    ]
    totals = [(day, unit, "", "", 0, "yes") for day in (182.0, 365.0) for unit in range(4)]
    columns = ("day", "unit", "variable", "resolution", "rows", "releases_totals")
    return [
        {**_name(key), "exchange": place, **dict(zip(columns, row, strict=True))}
        for place, row in enumerate(sorted(records + totals))
    ]
