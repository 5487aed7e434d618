"""Evaluate expression graphs with NumPy or JAX arrays.

``exact`` evaluation follows the definition files literally (up to the sign-split logistic).
The compiled model uses the other mode: real powers of a magnitude as exp(q log x) with x
floored at 1e-6, square roots of non-negative arguments, which is faster and has no infinite
slope.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from slowlab.greenlight.expression import COMPARISONS, Graph, Node

MAGNITUDE_FLOOR = 1e-6
Array = Any


def reachable(graph: Graph, roots: Iterable[int], stop: frozenset[int] = frozenset()) -> list[int]:
    """Ids needed for roots, in topological order; ids in ``stop`` are leaves."""
    seen: set[int] = set()
    pending = list(roots)
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if node not in stop:
            pending.extend(graph.nodes[node].args)
    return sorted(seen)


def evaluate(
    graph: Graph,
    roots: Sequence[int],
    symbols: Mapping[str, Array],
    xp: ModuleType,
    *,
    exact: bool,
    given: Mapping[int, Array] | None = None,
) -> list[Array]:
    """Values of graph ids.

    Args:
        graph: the expression graph.
        roots: ids wanted.
        symbols: name -> array (any mutually broadcastable shapes).
        xp: ``numpy`` or ``jax.numpy``.
        exact: literal powers instead of the floored exp-log form.
        given: ids whose values are known already (results of an earlier stage).

    Returns:
        One array (or float) per root.

    Raises:
        KeyError: a needed symbol is not given.
    """
    values: dict[int, Array] = dict(given or {})
    for node_id in reachable(graph, roots, frozenset(values)):
        if node_id not in values:
            node = graph.nodes[node_id]
            values[node_id] = _apply(graph, node, values, symbols, xp, exact)
    return [values[r] for r in roots]


def _apply(
    graph: Graph,
    node: Node,
    values: Mapping[int, Array],
    symbols: Mapping[str, Array],
    xp: ModuleType,
    exact: bool,
) -> Array:
    if node.op == "const":
        return node.value
    if node.op == "symbol":
        return symbols[node.name]
    arguments = [values[a] for a in node.args]
    if node.op == "pow":
        return _power(graph, node, arguments, xp, exact)
    return _operation(node.op, arguments, xp)


def _operation(op: str, a: list[Array], xp: ModuleType) -> Array:
    match op:
        case "add":
            return a[0] + a[1]
        case "sub":
            return a[0] - a[1]
        case "mul":
            return a[0] * a[1]
        case "div":
            return a[0] / a[1]
        case "neg":
            return -a[0]
        case "logistic":
            return _logistic(a[0], xp)
        case "min":
            return xp.minimum(a[0], a[1])
        case "max":
            return xp.maximum(a[0], a[1])
        case "mod":
            return xp.mod(a[0], a[1])
        case "select":
            return xp.where(xp.asarray(a[0]) != 0, a[1], a[2])
        case "exp" | "log" | "sqrt" | "abs" | "cos":
            return getattr(xp, op)(a[0])
    if op in COMPARISONS:
        return _comparison(op, a, xp)
    raise KeyError(op)


def _comparison(op: str, a: list[Array], xp: ModuleType) -> Array:
    name = {
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
        "eq": "equal",
        "ne": "not_equal",
        "and": "logical_and",
        "or": "logical_or",
    }[op]
    return getattr(xp, name)(a[0], a[1]) * 1.0


def _logistic(x: Array, xp: ModuleType) -> Array:
    """1/(1+exp(-x)); exp of a non-positive number only, so it never overflows."""
    e = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1.0, e) / (1.0 + e)


def _power(graph: Graph, node: Node, a: list[Array], xp: ModuleType, exact: bool) -> Array:
    if exact or graph.nodes[node.args[0]].op == "const":
        return xp.power(a[0], a[1])
    return xp.exp(a[1] * xp.log(xp.maximum(a[0], MAGNITUDE_FLOOR)))
