"""Regrouping and staging change neither values nor meaning, and move work off the fast level."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from slowlab.greenlight.definition import ModelDefinition
from slowlab.greenlight.evaluate import MAGNITUDE_FLOOR, evaluate, reachable
from slowlab.greenlight.expression import Graph
from slowlab.greenlight.integrator import SYMBOL_LEVEL
from slowlab.greenlight.model import (
    FAST_STATES,
    PARAMETERS,
)
from slowlab.greenlight.parser import Expander
from slowlab.greenlight.staging import (
    CONSTANT,
    LANE,
    STEP,
    SUBSTEP,
    frontier,
    levels,
    restructure,
)
from tests.greenlight.checks import check_regrouping_keeps_values, roots_of
from tests.greenlight.expressions import (
    NAMES,
    NUMBERS,
    POSITIVE,
    POSITIVE_NUMBERS,
    WHOLE,
    python_value,
    stays_exact,
)
from tests.greenlight.simulator import everything, fresh_model, smallest_power_base

LEVELS = st.fixed_dictionaries({name: st.sampled_from([LANE, STEP, SUBSTEP]) for name in NAMES})


def parsed(text: str) -> tuple[Graph, int]:
    expander = Expander(ModelDefinition({}), Graph(), frozenset(NAMES))
    return expander.graph, expander.parse(text)


def test_production_graph_equals_the_literal_one_at_golden_states():
    check_regrouping_keeps_values()


def test_power_floor_leaves_every_value_finite():
    model = fresh_model()
    symbols = everything()
    level_air = {name: symbols["tAir"] for name in FAST_STATES if name.startswith("t")}
    symbols |= level_air | {"tOut": symbols["tAir"], "wind": np.zeros(2000)}
    roots = list(roots_of(model).values())
    graph, new = restructure(model.graph, roots, SYMBOL_LEVEL)
    values = evaluate(graph, new, symbols, np, exact=False)
    assert all(np.isfinite(v).all() for v in values)


def test_whole_production_graph_does_less_on_the_fast_level():
    model = fresh_model()
    roots = list(roots_of(model).values())
    graph, new = restructure(model.graph, roots, SYMBOL_LEVEL)

    def fast_work(g: Graph, r: list[int], op: str = "") -> int:
        level = levels(g, SYMBOL_LEVEL)
        needed = [n for n in reachable(g, r) if level[n] == SUBSTEP]
        return sum(g.nodes[n].op != "symbol" and op in ("", g.nodes[n].op) for n in needed)

    assert fast_work(graph, new) < fast_work(model.graph, roots)
    assert fast_work(graph, new, "div") < fast_work(model.graph, roots, "div")
    assert fast_work(graph, new, "pow") == 0


@given(text=WHOLE, numbers=NUMBERS, level=LEVELS)
def test_regrouping_whole_numbers_is_exact(text, numbers, level):
    assume(stays_exact(text, numbers))
    graph, root = parsed(text)
    regrouped, (new,) = restructure(graph, [root], level)
    value = evaluate(regrouped, [new], numbers, np, exact=True)[0]
    assert float(value) == float(python_value(text, numbers))


@given(text=POSITIVE, numbers=POSITIVE_NUMBERS, level=LEVELS)
def test_regrouping_changes_rounding_only(text, numbers, level):
    try:
        expected = python_value(text, numbers)
    except (OverflowError, ZeroDivisionError):
        reject()
    assume(1e-100 < expected < 1e100)
    graph, root = parsed(text)
    regrouped, (new,) = restructure(graph, [root], level)
    assume(smallest_power_base(graph, [root], numbers) > MAGNITUDE_FLOOR)
    value = evaluate(regrouped, [new], numbers, np, exact=False)[0]
    assert float(value) == pytest.approx(expected, rel=1e-10)


@given(text=WHOLE, level=LEVELS)
def test_level_is_the_highest_of_the_symbols_below(text, level):
    graph, root = parsed(text)
    found = levels(graph, level)
    for node in reachable(graph, [root]):
        below = [graph.nodes[n] for n in reachable(graph, [node])]
        symbols = [level[n.name] for n in below if n.op == "symbol"]
        assert found[node] == max(symbols, default=CONSTANT)


@given(text=st.one_of(WHOLE, POSITIVE), numbers=POSITIVE_NUMBERS, level=LEVELS)
def test_stages_hand_over_all_that_faster_ones_need(text, numbers, level):
    """Each stage sees its own symbols only, so a value not handed over is a KeyError."""
    graph, root = parsed(text)
    with np.errstate(all="ignore"):
        expected = evaluate(graph, [root], numbers, np, exact=True)[0]
        of_node = levels(graph, level)
        given_values: dict[int, float] = {}
        for stage in (LANE, STEP):
            ids = frontier(graph, [root], of_node, stage)
            assert all(CONSTANT < of_node[n] <= stage for n in ids)
            symbols = {name: numbers[name] for name in NAMES if level[name] == stage}
            values = evaluate(graph, ids, symbols, np, exact=True, given=given_values)
            given_values = dict(zip(ids, values, strict=True))
        symbols = {name: numbers[name] for name in NAMES if level[name] == SUBSTEP}
        value = evaluate(graph, [root], symbols, np, exact=True, given=given_values)[0]
    np.testing.assert_array_equal(value, expected)


def test_symbol_without_a_level_is_refused():
    graph, _ = parsed("x + y")
    with pytest.raises(KeyError, match="y"):
        levels(graph, {"x": LANE})


def symbols_below(graph: Graph, nodes) -> set[str]:
    return {graph.nodes[n].name for n in reachable(graph, nodes) if graph.nodes[n].op == "symbol"}


def test_frontiers_of_the_model_hold_nothing_fast(staged):
    fast = set(FAST_STATES)
    assert not symbols_below(staged.graph, staged.step_frontier) & fast
    assert symbols_below(staged.graph, staged.lane_frontier) <= set(PARAMETERS) - {"cropPresent"}
    assert all(0 < staged.level[n] <= STEP for n in staged.step_frontier)
    assert all(0 < staged.level[n] <= LANE for n in staged.lane_frontier)
    assert len(set(staged.step_frontier)) == len(staged.step_frontier)


def test_staged_model_evaluated_stage_by_stage_equals_all_at_once(staged):
    symbols = everything() | {"tBlScr": np.zeros(2000)}
    roots = [*staged.fast_rates, *staged.slow_rates, *staged.booked, *staged.observed]
    roots += [staged.lit_pole, *staged.jacobian.values()]
    whole = evaluate(staged.graph, roots, symbols, np, exact=False)

    def only(level: int) -> dict[str, np.ndarray]:
        return {n: v for n, v in symbols.items() if SYMBOL_LEVEL[n] == level}

    def stage(ids, level, known):
        values = evaluate(staged.graph, ids, only(level), np, exact=False, given=known)
        return dict(zip(ids, values, strict=True))

    lane = stage(staged.lane_frontier, LANE, {})
    held = stage(staged.step_frontier, STEP, lane)
    parts = evaluate(staged.graph, roots, only(SUBSTEP), np, exact=False, given=held)
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(np.broadcast_to(a, 2000), np.broadcast_to(b, 2000))
