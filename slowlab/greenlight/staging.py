"""Stages: what changes once per lane, per control step, and per substep.

Each node has the level of its fastest symbol. ``restructure`` rewrites a graph so that as
much as possible lives on a low level: products and sums are regrouped slow factors first,
and a division by a slower quantity becomes a product with its reciprocal. ``frontier`` lists
the values one stage has to hand to the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slowlab.greenlight.evaluate import MAGNITUDE_FLOOR, reachable
from slowlab.greenlight.expression import Graph

CONSTANT, LANE, STEP, SUBSTEP = range(4)


def levels(graph: Graph, symbol_level: Mapping[str, int]) -> list[int]:
    """Level of every node: the highest level among the symbols below it.

    Raises:
        KeyError: a symbol without a level.
    """
    result: list[int] = []
    for node in graph.nodes:
        if node.op == "symbol":
            result.append(symbol_level[node.name])
        else:
            result.append(max((result[a] for a in node.args), default=CONSTANT))
    return result


def frontier(graph: Graph, roots: Sequence[int], level: Sequence[int], stage: int) -> list[int]:
    """Non-constant ids of level <= stage that anything faster (or the caller) needs."""
    wanted = {r for r in roots if level[r] <= stage}
    for node in reachable(graph, roots):
        if level[node] > stage:
            wanted.update(a for a in graph.nodes[node].args if level[a] <= stage)
    return sorted(n for n in wanted if level[n] > CONSTANT)


def restructure(
    graph: Graph, roots: Sequence[int], symbol_level: Mapping[str, int]
) -> tuple[Graph, list[int]]:
    """An equivalent graph with less work on the fast levels.

    Results differ from the original in rounding, and in the floor of real powers
    (see ``MAGNITUDE_FLOOR``).

    Returns:
        The new graph and the new ids of ``roots``.
    """
    builder = _Restructure(graph, roots, symbol_level)
    return builder.target, [builder.convert(r) for r in roots]


@dataclass
class _Restructure:
    source: Graph
    roots: Sequence[int]
    symbol_level: Mapping[str, int]
    target: Graph = field(default_factory=Graph)
    _done: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._level = levels(self.source, self.symbol_level)
        self._uses = Counter(
            a for n in reachable(self.source, self.roots) for a in self.source.nodes[n].args
        )

    def convert(self, node: int) -> int:
        for each in reachable(self.source, [node], frozenset(self._done)):
            if each not in self._done:
                self._done[each] = self._convert_one(each)
        return self._done[node]

    def _convert_one(self, node: int) -> int:
        source = self.source.nodes[node]
        match source.op:
            case "const":
                return self.target.const(source.value)
            case "symbol":
                return self.target.symbol(source.name)
            case "mul" | "div":
                return self._product(node)
            case "add" | "sub" | "neg":
                return self._sum(node)
            case "pow":
                return self._power(node)
            case "abs":
                return self._magnitude(node)
            case "select":
                return self._choice(node)
        return self.target.make(source.op, *(self._done[a] for a in source.args))

    def _merges(self, child: int, ops: frozenset[str]) -> bool:
        """A child is folded into its parent's chain if nothing else needs its value."""
        return self.source.nodes[child].op in ops and self._uses[child] == 1

    # -- products -------------------------------------------------------------------------
    def _product(self, node: int) -> int:
        factors: list[tuple[int, int]] = []
        self._collect_factors(node, node, factors)
        factors.sort(key=lambda f: f[0])
        return self._fold("mul", [f for _, f in factors])

    def _collect_factors(self, node: int, top: int, factors: list[tuple[int, int]]) -> None:
        source = self.source.nodes[node]
        mergeable = frozenset({"mul", "div"})
        if node != top and not self._merges(node, mergeable):
            factors.append((self._level[node], self._done[node]))
            return
        if source.op == "mul":
            for a in source.args:
                self._collect_factors(a, top, factors)
            return
        above, below = source.args
        if self._level[below] < self._level[top]:
            self._collect_factors(above, top, factors)
            inverse = self.target.make("div", self.target.const(1.0), self._done[below])
            factors.append((self._level[below], inverse))
        else:
            quotient = self.target.make("div", self._done[above], self._done[below])
            factors.append((self._level[node], quotient))

    # -- sums -----------------------------------------------------------------------------
    def _sum(self, node: int) -> int:
        terms: list[tuple[int, int, bool]] = []
        self._collect_terms(node, node, False, terms)
        total: int | None = None
        for level in sorted({t[0] for t in terms}):
            group = [(t, negative) for lv, t, negative in terms if lv == level]
            total = self._add_group(total, group)
        assert total is not None
        return total

    def _collect_terms(
        self, node: int, top: int, negative: bool, terms: list[tuple[int, int, bool]]
    ) -> None:
        source = self.source.nodes[node]
        if node != top and not self._merges(node, frozenset({"add", "sub", "neg"})):
            terms.append((self._level[node], self._done[node], negative))
            return
        signs = {"add": (negative, negative), "sub": (negative, not negative)}
        for a, sign in zip(source.args, signs.get(source.op, (not negative,)), strict=True):
            self._collect_terms(a, top, sign, terms)

    def _add_group(self, total: int | None, group: list[tuple[int, bool]]) -> int:
        positive = [t for t, negative in group if not negative]
        negative = [t for t, negative in group if negative]
        if total is not None:
            positive.insert(0, total)
        result = self._fold("add", positive) if positive else None
        for term in negative:
            result = (
                self.target.make("neg", term)
                if result is None
                else self.target.make("sub", result, term)
            )
        assert result is not None
        return result

    def _fold(self, op: str, items: list[int]) -> int:
        result = items[0]
        for item in items[1:]:
            result = self.target.make(op, result, item)
        return result

    # -- powers, magnitudes, choices --------------------------------------------------------
    def _power(self, node: int) -> int:
        base, exponent = (self._done[a] for a in self.source.nodes[node].args)
        if self.target.constant_value(base) is not None:
            return self.target.make("pow", base, exponent)
        floored = self.target.make("max", base, self.target.const(MAGNITUDE_FLOOR))
        logarithm = self.target.make("log", floored)
        return self.target.make("exp", self.target.make("mul", exponent, logarithm))

    def _magnitude(self, node: int) -> int:
        """|a - b| with its arguments in one order, so that |b - a| is the same node."""
        inner = self._done[self.source.nodes[node].args[0]]
        found = self.target.nodes[inner]
        if found.op == "sub" and found.args[0] > found.args[1]:
            inner = self.target.make("sub", found.args[1], found.args[0])
        return self.target.make("abs", inner)

    def _choice(self, node: int) -> int:
        """select(c, a*exp(p*x), b*exp(q*x)) needs one exponential only."""
        condition, first, second = (self._done[a] for a in self.source.nodes[node].args)
        one, two = self._scaled_exponential(first), self._scaled_exponential(second)
        if one is None or two is None or one[2] != two[2]:
            return self.target.make("select", condition, first, second)
        make = self.target.make
        factor = make("select", condition, one[0], two[0])
        exponent = make("select", condition, one[1], two[1])
        return make("mul", factor, make("exp", make("mul", exponent, one[2])))

    def _scaled_exponential(self, node: int) -> tuple[int, int, int] | None:
        """(a, p, x) of a * exp(p * x) with constant a and p, else None."""
        outer = self.target.nodes[node]
        if outer.op != "mul" or self.target.constant_value(outer.args[0]) is None:
            return None
        inner = self.target.nodes[outer.args[1]]
        if inner.op != "exp":
            return None
        product = self.target.nodes[inner.args[0]]
        if product.op != "mul" or self.target.constant_value(product.args[0]) is None:
            return None
        return outer.args[0], product.args[0], product.args[1]
