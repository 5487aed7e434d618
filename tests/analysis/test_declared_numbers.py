"""Numbers of the analysis stand in the declaration, and each of them counts."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import slowlab.analysis
from slowlab.analysis.measure_spec import MeasureSpec
from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_numbers import build_numbers
from slowlab.config import CONFIG_ROOT
from slowlab.prereg.agreement import confirmatory_spec
from slowlab.prereg.declaration import load_declaration
from tests.analysis.synthetic_study import synthetic_inputs

METHODS = ("fixed_reference", "common_policy", "grower", "random_search", "prior_bo")

NOT_DECLARED = {
    # What an algorithm is; a change is a change of code, which the lock sees.
    "mixed_model": {"FEWEST_SITES"},
    "reml": {
        "_FLOOR",
        "_MOST_HALVINGS",
        "_MOST_POLISHED",
        "_MOST_STEPS",
        "_NEAR_ZERO",
        "_RANK_TOLERANCE",
        "_TOLERANCE",
    },
    "second_look_data": {"FEWEST_SITES"},
    "bca": {"RESAMPLES", "LEVEL", "STREAM", "_FEWEST"},
    "equivalence": {"ALPHA", "_FEWEST"},
    "power": {"POWER", "_MOST_SITES"},
    "samples": {"DECIMALS", "UNITS_PER_ONE", "_LARGEST_TOTAL"},
    "signflip": {"FLIPS", "BLOCK", "EXACT_UP_TO", "STREAM"},
    "stability": {"_FEW_REPEATS"},
    # Seeds of what nobody declared or what is only described.
    "headroom": {"_SEED"},
    "second_look_summary": {"_PREDICTIVE", "_TAILS"},
    "side_wall": {"_SEED", "_STREAM"},
    "study_families": {"_SEED_STEP"},
    "study_readers": {"_SWAP_SEED"},
    # What a rehearsal is made of and how it is computed.
    "power_table": {"SESOI_SHARES"},
    "rehearsal": {"PLANTED_SHARES"},
    "rehearsal_flips": {"_LARGEST_TOTAL", "_STRIPE"},
    "rehearsal_intervals": {"_LARGEST_TOTAL", "FEWEST_VALUES"},
    "rehearsal_planting": {"PLANT_STREAM", "_FEWEST_SITES"},
    "rehearsal_scramble": {"SIGN_STREAM", "LABEL_STREAM"},
    # How much is shown.
    "failures": {"RECORDS_NAMED"},
}
"""Constants of the analysis that no declaration names; defaults of functions whose callers give
the declared number are among them."""


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is made of numbers, or of numbers and names."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    leaves = [list(ast.walk(part)) for part in parts]
    return bool(parts) and all(_has_number(part) and all(map(_may_be, part)) for part in leaves)


def _has_number(leaves: list[ast.AST]) -> bool:
    return any(isinstance(leaf, ast.Constant) for leaf in leaves)


def _may_be(leaf: ast.AST) -> bool:
    if isinstance(leaf, ast.Constant):
        return isinstance(leaf.value, int | float)
    signs = ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop | ast.Name | ast.expr_context
    return isinstance(leaf, signs)


def _constants(path: Path) -> set[str]:
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name | ast.Tuple):
            targets = node.targets[0]
            names = targets.elts if isinstance(targets, ast.Tuple) else [targets]
            if _is_number(node.value):
                found |= {name.id for name in names if isinstance(name, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and node.value and _is_number(node.value):
            found.add(node.target.id)
    return found


def test_no_module_holds_a_number_that_is_neither_declared_nor_known() -> None:
    folder = Path(slowlab.analysis.__file__).parent
    found = {path.stem: _constants(path) for path in sorted(folder.glob("*.py"))}
    assert {name: names for name, names in found.items() if names} == NOT_DECLARED


def test_the_declaration_names_every_number_of_the_measures() -> None:
    """What is locked is what a study that is not locked has."""
    declaration = load_declaration(CONFIG_ROOT.parent)
    measures = declaration.measures
    assert measures.model_fields_set == set(MeasureSpec.model_fields)
    sesoi = declaration.statistics.sesoi_eur_m2
    assert (measures.tie_band_eur_m2, measures.near_zero_eur_m2) == (sesoi, sesoi)
    sizes = {"tie_band_eur_m2": None, "near_zero_eur_m2": None}
    assert measures.model_copy(update=sizes) == MeasureSpec()


def test_all_of_the_declaration_reaches_the_analysis() -> None:
    declaration = load_declaration(CONFIG_ROOT.parent)
    first = declaration.families[0].model_copy(update={"groups": declaration.families[0].groups})
    inputs = synthetic_inputs(METHODS, sites=3)
    few = first.groups[0].model_copy(update={"about": ("random_search",)})
    mine = declaration.model_copy(
        update={
            "families": (first.model_copy(update={"groups": (few,)}),),
            "measures": MeasureSpec(fewest_campaigns=9),
            "gates": declaration.gates.model_copy(update={"largest_missing_share": 0.25}),
            "power": declaration.power.model_copy(update={"target": 0.9}),
        }
    )
    spec = confirmatory_spec(mine, inputs.study)
    assert spec.measures.fewest_campaigns == 9
    assert spec.largest_missing_share == 0.25
    assert spec.power == 0.9
    for name in ("alpha", "confidence", "flips", "resamples", "base_seed", "sesoi_eur_m2"):
        assert getattr(spec, name) == getattr(mine.statistics, name)
    for name in ("repeat_rule", "sensitivity_repeat_rule"):
        assert getattr(spec, name) is getattr(mine.statistics, name)


@pytest.fixture(scope="module")
def inputs():
    return synthetic_inputs(METHODS, sites=3, readers=())


@pytest.fixture(scope="module")
def plain(inputs):
    return build_numbers(inputs)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"tie_band_eur_m2": 30.0}, "autolab.dominance.pairwise"),
        ({"near_zero_eur_m2": 1e4}, "autolab.attempts.methods"),
        ({"most_share": 1e-9}, "autolab.failures.most_share"),
        ({"schedule_tolerance_days": 0.0}, "diagnostics.methods"),
        ({"wave_tolerance_days": 0.0}, "diagnostics.methods"),
        ({"wave_tolerance_days": 200.0}, "autolab.conduct.methods"),
        ({"fewest_campaigns": 99}, "autolab.conduct.methods"),
        ({"predictor_gate": 0.5}, "agents.predictor_gate"),
        ({"share_resamples": 100}, "common_gain.methods"),
    ],
)
def test_each_number_of_the_measures_counts(inputs, plain, change, place) -> None:
    spec = spec_of(inputs)
    measures = spec.measures.model_copy(update=change)
    declared = spec.model_copy(update={"measures": measures})
    numbers = build_numbers(replace(inputs, declared=declared))
    one, other = plain, numbers
    for key in place.split("."):
        one, other = one[key], other[key]
    assert one != other
    assert numbers["tests"] == plain["tests"]
