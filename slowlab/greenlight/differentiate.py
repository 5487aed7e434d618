"""Symbolic derivatives on the expression graph.

``frozen_coefficients`` gives the Picard form used for the implicit stages: transfer
coefficients (roots, real powers, logistic switches, minima and maxima, magnitudes) count as
constants, so only the driving differences and fourth powers are differentiated. The
integrator is a W-method: its order does not depend on the exactness of this matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from slowlab.greenlight.expression import COMPARISONS, Graph

_COEFFICIENTS = frozenset({"pow", "sqrt", "logistic", "min", "max", "abs", "cos", "mod"})


@dataclass
class Differentiator:
    """d(node)/d(symbol) for one symbol, memoised."""

    graph: Graph
    symbol: int
    frozen_coefficients: bool = False
    _known: dict[int, int] = field(default_factory=dict)

    def of(self, node: int) -> int:
        """Id of the derivative of a node."""
        from slowlab.greenlight.evaluate import reachable

        for each in reachable(self.graph, [node], frozenset(self._known)):
            if each not in self._known:
                self._known[each] = self._rule(each)
        return self._known[node]

    def _rule(self, node: int) -> int:
        g = self.graph
        found = g.nodes[node]
        if node == self.symbol:
            return g.const(1.0)
        inner = [self._known[a] for a in found.args]
        if all(g.constant_value(d) == 0.0 for d in inner) or found.op in COMPARISONS:
            return g.const(0.0)
        if self.frozen_coefficients and found.op in _COEFFICIENTS:
            return g.const(0.0)
        return self._chain(node, found.op, found.args, inner)

    def _chain(self, node: int, op: str, a: tuple[int, ...], d: list[int]) -> int:
        make, const = self.graph.make, self.graph.const
        match op:
            case "add" | "sub":
                return make(op, d[0], d[1])
            case "neg":
                return make("neg", d[0])
            case "mul":
                return make("add", make("mul", d[0], a[1]), make("mul", a[0], d[1]))
            case "div":
                return self._quotient(node, a, d)
            case "exp":
                return make("mul", node, d[0])
            case "log":
                return make("div", d[0], a[0])
            case "sqrt":
                return make("div", d[0], make("mul", const(2.0), node))
            case "pow":
                return self._power(node, a, d)
            case "logistic":
                slope = make("mul", node, make("sub", const(1.0), node))
                return make("mul", slope, d[0])
            case "abs":
                sign = make("select", make("lt", a[0], const(0.0)), const(-1.0), const(1.0))
                return make("mul", sign, d[0])
            case "select":
                return make("select", a[0], d[1], d[2])
            case "min":
                return make("select", make("le", a[0], a[1]), d[0], d[1])
            case "max":
                return make("select", make("ge", a[0], a[1]), d[0], d[1])
        raise ValueError(f"no derivative rule for {op}")

    def _power(self, node: int, a: tuple[int, ...], d: list[int]) -> int:
        make, const = self.graph.make, self.graph.const
        terms = []
        if self.graph.constant_value(d[0]) != 0.0:
            reduced = make("pow", a[0], make("sub", a[1], const(1.0)))
            terms.append(make("mul", make("mul", a[1], reduced), d[0]))
        if self.graph.constant_value(d[1]) != 0.0:
            terms.append(make("mul", make("mul", node, make("log", a[0])), d[1]))
        return self.graph.total(terms)

    def _quotient(self, node: int, a: tuple[int, ...], d: list[int]) -> int:
        make = self.graph.make
        return make("div", make("sub", d[0], make("mul", node, d[1])), a[1])
