"""One 300 s control step of the climate and crop, for many lanes at once.

Commands, outdoor weather and the slow states are held over a control step. The fast states
follow a linearly implicit two-stage W-method (ROS2 with gamma = 1; Verwer et al. 1999):

    (I - h J) k1 = f(y)      (I - h J) k2 = f(y + h k1) - 2 k1      y+ = y + 3/2 h k1 + 1/2 h k2

on substeps that grow geometrically, so that the first after a change of commands is the
shortest. J keeps the diagonal and the couplings in ``COUPLINGS`` with transfer coefficients
frozen. Slow states and ledger flows advance with the time-averaged rates of the substeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from slowlab.greenlight.differentiate import Differentiator
from slowlab.greenlight.evaluate import evaluate
from slowlab.greenlight.expression import Graph
from slowlab.greenlight.linear import Pattern, elimination_order, solve
from slowlab.greenlight.model import (
    COMMANDS,
    FAST_STATES,
    INERT_STATES,
    PARAMETERS,
    SLOW_STATES,
    WEATHER,
    Model,
)
from slowlab.greenlight.staging import LANE, STEP, SUBSTEP, frontier, levels, restructure

Array = Any
Values = Mapping[str, Array]

STEP_SECONDS = 300
COUPLINGS = (
    ("tCovIn", "tCovE"),
    ("tTop", "tCovIn"),
    ("tAir", "tTop"),
    ("vpAir", "vpTop"),
    ("vpAir", "tCan"),
    ("co2Air", "co2Top"),
    ("tThScr", "tAir"),
    ("tThScr", "tTop"),
    ("tThScr", "tCovIn"),
    ("tCan", "tAir"),
    ("tLamp", "tAir"),
    ("tIntLamp", "tAir"),
)
SYMBOL_LEVEL = (
    dict.fromkeys(PARAMETERS, LANE)
    | dict.fromkeys(COMMANDS + WEATHER + SLOW_STATES + INERT_STATES + ("cropPresent",), STEP)
    | dict.fromkeys(FAST_STATES, SUBSTEP)
)
# Flows booked per control step, mean over the step (units of the GreenLight auxiliaries).
BOOKED = ("hBoilPipe", "qLampIn", "mcExtAir", "mcFruitHar", "transpiration")
# Readable at any state: air humidity (%), CO2 (ppm), leaf area index.
OBSERVED = ("rhIn", "co2InPpm", "lai")
# A lit canopy counts as "at the pole" when the denominator of gross photosynthesis falls
# below this share of the CO2 in the stomata (environment contract, crop collapse).
_POLE_SHARE = 0.02
_POLE_LIGHT_UMOL = 1.0


@dataclass(frozen=True)
class Scheme:
    """Substeps per control step and the growth ratio between neighbours.

    Twelve steps leave about half a percent in the heat of a summer crop that hardly heats, eight
    1.4 %: in the tail of the heating band, 2 mK are 2 % of the command.
    """

    substeps: int = 12
    ratio: float = 1.2

    def lengths_s(self) -> np.ndarray:
        """Substep lengths [substeps] in seconds; they add up to the control step."""
        weights = self.ratio ** np.arange(self.substeps, dtype=np.float64)
        return STEP_SECONDS * weights / weights.sum()


@dataclass(frozen=True)
class StagedModel:
    """The model split into what is computed per lane, per control step and per substep."""

    graph: Graph
    fast_rates: tuple[int, ...]
    jacobian: Mapping[tuple[str, str], int]
    slow_rates: tuple[int, ...]
    booked: tuple[int, ...]
    observed: tuple[int, ...]
    lit_pole: int
    level: tuple[int, ...]
    lane_frontier: tuple[int, ...]
    step_frontier: tuple[int, ...]
    order: tuple[str, ...]
    filled: Pattern


def stage_model(model: Model) -> StagedModel:
    """Add Jacobian, booked flows and pole test to a model and split it into stages."""
    pattern = frozenset(COUPLINGS) | frozenset((b, a) for a, b in COUPLINGS)
    order, filled = elimination_order(FAST_STATES, pattern)
    jacobian = picard_jacobian(model, sorted(filled))
    booked = [model.outputs[n] for n in BOOKED[:-1]] + [positive_transpiration(model)]
    groups = {
        "fast": [model.derivatives[s] for s in FAST_STATES],
        "jacobian": list(jacobian.values()),
        "slow": [model.derivatives[s] for s in SLOW_STATES],
        "booked": booked,
        "observed": [model.outputs[n] for n in OBSERVED],
        "pole": [lit_pole(model)],
    }
    roots = [i for group in groups.values() for i in group]
    graph, new = restructure(model.graph, roots, SYMBOL_LEVEL)
    split = iter(new)
    ids = {name: tuple(next(split) for _ in group) for name, group in groups.items()}
    level = levels(graph, SYMBOL_LEVEL)
    return StagedModel(
        graph=graph,
        fast_rates=ids["fast"],
        jacobian=dict(zip(jacobian, ids["jacobian"], strict=True)),
        slow_rates=ids["slow"],
        booked=ids["booked"],
        observed=ids["observed"],
        lit_pole=ids["pole"][0],
        level=tuple(level),
        lane_frontier=tuple(frontier(graph, new, level, LANE)),
        step_frontier=tuple(frontier(graph, new, level, STEP)),
        order=order,
        filled=filled,
    )


def picard_jacobian(model: Model, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Graph ids of d(rate of row)/d(column) with frozen coefficients, diagonal included."""
    graph = model.graph
    by_column = {s: Differentiator(graph, graph.symbol(s), True) for s in FAST_STATES}
    entries = [(s, s) for s in FAST_STATES] + list(pairs)
    return {(a, b): by_column[b].of(model.derivatives[a]) for a, b in entries}


def positive_transpiration(model: Model) -> int:
    """Canopy transpiration without condensation on leaves, kg/m2/s."""
    return model.graph.make("max", model.graph.const(0.0), model.outputs["mvCanAir"])


def lit_pole(model: Model) -> int:
    """1 where a lit crop is at the pole of gross photosynthesis, else 0."""
    g, out = model.graph, model.outputs
    double = g.make("mul", g.const(2.0), out["gammaNative"])
    denominator = g.make("add", out["co2Stom"], double)
    near = g.make("lt", denominator, g.make("mul", g.const(_POLE_SHARE), out["co2Stom"]))
    lit = g.make("gt", out["parCan"], g.const(_POLE_LIGHT_UMOL))
    return g.make("mul", g.symbol("cropPresent"), g.make("and", lit, near))


def lane_values(staged: StagedModel, parameters: Values) -> dict[int, Array]:
    """Everything that depends on the lane's parameters only."""
    ids = staged.lane_frontier
    return dict(zip(ids, evaluate(staged.graph, ids, parameters, jnp, exact=False), strict=True))


def step_values(
    staged: StagedModel, lane: Mapping[int, Array], symbols: Values
) -> dict[int, Array]:
    """Everything fixed within a control step.

    Args:
        staged: the staged model.
        lane: result of ``lane_values``.
        symbols: crop flag, commands, weather, slow and inert states.
    """
    ids = staged.step_frontier
    values = evaluate(staged.graph, ids, symbols, jnp, exact=False, given=lane)
    return dict(zip(ids, values, strict=True))


def observe(staged: StagedModel, lane: Mapping[int, Array], symbols: Values) -> list[Array]:
    """Relative humidity (%), CO2 (ppm) and leaf area index of a state; arrays [lanes]."""
    return evaluate(staged.graph, staged.observed, symbols, jnp, exact=False, given=lane)


def integrate_step(
    staged: StagedModel, scheme: Scheme, held: Mapping[int, Array], fast: Values
) -> tuple[dict[str, Array], list[Array], list[Array], Array]:
    """Advance the fast states by one control step.

    Args:
        staged: the staged model.
        scheme: substeps.
        held: result of ``step_values``.
        fast: fast states by name, arrays [lanes].

    Returns:
        The fast states at the end; the integrals over the step of the slow states' rates (order
        of ``SLOW_STATES``) and of the booked flows (order of ``BOOKED``); and whether any
        substep stood at the lit pole (1 or 0).
    """
    averaged = [*staged.slow_rates, *staged.booked]
    varying = [i for i in averaged if staged.level[i] > STEP]
    start = dict(fast)
    zero = jnp.zeros_like(start["tAir"])
    lengths = jnp.asarray(scheme.lengths_s(), zero.dtype)

    def substep(i: Array, carry: tuple) -> tuple:
        states, integrals, pole = carry
        h = lengths[i]
        rates, jacobian, flows, at_pole = _evaluate_rates(staged, held, states, varying)
        matrix = {
            key: 1.0 - h * value if key[0] == key[1] else -h * value
            for key, value in jacobian.items()
        }
        matrix, rates, flows, at_pole = lax.optimization_barrier((matrix, rates, flows, at_pole))
        k1 = lax.optimization_barrier(solve(staged.order, staged.filled, matrix, rates))
        middle = {s: states[s] + h * k1[s] for s in FAST_STATES}
        second = _evaluate_rates(staged, held, middle, varying, with_jacobian=False)
        rates2, _, flows2, at_pole2 = lax.optimization_barrier(second)
        right = {s: rates2[s] - 2.0 * k1[s] for s in FAST_STATES}
        k2 = solve(staged.order, staged.filled, matrix, right)
        states = {s: states[s] + h * (1.5 * k1[s] + 0.5 * k2[s]) for s in FAST_STATES}
        integrals = [
            total + (0.5 * h) * (a + b)
            for total, a, b in zip(integrals, flows, flows2, strict=True)
        ]
        return states, integrals, jnp.maximum(pole, jnp.maximum(at_pole, at_pole2))

    initial = (start, [zero] * len(varying), zero)
    end, integrals, pole = lax.fori_loop(0, scheme.substeps, substep, initial)
    known = dict(zip(varying, integrals, strict=True))
    constant = {i: STEP_SECONDS * (zero + held.get(i, 0.0)) for i in averaged if i not in known}
    both = known | constant
    slow = [both[i] for i in staged.slow_rates]
    return end, slow, [both[i] for i in staged.booked], pole


def integrate_states(
    staged: StagedModel, scheme: Scheme, held: Mapping[int, Array], named: Values
) -> tuple[dict[str, Array], list[Array], Array]:
    """Advance all states by one control step.

    Args:
        staged: the staged model.
        scheme: substeps.
        held: result of ``step_values``.
        named: every state of ``STATES`` by name, arrays [lanes].

    Returns:
        All states at the end, the integrals of the booked flows, and the lit-pole flag.
    """
    fast = {s: named[s] for s in FAST_STATES}
    fast, slow_change, booked, pole = integrate_step(staged, scheme, held, fast)
    slow = {s: named[s] + d for s, d in zip(SLOW_STATES, slow_change, strict=True)}
    return fast | slow | {s: named[s] for s in INERT_STATES}, booked, pole


def _evaluate_rates(
    staged: StagedModel,
    held: Mapping[int, Array],
    states: Values,
    varying: Sequence[int],
    *,
    with_jacobian: bool = True,
) -> tuple[dict[str, Array], dict[tuple[str, str], Array], list[Array], Array]:
    keys = list(staged.jacobian) if with_jacobian else []
    roots = [*staged.fast_rates, *(staged.jacobian[k] for k in keys), *varying, staged.lit_pole]
    values = iter(evaluate(staged.graph, roots, states, jnp, exact=False, given=held))
    rates = {s: next(values) for s in FAST_STATES}
    jacobian = {k: next(values) for k in keys}
    flows = [next(values) for _ in varying]
    return rates, jacobian, flows, next(values)
