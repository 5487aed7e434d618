"""SYNTHETIC numbers of a study whose true effects are known; no result."""

from __future__ import annotations

from typing import Any

import numpy as np

EFFECTS = {"e1.a": 4.0, "e1.b": -3.0, "e1.c": 0.5, "e2.base": 0.0}
"""True means of the modelled tests, EUR/m2."""
CELLS = {
    "e1.a": (["a/full"], ["base/full"]),
    "e1.b": (["b/full"], ["base/full"]),
    "e1.c": (["c/full"], ["base/full"]),
    "e2.base": (["base/full"], ["base/endpoint"]),
    "e2.a": (["a/full"], ["a/endpoint"]),
}


def look_numbers(sites: int = 12, seed: int = 0, spread: float = 1.5) -> dict[str, Any]:
    """Numbers with four tests that share a baseline, and one without any spread."""
    rng = np.random.default_rng(seed)
    base = 2.0 * rng.standard_normal(sites)
    differences = {
        name: effect
        + (1.0 if name == "e2.base" else -1.0) * base
        + spread * rng.standard_normal(sites)
        for name, effect in EFFECTS.items()
    }
    differences["e2.a"] = np.zeros(sites)
    return {
        "study": {
            "name": "synthetic",
            "marks": ["SYNTHETIC"],
            "n_sites": sites,
            "partition": "synthetic",
            "repeats": 1,
            "weather": "synthetic",
            "exploratory": True,
            "sesoi_eur_m2": 2.0,
            "baseline": "base",
        },
        "campaigns": {"missing": 0, "planned": 10},
        "methods": [
            {"name": name, "label": f"Method {name}", "experiments": True, "stand_in": False}
            | {"model": None}
            for name in ("a", "b", "c", "base")
        ],
        "readers": {"models": [], "stand_ins": []},
        "families": [{"name": "primary", "adjustment": "holm", "tests": list(differences)}],
        "tests": {name: _test(name, values) for name, values in differences.items()},
    }


def _test(name: str, values: np.ndarray) -> dict[str, Any]:
    question, _, subject = name.partition(".")
    plus, minus = CELLS[name]
    half = 2.2 * values.std() / np.sqrt(len(values))
    return {
        "question": question,
        "subject": subject,
        "label": f"{plus[0]} less {minus[0]}",
        "plus": plus,
        "minus": minus,
        "sites": list(range(len(values))),
        "differences": [round(float(value), 9) for value in values],
        "n_sites": len(values),
        "estimate": float(values.mean()),
        "ci_low": float(values.mean() - half),
        "ci_high": float(values.mean() + half),
    }
