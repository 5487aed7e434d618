"""Published numbers in the form in which they stand beside our own. Cite the paper with them.

They are shown for the original task only, because under other rules they answer another question.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from slowlab.analysis.published import (
    Version,
    load_published,
    primary_tests,
    secondary_tests,
)
from slowlab.analysis.published_schema import Estimate
from slowlab.analysis.samples import round_result
from slowlab.analysis.study_inputs import StudyDescription
from slowlab.world.contract import Contract

ORIGINAL_CONTRACT = "slowlab-task-contract-v8"
METHODS = {"prior_bo": "baseline", "fixed_reference": "fixed_reference"}
"""Published names of methods that are registered here."""
READERS = {"gp": "gp_reader"}
"""Published names of readers that are registered here."""


def comparable(contract: Contract) -> bool:
    """Whether published numbers may stand beside those of a study under this contract."""
    return contract.id == ORIGINAL_CONTRACT


def published_test(name: str | None) -> dict[str, Any] | None:
    """A published test; None where there is none of that name.

    Returns:
        The corrected analysis, as in :func:`published_estimate`, and the first one as ``original``.
    """
    corrected, original = (
        published_estimate({**primary_tests(kind), **secondary_tests(kind)}.get(name or ""))
        for kind in (Version.CORRECTED, Version.ORIGINAL)
    )
    return None if corrected is None else {**corrected, "original": original}


def published_estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    """An estimate as plain data; its p-value is that of its own published family."""
    if estimate is None:
        return None
    joint = estimate.p_bh_joint17
    return {
        "n_sites": estimate.n,
        "estimate": estimate.mean,
        "ci_low": estimate.ci95_bca[0],
        "ci_high": estimate.ci95_bca[1],
        "p_adjusted": estimate.p_adjusted if joint is None else joint,
    }


def published_mean(study: StudyDescription, method: str, feedback: str) -> float | None:
    """Published mean score of a method under a condition, EUR/m2."""
    values = load_published().table2_mean_scores.corrected.values
    return values.get(study.method(method).published or "", {}).get(feedback)


def published_resources(
    study: StudyDescription, method: str, feedback: str
) -> dict[str, float] | None:
    """Published heat, light (kWh/m2) and CO2 (kg/m2) per crop in scoring runs."""
    name = study.method(method).published
    block = load_published().resources_per_crop
    values = block["corrected"]["values"]  # type: ignore[index, call-overload]
    row = values.get(name if feedback == "none" else f"{name}_{feedback}")
    return None if row is None else dict(zip(block["columns"], row, strict=True))


def published_swap(reader: str | None, source: str | None) -> dict[str, Any] | None:
    """Published gain of a reader over one source."""
    swaps = load_published().e3_reader_swap.corrected.by_source
    return published_estimate(swaps.get(reader or "", {}).get(source or ""))


def published_headroom() -> dict[str, Any]:
    """Published gains over the fixed reference on the sites whose best policy was sought, EUR/m2.

    Returns:
        Sites, mean gain of the best policy known and of each method by its published name, and the
        error of one search from the two sites that were searched twice, ``sqrt(mean(d^2) / 2)``.
    """
    block: Mapping[str, Any] = load_published().headroom
    rows = np.array(list(block["sites_corrected"].values()), dtype=np.float64)
    columns = list(block["columns"])
    gains = (rows - rows[:, [columns.index("fixed_reference")]]).mean(axis=0)
    by_name = dict(zip(columns, (round_result(gain) for gain in gains), strict=True))
    repeats = np.array(block["search_error_abs_difference"], dtype=np.float64)
    return {
        "n_sites": len(rows),
        "best_known": by_name.pop("best_known"),
        "methods": by_name,
        "search_error": round_result(float(np.sqrt((repeats**2).mean() / 2.0))),
    }


def published_side_wall(setting: str, names: Mapping[str, str | None]) -> dict[str, Any] | None:
    """Published means and differences with one exchange of side walls, EUR/m2.

    Args:
        setting: ``drawn`` or the exchange in W/m2K, as ``4``.
        names: published names of our methods, by ours.

    Returns:
        By our name; None where that exchange was not published.
    """
    settings = load_published().boundary_sensitivity.corrected.settings
    found = settings.get("main" if setting == "drawn" else f"ueff_{setting}")
    if found is None:
        return None
    differences = found.differences or {}
    rows = {}
    for ours, theirs in names.items():
        if theirs in found.means:
            beside = differences.get(f"{theirs}_minus_baseline")
            rows[ours] = {
                "mean": found.means[theirs],
                "minus_baseline": None if beside is None else beside.mean,
            }
    return rows


def published_process(name: str | None) -> dict[str, Any] | None:
    """What the published campaigns of a language model did with what they could see."""
    return _of_model("process_feedback", name)


def published_accounting(name: str | None) -> dict[str, Any] | None:
    """What the published campaigns of a language model asked, answered and cost."""
    return _of_model("accounting", name)


def _of_model(block: str, name: str | None) -> dict[str, Any] | None:
    methods = getattr(load_published(), block)["methods"]
    row = methods.get(name or "")
    return None if row is None else dict(row)
