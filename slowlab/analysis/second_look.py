"""The Bayesian second look at the first family of a study: everything that is reported of it.

It stands beside the confirmatory results and decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from slowlab.analysis.second_look_data import look_data
from slowlab.analysis.second_look_file import FORMAT, draws_tree
from slowlab.analysis.second_look_model import SamplerPlan, fit_model
from slowlab.analysis.second_look_summary import (
    LookLimits,
    check_rows,
    diagnostic_rows,
    divergences_of,
    effect_rows,
    gates,
    replicated,
    scale_rows,
)

if TYPE_CHECKING:
    from xarray import DataTree


def take_second_look(
    numbers: Mapping[str, Any], plan: SamplerPlan, limits: LookLimits, lock: str | None
) -> tuple[dict[str, Any], DataTree]:
    """Model the first family of a study.

    Args:
        numbers: the numbers of a study.
        plan: how the model is sampled.
        limits: gates, region of practical equivalence, probability of the intervals.
        lock: identity of the preregistration's lock; None where there is none.

    Returns:
        Plain data of the form :data:`slowlab.analysis.second_look_file.FORMAT`, whether its gates
        hold or not, and the draws.
    """
    family = numbers["families"][0]
    data = look_data(numbers["tests"], family["tests"])
    fit = fit_model(data, plan) if data.tests else None
    observed = drawn = None
    diagnostics: list[dict[str, Any]] = []
    divergences = 0
    if fit is not None:
        observed, drawn = replicated(data, fit, plan.seed)
        diagnostics, divergences = diagnostic_rows(data, fit), divergences_of(fit.stats)
    look = {
        "format": FORMAT,
        "study": {name: numbers["study"][name] for name in ("name", "marks", "n_sites")},
        "family": family["name"],
        "priors": asdict(plan.priors),
        "plan": {name: value for name, value in asdict(plan).items() if name != "priors"},
        "limits": asdict(limits)
        | {"rope_eur_m2": list(limits.rope_eur_m2), "other_scales": list(limits.other_scales)},
        "shared_cells": list(data.cells),
        "modelled": list(data.tests),
        "tests": effect_rows(data, fit, limits),
        "scales": [] if fit is None else scale_rows(fit, plan.priors, limits),
        "checks": [] if fit is None else check_rows(data, observed, drawn),
        "diagnostics": diagnostics,
        "divergences": divergences,
        "gates": gates(diagnostics, divergences, limits),
        "software": {name: version(name) for name in ("arviz", "jax", "numpyro")},
        "lock": lock,
    }
    about = {
        "study": look["study"]["name"],
        "marks": ", ".join(look["study"]["marks"]),
        "lock": lock or "",
        "unit": "EUR/m2",
        "inference_library": "numpyro",
        "inference_library_version": look["software"]["numpyro"],
    }
    return look, draws_tree(data, fit, observed, drawn, about)
