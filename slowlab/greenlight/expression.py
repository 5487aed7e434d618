"""A hash-consed expression graph with constant folding.

Every distinct expression exists once, so common sub-expressions are shared by construction
and an expression's identity is its integer id. Operations are the ones GreenLight's
definition files use, plus two that keep them well-behaved when compiled: ``logistic`` (the
ubiquitous ``1/(1+exp(x))``, which overflows when evaluated as written) and ``select``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


def _logistic(x: float) -> float:
    """1/(1+exp(-x)) by the sign of x, so that exp never overflows."""
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


FOLD: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "mod": lambda a, b: a % b,
    "neg": lambda a: -a,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "abs": abs,
    "cos": math.cos,
    "min": min,
    "max": max,
    "logistic": _logistic,
    "lt": lambda a, b: float(a < b),
    "le": lambda a, b: float(a <= b),
    "gt": lambda a, b: float(a > b),
    "ge": lambda a, b: float(a >= b),
    "eq": lambda a, b: float(a == b),
    "ne": lambda a, b: float(a != b),
    "and": lambda a, b: float(bool(a) and bool(b)),
    "or": lambda a, b: float(bool(a) or bool(b)),
    "select": lambda c, a, b: a if c else b,
}
COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "and", "or"})
_UNARY = frozenset({"neg", "exp", "log", "sqrt", "abs", "cos", "logistic"})


def arity(op: str) -> int:
    """Number of arguments of an operation."""
    if op == "select":
        return 3
    return 1 if op in _UNARY else 2


@dataclass(frozen=True)
class Node:
    """One operation: ``const`` (value), ``symbol`` (name) or an entry of ``FOLD`` on ids."""

    op: str
    args: tuple[int, ...] = ()
    value: float = 0.0
    name: str = ""


@dataclass
class Graph:
    """Nodes in topological order; ``make`` simplifies, folds constants and shares."""

    nodes: list[Node] = field(default_factory=list)
    _index: dict[Node, int] = field(default_factory=dict)

    def _intern(self, node: Node) -> int:
        found = self._index.get(node)
        if found is None:
            found = len(self.nodes)
            self.nodes.append(node)
            self._index[node] = found
        return found

    def const(self, value: float) -> int:
        """Id of a number."""
        return self._intern(Node("const", value=float(value)))

    def symbol(self, name: str) -> int:
        """Id of a free quantity."""
        return self._intern(Node("symbol", name=name))

    def constant_value(self, node: int) -> float | None:
        """The number behind an id, or None if it is not a constant."""
        found = self.nodes[node]
        return found.value if found.op == "const" else None

    def make(self, op: str, *args: int) -> int:
        """Id of ``op(*args)``, simplified.

        Raises:
            KeyError: unknown operation.
        """
        fold = FOLD[op]
        values = [self.constant_value(a) for a in args]
        if all(v is not None for v in values):
            return self.const(fold(*values))
        simpler = self._simplify(op, args, values)
        return self._intern(Node(op, tuple(args))) if simpler is None else simpler

    def _simplify(self, op: str, args: Sequence[int], values: Sequence[float | None]) -> int | None:
        rule = _RULES.get(op)
        return None if rule is None else rule(self, args, values)

    def total(self, terms: Sequence[int]) -> int:
        """Sum of terms, left to right; zero when empty."""
        result = self.const(0.0)
        for term in terms:
            result = self.make("add", result, term)
        return result


def _add(g: Graph, args: Sequence[int], values: Sequence[float | None]) -> int | None:
    if values[0] == 0.0:
        return args[1]
    if values[1] == 0.0:
        return args[0]
    return None


def _sub(g: Graph, args: Sequence[int], values: Sequence[float | None]) -> int | None:
    if values[1] == 0.0:
        return args[0]
    if values[0] == 0.0:
        return g.make("neg", args[1])
    if args[0] == args[1]:
        return g.const(0.0)
    return None


def _mul(g: Graph, args: Sequence[int], values: Sequence[float | None]) -> int | None:
    for own, other in ((0, 1), (1, 0)):
        if values[own] == 0.0:
            return g.const(0.0)
        if values[own] == 1.0:
            return args[other]
        if values[own] == -1.0:
            return g.make("neg", args[other])
    return None


def _div(g: Graph, args: Sequence[int], values: Sequence[float | None]) -> int | None:
    if values[0] == 0.0:
        return g.const(0.0)
    if values[1] == 1.0:
        return args[0]
    return _as_logistic(g, args)


def _as_logistic(g: Graph, args: Sequence[int]) -> int | None:
    """Recognise c / (1 + exp(x)) and write it c * logistic(-x)."""
    below = g.nodes[args[1]]
    if below.op != "add":
        return None
    for one, exponential in (below.args, below.args[::-1]):
        if g.constant_value(one) == 1.0 and g.nodes[exponential].op == "exp":
            inner = g.nodes[exponential].args[0]
            return g.make("mul", args[0], g.make("logistic", g.make("neg", inner)))
    return None


def _pow(g: Graph, args: Sequence[int], values: Sequence[float | None]) -> int | None:
    exponent = values[1]
    if exponent == 0.0:
        return g.const(1.0)
    if exponent == 1.0:
        return args[0]
    if exponent == 2.0:
        return g.make("mul", args[0], args[0])
    if exponent == 4.0:
        square = g.make("mul", args[0], args[0])
        return g.make("mul", square, square)
    return None


def _neg(g: Graph, args: Sequence[int], values: Sequence[float | None]) -> int | None:
    inner = g.nodes[args[0]]
    if inner.op == "neg":
        return inner.args[0]
    if inner.op == "mul":
        left = g.constant_value(inner.args[0])
        if left is not None:
            return g.make("mul", g.const(-left), inner.args[1])
    if inner.op == "sub":
        return g.make("sub", inner.args[1], inner.args[0])
    return None


def _select(g: Graph, args: Sequence[int], values: Sequence[float | None]) -> int | None:
    if values[0] is not None:
        return args[1] if values[0] else args[2]
    return args[1] if args[1] == args[2] else None


def _same(g: Graph, args: Sequence[int], values: Sequence[float | None]) -> int | None:
    return args[0] if args[0] == args[1] else None


def _logical(zero: float) -> Callable[[Graph, Sequence[int], Sequence[float | None]], int | None]:
    def rule(g: Graph, args: Sequence[int], values: Sequence[float | None]) -> int | None:
        for own, other in ((0, 1), (1, 0)):
            if values[own] is not None:
                if bool(values[own]) == bool(zero):
                    return g.const(zero)
                truth = g.nodes[args[other]].op in COMPARISONS
                return args[other] if truth else g.make("ne", args[other], g.const(0.0))
        return None

    return rule


_RULES: dict[str, Callable[[Graph, Sequence[int], Sequence[float | None]], int | None]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "neg": _neg,
    "select": _select,
    "min": _same,
    "max": _same,
    "and": _logical(0.0),
    "or": _logical(1.0),
}
