"""Random expressions of the definition language, and what Python makes of them."""

from __future__ import annotations

import ast
import math

from hypothesis import strategies as st

NAMES = ("x", "y", "z")
# What the functions of the definition language mean, for Python's own evaluation of a string.
MEANING = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "abs": abs,
    "cos": math.cos,
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "ifElse": lambda condition, a, b: a if condition else b,
    "logical_and": lambda a, b: int(bool(a) and bool(b)),
    "logical_or": lambda a, b: int(bool(a) or bool(b)),
}


def comparisons(inner):
    signs = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    return st.tuples(inner, signs, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})")


def whole_number_trees(inner):
    """Trees that stay exact in floating point when names stand for small whole numbers."""
    truth = comparisons(inner)
    infix = st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
    powers = st.tuples(inner, st.sampled_from("0124")).map(lambda t: f"({t[0]})**{t[1]}")
    calls = st.tuples(st.sampled_from(["min", "max", "logical_and", "logical_or"]), inner, inner)
    choices = st.tuples(truth, inner, inner).map(lambda t: f"ifElse({t[0]}, {t[1]}, {t[2]})")
    return st.one_of(
        infix,
        infix,
        powers,
        truth,
        choices,
        inner.map(lambda t: f"(-{t})"),
        inner.map(lambda t: f"abs({t})"),
        inner.map(lambda t: f"mod({t}, 7)"),
        calls.map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
    )


LEAVES = st.sampled_from([*NAMES, "0", "1", "2", "3", "4.0"])
WHOLE = st.recursive(LEAVES, whole_number_trees, max_leaves=10)
NUMBERS = st.fixed_dictionaries({name: st.integers(-4, 4).map(float) for name in NAMES})


def python_value(text: str, numbers: dict[str, float]) -> float:
    """What Python makes of the string."""
    return eval(text, {"__builtins__": {}}, MEANING | numbers)


def stays_exact(text: str, numbers: dict[str, float]) -> bool:
    """True if no part of the expression leaves the range of exact whole numbers."""
    parts = [part for part in ast.walk(ast.parse(text)) if isinstance(part, ast.expr)]
    texts = {ast.unparse(part) for part in parts if not isinstance(part, ast.Name)}
    try:
        return all(abs(python_value(part, numbers)) < 2**50 for part in texts)
    except OverflowError:
        return False


def growing_trees(inner):
    """Trees of positive, well-conditioned operations, so that rounding cannot be amplified."""
    infix = st.tuples(inner, st.sampled_from("+*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
    return st.one_of(
        infix,
        inner.map(lambda t: f"exp(-{t})"),
        inner.map(lambda t: f"log(3 + {t})"),
        inner.map(lambda t: f"sqrt({t})"),
        inner.map(lambda t: f"({t})**0.66"),
        inner.map(lambda t: f"(2 + cos({t} / (1 + {t})))"),
        st.tuples(inner, inner).map(lambda t: f"{t[0]} / (1 + exp(-{t[1]} / (1 + {t[1]})))"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]} / (exp({t[1]} / (1 + {t[1]})) + 1))"),
    )


POSITIVE = st.recursive(st.sampled_from([*NAMES, "0.7", "1", "1.9"]), growing_trees, max_leaves=8)
POSITIVE_NUMBERS = st.fixed_dictionaries({name: st.floats(0.5, 2.0) for name in NAMES})
