"""Symbolic derivatives against automatic and numerical ones; the unrolled linear solver."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.greenlight.definition import ModelDefinition
from slowlab.greenlight.differentiate import Differentiator
from slowlab.greenlight.evaluate import MAGNITUDE_FLOOR, evaluate, reachable
from slowlab.greenlight.expression import Graph
from slowlab.greenlight.integrator import COUPLINGS, picard_jacobian
from slowlab.greenlight.linear import elimination_order, solve
from slowlab.greenlight.model import FAST_STATES, SLOW_STATES
from slowlab.greenlight.parser import Expander
from tests.greenlight.simulator import everything, fresh_model, smallest_power_base

PATTERN = frozenset(COUPLINGS) | frozenset((b, a) for a, b in COUPLINGS)
# Operations that the frozen form takes as constant coefficients.
COEFFICIENTS = {"pow", "sqrt", "logistic", "min", "max", "abs", "cos", "mod"}


def derivative(text: str, *, frozen: bool, **numbers: float) -> float:
    """d(text)/dx at the given numbers."""
    graph = Graph()
    root = Expander(ModelDefinition({}), graph, frozenset(numbers)).parse(text)
    slope = Differentiator(graph, graph.symbol("x"), frozen).of(root)
    return float(evaluate(graph, [slope], numbers, np, exact=True)[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", 1.0), ("y", 0.0), ("3 * x - x / y", 3 - 1 / 2.0), ("y / x", -2.0 / 9),
        ("-x * x", -6.0),
        ("x**4", 108.0), ("x**0.5", 0.5 / np.sqrt(3)), ("y**x", 8 * np.log(2)),
        ("x**x", 27 * (1 + np.log(3))), ("exp(y * x)", 2 * np.exp(6)), ("log(y * x)", 1 / 3),
        ("sqrt(y * x)", 1 / np.sqrt(6)), ("abs(y - x)", 1.0), ("abs(x - 5)", -1.0),
        ("min(x, y)", 0.0), ("max(x, y)", 1.0), ("min(x, 5)", 1.0), ("x * (x > y)", 1.0),
        ("1 / (1 + exp(-x))", np.exp(-3) / (1 + np.exp(-3)) ** 2), ("ifElse(x > y, x * x, y)", 6.0),
        ("ifElse(x < y, x * x, 5 * x)", 5.0),
    ],
)  # fmt: skip
def test_rules(text, expected):
    assert derivative(text, frozen=False, x=3.0, y=2.0) == pytest.approx(expected, rel=1e-13)


def test_operation_without_a_rule_is_refused():
    with pytest.raises(ValueError, match="no derivative rule for cos"):
        derivative("cos(x)", frozen=False, x=1.0)


@given(x=st.floats(0.5, 3.0), y=st.floats(0.5, 3.0))
def test_exact_derivative_equals_central_difference(x, y):
    text = "exp(-x / y) * sqrt(x + y) + y**1.7 / (1 + exp(-(x - y))) - x**0.33 * log(x * y)"
    h = 1e-5

    def value(at: float) -> float:
        graph = Graph()
        root = Expander(ModelDefinition({}), graph, frozenset("xy")).parse(text)
        return float(evaluate(graph, [root], {"x": at, "y": y}, np, exact=True)[0])

    numerical = (value(x + h) - value(x - h)) / (2 * h)
    assert derivative(text, frozen=False, x=x, y=y) == pytest.approx(numerical, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize(
    ("text", "frozen"),
    [
        ("abs(x - y)**0.33 * (x - y)", 1.0),
        ("sqrt(abs(x - y)) * (x - y)", 1.0),
        ("(x - y) / (1 + exp(-(x - y)))", 1 / (1 + np.exp(-1))),
        ("max(x, y) * (x - y)", 3.0),
        ("(x + 273.15)**4", 4 * 276.15**3),
        ("exp(x) * (x - y)", 2 * np.exp(3)),
    ],
)
def test_frozen_form_takes_coefficients_as_constant(text, frozen):
    assert derivative(text, frozen=True, x=3.0, y=2.0) == pytest.approx(frozen, rel=1e-13)


@pytest.fixture(scope="module")
def clear_rows() -> dict[str, np.ndarray]:
    """Golden states whose powers and magnitudes are well away from their kinks."""
    model, symbols = fresh_model(), everything()
    base = smallest_power_base(model.graph, list(model.derivatives.values()), symbols)
    rows = np.flatnonzero(base > 100 * MAGNITUDE_FLOOR)[:300]
    return {name: values[rows] for name, values in symbols.items()}


def test_exact_derivatives_of_the_model_equal_automatic_ones(clear_rows):
    model = fresh_model()
    rows = [model.derivatives[s] for s in FAST_STATES + SLOW_STATES]
    fast = {s: clear_rows[s] for s in FAST_STATES}
    others = {k: v for k, v in clear_rows.items() if k not in FAST_STATES}

    @jax.jit
    def slope(point, direction):
        def rates(at):
            found = evaluate(model.graph, rows, others | at, jnp, exact=True)
            return jnp.stack([jnp.broadcast_to(v, len(clear_rows["tAir"])) for v in found])

        return jax.jvp(rates, (point,), (direction,))[1]

    with jax.enable_x64(True):
        still = dict.fromkeys(FAST_STATES, np.zeros_like(fast["tAir"]))
        directions = [still | {s: np.ones_like(fast["tAir"])} for s in FAST_STATES]
        expected = np.stack([np.asarray(slope(fast, d)).T for d in directions], axis=2)
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
    assert np.isfinite(expected).all()
    for j, state in enumerate(FAST_STATES):
        differentiate = Differentiator(model.graph, model.graph.symbol(state))
        slopes = [differentiate.of(r) for r in rows]
        found = evaluate(model.graph, slopes, clear_rows, np, exact=True)
        for i, values in enumerate(found):
            difference = np.abs(values - expected[:, i, j])
            allowed = 1e-9 * np.abs(expected[:, i, j]) + 1e-13 * scale[:, 0, 0]
            assert (difference <= allowed).all(), (FAST_STATES + SLOW_STATES)[i] + " by " + state


def test_picard_matrix_is_exact_where_no_coefficient_depends_on_the_column(clear_rows):
    model = fresh_model()
    pairs = [(a, b) for a in FAST_STATES for b in FAST_STATES if a != b]
    picard = picard_jacobian(model, pairs)
    compared = 0
    for (row, column), frozen in picard.items():
        symbol = model.graph.symbol(column)
        below = reachable(model.graph, [model.derivatives[row]])
        active = [n for n in below if symbol in reachable(model.graph, [n])]
        if any(model.graph.nodes[n].op in COEFFICIENTS for n in active):
            continue
        exact = Differentiator(model.graph, symbol).of(model.derivatives[row])
        a, b = evaluate(model.graph, [frozen, exact], clear_rows, np, exact=True)
        np.testing.assert_allclose(a, b, rtol=1e-12)
        compared += bool(np.any(b))
    assert compared > 20


def test_picard_matrix_damps_every_state(clear_rows):
    model = fresh_model()
    diagonal = picard_jacobian(model, [])
    values = evaluate(model.graph, list(diagonal.values()), clear_rows, np, exact=True)
    for (state, _), value in zip(diagonal, values, strict=True):
        assert (np.asarray(value) <= 0).all(), state


def test_couplings_need_no_fill_in():
    order, filled = elimination_order(FAST_STATES, PATTERN)
    assert filled == PATTERN
    assert sorted(order) == sorted(FAST_STATES)


def test_fill_in_is_found_where_it_is_needed():
    cycle = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    pattern = frozenset(cycle) | frozenset((b, a) for a, b in cycle)
    order, filled = elimination_order("abcd", pattern)
    assert len(filled) == len(pattern) + 2
    matrix, right, expected = random_system("abcd", pattern, seed=3, count=2)
    found = solve(order, filled, matrix, right)
    np.testing.assert_allclose(np.stack([found[n] for n in "abcd"]), expected, rtol=1e-12)


def test_pattern_must_be_symmetric():
    with pytest.raises(ValueError, match="must be symmetric"):
        elimination_order("ab", frozenset({("a", "b")}))


def random_system(names, pattern, seed: int, count: int):
    """A diagonally dominant system with the given pattern: entries, right sides, solution."""
    names = list(names)
    rng = np.random.default_rng(seed)
    dense = np.zeros((count, len(names), len(names)))
    for a, b in pattern:
        dense[:, names.index(a), names.index(b)] = rng.normal(size=count)
    diagonal = np.abs(dense).sum(axis=2) + rng.uniform(0.1, 2.0, (count, len(names)))
    dense[:, range(len(names)), range(len(names))] = diagonal
    right = rng.normal(size=(count, len(names)))
    solution = np.linalg.solve(dense, right[:, :, None])[:, :, 0].T
    entries = {
        (a, b): dense[:, i, j]
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if a == b or (a, b) in pattern
    }
    return entries, dict(zip(names, right.T, strict=True)), solution


@given(seed=st.integers(0, 2**32 - 1))
def test_solver_equals_numpy_on_the_pattern_of_the_model(seed):
    order, filled = elimination_order(FAST_STATES, PATTERN)
    matrix, right, expected = random_system(FAST_STATES, PATTERN, seed, 5)
    found = solve(order, filled, matrix, right)
    np.testing.assert_allclose(
        np.stack([found[n] for n in FAST_STATES]), expected, rtol=1e-9, atol=1e-12
    )


@given(
    pairs=st.sets(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"))),
    seed=st.integers(0, 2**32 - 1),
)
def test_solver_equals_numpy_on_any_symmetric_pattern(pairs, seed):
    pattern = frozenset(p for a, b in pairs for p in ((a, b), (b, a)) if a != b)
    order, filled = elimination_order("abcdef", pattern)
    assert pattern <= filled
    matrix, right, expected = random_system("abcdef", pattern, seed, 3)
    kept = {key: np.array(value) for key, value in matrix.items()}
    found = solve(order, filled, matrix, right)
    np.testing.assert_allclose(
        np.stack([found[n] for n in "abcdef"]), expected, rtol=1e-9, atol=1e-12
    )
    assert all(np.array_equal(kept[key], matrix[key]) for key in kept)
