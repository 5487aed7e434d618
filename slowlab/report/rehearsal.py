"""From a finished study and the declaration to a rehearsal of the confirmatory analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from slowlab.analysis.families import AnalysisSpec
from slowlab.analysis.numbers_file import read_numbers
from slowlab.analysis.paired import Differences
from slowlab.analysis.power_table import power_curves, power_table
from slowlab.analysis.rehearsal import RehearsalPlan, rehearse
from slowlab.analysis.rehearsal_file import FORMAT
from slowlab.analysis.rehearsal_scramble import score_grid
from slowlab.analysis.scores import cells_from_scores
from slowlab.analysis.study_families import analysis_spec
from slowlab.analysis.study_inputs import StudyDescription
from slowlab.plan.study import StudyConfig
from slowlab.prereg.agreement import confirmatory_spec
from slowlab.prereg.declaration import Declaration
from slowlab.prereg.errors import LockError
from slowlab.report.study import load_inputs

DECLARED, MEASURED, OWN = "declared", "measured", "own"
_CURVE_SITES = tuple(range(8, 161, 4))

Numbers = Mapping[str, Any]


def rehearse_study(
    config: StudyConfig, declaration: Declaration, folder: Path, numbers: Path, lock: str | None
) -> dict[str, Any]:
    """Rehearse the analysis on the scores of a finished study.

    The declared families are rehearsed if the study has all tests of the first of them, else its
    own, and the document says which and why. Numbers of the declaration hold either way. Declared
    tests of other families that the study lacks have no data, but keep their places.

    Args:
        config: the study file.
        declaration: ``preregistration/study.yaml``.
        folder: where the study's tables lie.
        numbers: its numbers.
        lock: identity of the preregistration's lock; None where there is none.

    Returns:
        Plain data of the form :data:`slowlab.analysis.rehearsal_file.FORMAT`.

    Raises:
        TableError: a table does not fit its schema.
        ValueError: too few scores to rehearse with; the message says which.
        OSError: a file cannot be read.
    """
    inputs = load_inputs(config, folder, lock)
    shown = read_numbers(numbers)
    spec, why = rehearsed_spec(declaration, inputs.study)
    grid = score_grid(cells_from_scores(inputs.own_scores, inputs.design), spec.repeat_rule)
    plan = rehearsal_plan(declaration)
    return {
        "format": FORMAT,
        "study": {name: shown["study"][name] for name in ("name", "marks", "n_sites")},
        "families": {"source": DECLARED if why is None else OWN, "reason": why},
        "levels": {
            "alpha": spec.alpha,
            "first_step": spec.families[0].power_alpha(spec.alpha),
            "sesoi_eur_m2": spec.sesoi_eur_m2,
        },
        "labels": {name: test["label"] for name, test in shown["tests"].items()},
        "plan": asdict(plan),
        **rehearse(spec, site_differences(shown, spec), grid, plan),
        "power": _power(declaration, spec, shown),
        "lock": lock,
    }


def rehearsed_spec(
    declaration: Declaration, study: StudyDescription
) -> tuple[AnalysisSpec, str | None]:
    """The declared families, or a study's own with the reason.

    The declared ones are used if the study has all tests of the first of them.

    Args:
        declaration: ``preregistration/study.yaml``.
        study: the study whose scores are used.
    """
    try:
        return confirmatory_spec(declaration, study, secondary_required=False), None
    except LockError as error:
        numbers = declaration.statistics
        own = analysis_spec(study).model_copy(
            update={
                "base_seed": numbers.base_seed,
                "sesoi_eur_m2": numbers.sesoi_eur_m2,
                "alpha": numbers.alpha,
                "confidence": numbers.confidence,
                "flips": numbers.flips,
                "power": declaration.power.target,
                "repeat_rule": numbers.repeat_rule,
            }
        )
        return own, str(error).partition(";")[0]


def rehearsal_plan(declaration: Declaration) -> RehearsalPlan:
    """How much is rehearsed, from the declaration."""
    limits = declaration.gates
    return RehearsalPlan(
        rehearsals=limits.rehearsals,
        flips=limits.rehearsal_flips,
        sites=declaration.design.sites,
        largest_familywise_error=limits.largest_familywise_error,
        largest_power_shortfall=limits.largest_power_shortfall,
    )


def site_differences(numbers: Numbers, spec: AnalysisSpec) -> dict[str, Differences]:
    """Site-level values of the tests that have any.

    Args:
        numbers: the numbers of a study.
        spec: names the tests.
    """
    names = [test.name for family in spec.families for test in family.tests]
    tests = numbers["tests"]
    found = {name: tests[name] for name in names if name in tests and tests[name]["sites"]}
    return {
        name: Differences(tuple(test["sites"]), np.array(test["differences"], dtype=np.float64))
        for name, test in found.items()
    }


def _power(declaration: Declaration, spec: AnalysisSpec, numbers: Numbers) -> dict[str, Any]:
    """The power table at the declared level, and curves at the SESOI."""
    alpha, target = declaration.statistics.alpha, declaration.power.target
    sesoi, level = declaration.statistics.sesoi_eur_m2, declaration.families[0].level(alpha)
    first = [test.name for test in spec.families[0].tests]
    measured = {name: numbers["tests"][name]["sd"] for name in first}
    sds = {
        DECLARED: dict(declaration.power.sd_eur_m2),
        MEASURED: {name: sd for name, sd in measured.items() if sd},
    }
    planned = declaration.design.sites
    stated = sorted({numbers["study"]["n_sites"], planned} - {0, 1})
    return {
        "level": level,
        "target": target,
        "effect": sesoi,
        "planned_sites": planned,
        "rows": power_table(sds, sesoi, stated, level, target),
        "curve_sites": list(_CURVE_SITES),
        "curves": {
            source: power_curves(tests, sesoi, _CURVE_SITES, level) for source, tests in sds.items()
        },
    }
