"""The unmodified model's right-hand side against GreenLight's own at 2,000 golden states."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType

import numpy as np
import pytest

from slowlab.greenlight.definition import ModelDefinition
from tests.greenlight.checks import check_right_hand_side, right_hand_side_errors
from tests.greenlight.simulator import golden_derivatives, golden_states


def changed(definition: ModelDefinition, name: str, old: str, new: str) -> ModelDefinition:
    """The definition with a piece of one expression replaced."""
    variable = definition.variables[name]
    assert old in variable.definition
    altered = dataclasses.replace(variable, definition=variable.definition.replace(old, new, 1))
    return ModelDefinition(MappingProxyType(dict(definition.variables) | {name: altered}))


def test_all_golden_states_agree(definition):
    errors = check_right_hand_side(definition)
    worst = max(errors, key=lambda state: errors[state])
    print(f"\nlargest relative error of a derivative: {errors[worst]:.2e} ({worst})")
    assert len(errors) == 28
    assert set(errors) == set(definition.of_kind("state"))


def test_golden_states_move_every_state_and_reach_extremes():
    derivatives, states = golden_derivatives(), golden_states()
    assert all(len(values) == 2000 for values in (*derivatives.values(), *states.values()))
    at_rest = {name for name, rate in derivatives.items() if not np.any(rate)}
    assert at_rest == {"tBlScr"}  # not used in this model
    assert states["tAir"].min() < 5
    assert states["tAir"].max() > 40
    assert states["iGlob"].max() > 900
    assert states["iGlob"].min() == 0


@pytest.mark.parametrize("constant", ["cDgh", "rgFruit", "capLeaf", "phiExtCo2", "tauRfPar"])
def test_changed_constant_is_seen(definition, constant):
    native = float(eval(definition.variables[constant].definition, {"__builtins__": {}}))
    with pytest.raises(AssertionError, match="relative"):
        check_right_hand_side(definition, values={constant: native * (1 + 1e-6)})


@pytest.mark.parametrize(
    ("first", "second"), [("tCovIn", "tCovE"), ("cStem", "cLeaf"), ("vpAir", "vpTop")]
)
def test_swapped_states_are_seen(definition, first, second):
    with pytest.raises(AssertionError, match="relative"):
        check_right_hand_side(definition, columns={first: second, second: first})


@pytest.mark.parametrize(
    ("name", "old", "new", "state"),
    [
        ("hAirTop", "tTop", "tAir", "tAir"),
        ("gamma", "+ 20", "- 20", "cBuf"),
        ("satVp(temp)", "238.3", "238.30001", "vpAir"),
    ],
)
def test_changed_equation_is_seen_where_it_acts(definition, name, old, new, state):
    errors = right_hand_side_errors(changed(definition, name, old, new))
    assert errors[state] > 1e-10
    assert errors["tSo3"] < 1e-10
