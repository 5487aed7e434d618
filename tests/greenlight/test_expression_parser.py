"""Definition strings to graph to numbers: the same as Python makes of the same string."""

from __future__ import annotations

import math
from types import MappingProxyType

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis.strategies import floats
from scipy.special import expit

from slowlab.greenlight.definition import DefinitionError, ModelDefinition, Variable
from slowlab.greenlight.evaluate import evaluate, reachable
from slowlab.greenlight.expression import FOLD, Graph, arity
from slowlab.greenlight.parser import Expander
from tests.greenlight.expressions import (
    NAMES,
    NUMBERS,
    POSITIVE,
    POSITIVE_NUMBERS,
    WHOLE,
    python_value,
    stays_exact,
)


def small_model(**expressions: str) -> ModelDefinition:
    """A definition made of auxiliaries."""
    variables = {n: Variable(n, "aux", text, None, "-", "test") for n, text in expressions.items()}
    return ModelDefinition(MappingProxyType(variables))


def with_functions(definition: ModelDefinition, **bodies: str) -> ModelDefinition:
    """The same with functions of one or two arguments, a and b, named as the keys."""
    added = {}
    for name, body in bodies.items():
        signature = f"{name}(a, b)"
        added[signature] = Variable(signature, "function", body, None, "-", "test")
    return ModelDefinition(MappingProxyType(dict(definition.variables) | added))


def expander(definition: ModelDefinition | None = None, **keywords) -> Expander:
    return Expander(definition or small_model(), Graph(), frozenset(NAMES), **keywords)


def value_of(text: str, symbols: dict[str, float], xp=np) -> float:
    """The string through parser, graph and evaluation."""
    made = expander()
    return evaluate(made.graph, [made.parse(text)], symbols, xp, exact=True)[0]


@given(text=WHOLE, numbers=NUMBERS)
def test_exact_expressions_equal_python(text, numbers):
    assume(stays_exact(text, numbers))
    assert float(value_of(text, numbers)) == float(python_value(text, numbers))


@given(text=WHOLE, numbers=NUMBERS)
def test_folded_constants_equal_python(text, numbers):
    """With every name replaced by a number, the whole expression folds to one constant."""
    assume(stays_exact(text, numbers))
    made = Expander(small_model(), Graph(), frozenset(), values=numbers)
    assert made.graph.constant_value(made.parse(text)) == float(python_value(text, numbers))


@given(text=POSITIVE, numbers=POSITIVE_NUMBERS)
def test_smooth_expressions_equal_python(text, numbers):
    try:
        expected = python_value(text, numbers)
    except (OverflowError, ZeroDivisionError):
        reject()
    assume(1e-100 < expected < 1e100)
    assert float(value_of(text, numbers)) == pytest.approx(expected, rel=1e-11)


@given(text=WHOLE)
def test_every_expression_exists_once(text):
    made = expander()
    first = made.parse(text)
    nodes = len(made.graph.nodes)
    assert made.parse(f"  {text} ") == first
    assert len(made.graph.nodes) == nodes
    assert len(set(made.graph.nodes)) == nodes


@given(text=WHOLE)
def test_nodes_come_after_their_arguments(text):
    made = expander()
    root = made.parse(text)
    assert all(a < n for n, node in enumerate(made.graph.nodes) for a in node.args)
    needed = reachable(made.graph, [root])
    assert needed == sorted(needed)
    assert needed[-1] == root


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("x + 0", "x"), ("0 + x", "x"), ("x - 0", "x"), ("0 - x", "-x"), ("x - x", "0"),
        ("x * 1", "x"), ("1 * x", "x"), ("0 * x", "0"), ("x * 0", "0"), ("-1 * x", "-x"),
        ("x / 1", "x"), ("0 / x", "0"), ("x**0", "1"), ("x**1", "x"), ("x**2", "x * x"),
        ("x**4", "(x * x) * (x * x)"), ("-(-x)", "x"), ("-(3 * x)", "-3 * x"),
        ("-(x - y)", "y - x"),
        ("min(x, x)", "x"), ("max(x, x)", "x"), ("ifElse(2 > 1, x, y)", "x"),
        ("ifElse(2 < 1, x, y)", "y"), ("ifElse(x < y, z, z)", "z"),
        ("logical_and(x < y, 0)", "0"), ("logical_and(1, x < y)", "x < y"),
        ("logical_or(x < y, 5)", "1"), ("logical_or(0, x < y)", "x < y"),
        ("logical_and(1, x)", "x != 0"), ("2 + 3 * 4", "14"),
    ],
)  # fmt: skip
def test_simplification(long, short):
    made = expander()
    assert made.parse(long) == made.parse(short)
    for numbers in ({"x": 3.0, "y": -2.0, "z": 0.5}, {"x": -1.5, "y": 4.0, "z": 2.0}):
        assert float(value_of(long, numbers)) == float(python_value(long, numbers))


@pytest.mark.parametrize("text", ["1 / (1 + exp(-x))", "1 / (exp(-x) + 1)"])
@given(x=floats(-1e4, 1e4))
def test_logistic_never_overflows(text, x):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value = float(value_of(text, {"x": np.float64(x)}))
        short = float(value_of(text, {"x": np.float32(x)}))
    assert value == pytest.approx(expit(x), rel=1e-12, abs=1e-300)
    assert short == pytest.approx(expit(x), rel=2e-5 + 1e-6 * abs(x), abs=1e-37)
    if abs(x) < 700:
        assert value == pytest.approx(1.0 / (1.0 + math.exp(-x)), rel=1e-12)


@given(x=floats(-1e4, 1e4))
def test_folded_logistic_never_overflows(x):
    assert FOLD["logistic"](x) == pytest.approx(expit(x), rel=1e-12, abs=1e-300)


def test_logistic_with_a_numerator_and_jax():
    x = np.array([-1e4, -880.0, 0.0, 880.0, 1e4], np.float32)
    value = value_of("50 / (1 + exp(-x * 0.1))", {"x": jnp.asarray(x)}, jnp)
    np.testing.assert_allclose(value, 50 * expit(x / 10), rtol=1e-5, atol=1e-30)


def test_evaluation_is_elementwise_and_broadcasts():
    made = expander()
    root = made.parse("x * y + ifElse(x > 1, z, -z)")
    x, y = np.arange(3.0), np.array([[1.0], [10.0]])
    value = evaluate(made.graph, [root], {"x": x, "y": y, "z": 0.5}, np, exact=True)[0]
    np.testing.assert_array_equal(value, [[-0.5, 0.5, 2.5], [-0.5, 9.5, 20.5]])


def test_given_values_replace_what_is_below_them():
    made = expander()
    inner, root = made.parse("x + y"), made.parse("(x + y) * z")
    assert evaluate(made.graph, [root], {"z": 2.0}, np, exact=True, given={inner: 5.0}) == [10.0]
    with pytest.raises(KeyError, match="x"):
        evaluate(made.graph, [root], {"z": 2.0}, np, exact=True)


def test_powers_are_floored_only_in_production_mode():
    made = expander()
    root = made.parse("abs(x)**0.33")
    for x in (0.0, 1e-7, 1e-6):
        floored = evaluate(made.graph, [root], {"x": x}, np, exact=False)[0]
        assert floored == pytest.approx(1e-6**0.33, rel=1e-12)
    assert evaluate(made.graph, [root], {"x": 0.0}, np, exact=True)[0] == 0.0
    for mode in (True, False):
        value = evaluate(made.graph, [root], {"x": -4.0}, np, exact=mode)[0]
        assert value == pytest.approx(4.0**0.33, rel=1e-12)


def test_functions_bind_their_own_arguments():
    model = with_functions(small_model(a="100"), twice="2 * a + b", nested="twice(b, a) - a")
    made = expander(model)
    root = made.parse("nested(x, y) + a")
    value = evaluate(made.graph, [root], {"x": 3.0, "y": 5.0}, np, exact=True)[0]
    assert value == (2 * 5 + 3) - 3 + 100


def test_definitions_may_refer_to_later_ones_and_are_expanded_once():
    made = expander(small_model(first="second * second", second="third + x", third="3"))
    value = evaluate(made.graph, [made.resolve("first")], {"x": 4.0}, np, exact=True)[0]
    assert value == 49.0
    assert made.resolve("first") == made.resolve("first")


def test_values_and_overrides_replace_definitions():
    def doubled(graph: Graph, native: int) -> int:
        return graph.make("mul", graph.const(2.0), native)

    model = small_model(first="second + x", second="exp(x)")
    made = expander(model, values={"second": 10.0}, overrides={"first": doubled, "x": doubled})
    value = evaluate(made.graph, [made.resolve("first")], {"x": 4.0}, np, exact=True)[0]
    assert value == 2.0 * (10.0 + 2.0 * 4.0)


@pytest.mark.parametrize(
    "text",
    [
        "x if y else z", "x and y", "not x", "x[0]", "x.real", "lambda: 1", "x < y < z", "'text'",
        "x // y", "x @ y", "x & y", "~x", "+x", "1j", "(x, y)", "[x]", "min(*x)", "exp(x=1)",
        "min(x, y, b=z)", "(x := 1)", "x(1)(2)", "None",
    ],
)  # fmt: skip
def test_unsupported_syntax_is_refused(text):
    with pytest.raises(DefinitionError, match="unsupported syntax"):
        expander().parse(text)


@pytest.mark.parametrize("text", ["", "x +", "2 x", "exp(x", "x = 1", "import os", "x\ny"])
def test_text_that_is_no_expression_is_refused(text):
    with pytest.raises(DefinitionError, match="cannot parse"):
        expander().parse(text)


def test_unknown_names_are_refused():
    made = expander(small_model(first="tCan + x"))
    with pytest.raises(DefinitionError, match="no variable 'tCan'"):
        made.resolve("first")
    with pytest.raises(DefinitionError, match="no function 'sin'"):
        made.parse("sin(x)")
    with pytest.raises(DefinitionError, match="no state 'tGround'"):
        made.derivative_of("tGround")


@pytest.mark.parametrize("loop", [{"first": "first + 1"}, {"first": "2 * other", "other": "first"}])
def test_circular_definitions_are_refused(loop):
    with pytest.raises(DefinitionError, match="circular definition of 'first'"):
        expander(small_model(**loop)).resolve("first")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exp(x, y)", "exp takes 1 arguments, not 2"),
        ("exp()", "exp takes 1 arguments, not 0"),
        ("min(x)", "min takes 2 arguments, not 1"),
        ("max(x, y, z)", "max takes 2 arguments, not 3"),
        ("ifElse(x > 0, y)", "ifElse takes 3 arguments, not 2"),
        ("twice(x)", "twice takes 2 arguments, not 1"),
        ("logical_and(x, y, z)", "logical_and takes 2 arguments, not 3"),
    ],
)
def test_wrong_number_of_arguments_is_refused(text, message):
    with pytest.raises(DefinitionError, match=message):
        expander(with_functions(small_model(), twice="2 * a + b")).parse(text)


def test_number_of_arguments_of_every_operation():
    for op, fold in FOLD.items():
        numbers = [0.5, 2.0, 3.0][: arity(op)]
        assert math.isfinite(fold(*numbers)), op


def test_known_function_with_another_body_is_refused():
    with pytest.raises(DefinitionError, match=r"function min\(a, b\) is defined as 'a', unexpect"):
        expander(with_functions(small_model(), min="a"))
    expander(with_functions(small_model(), min="(a < b)*a + (b <= a)*b"))


def test_unknown_operation_is_refused():
    graph = Graph()
    with pytest.raises(KeyError, match="sin"):
        graph.make("sin", graph.symbol("x"))
