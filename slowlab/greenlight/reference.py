"""Reference solution: classical Runge-Kutta of order 4 on all states, in float64.

The same graph as the compiled stepper, but evaluated literally (no regrouping, no floors
under powers), with every state coupled and small fixed steps. Used to measure the error of
the production integrator, never to produce results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
from jax import lax

from slowlab.greenlight.evaluate import evaluate
from slowlab.greenlight.integrator import (
    BOOKED,
    STEP_SECONDS,
    lit_pole,
    positive_transpiration,
)
from slowlab.greenlight.model import FAST_STATES, SLOW_STATES, Model

Array = Any
DYNAMIC_STATES = FAST_STATES + SLOW_STATES


def rk4_step(
    model: Model, seconds: float
) -> Callable[[Mapping[str, Array], Mapping[str, Array]], tuple[dict[str, Array], list, Array]]:
    """A function that integrates one control step.

    Args:
        model: the expanded model.
        seconds: RK4 step; must divide the control step of 300 s.

    Returns:
        ``step(symbols, states) -> (states, booked integrals, lit-pole flag)`` where ``symbols``
        holds parameters, commands and weather and ``states`` all dynamic states, [lanes].

    Raises:
        ValueError: the step does not divide 300 s.
    """
    count = round(STEP_SECONDS / seconds)
    if abs(count * seconds - STEP_SECONDS) > 1e-9:
        raise ValueError(f"an RK4 step of {seconds} s does not divide {STEP_SECONDS} s")
    booked = [model.outputs[n] for n in BOOKED[:-1]] + [positive_transpiration(model)]
    roots = [model.derivatives[s] for s in DYNAMIC_STATES] + booked + [lit_pole(model)]
    n_states = len(DYNAMIC_STATES)

    def step(
        symbols: Mapping[str, Array], states: Mapping[str, Array]
    ) -> tuple[dict[str, Array], list, Array]:
        zero = jnp.zeros_like(states["tAir"])

        def slope(y: Array) -> tuple[Array, Array]:
            named = dict(symbols) | dict(zip(DYNAMIC_STATES, y, strict=True))
            out = evaluate(model.graph, roots, named, jnp, exact=True)
            out = jnp.stack([zero + o for o in out])
            return out[:n_states], out[n_states:]

        def one(_: Array, carry: tuple) -> tuple:
            y, integral, pole = carry
            k1, b1 = slope(y)
            k2, b2 = slope(y + 0.5 * seconds * k1)
            k3, b3 = slope(y + 0.5 * seconds * k2)
            k4, b4 = slope(y + seconds * k3)
            y = y + seconds / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            integral = integral + seconds / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)[:-1]
            return y, integral, jnp.maximum(pole, jnp.maximum(b1[-1], b4[-1]))

        start = jnp.stack([zero + states[s] for s in DYNAMIC_STATES])
        begin = (start, jnp.zeros((len(BOOKED), *zero.shape), zero.dtype), zero)
        y, integral, pole = lax.fori_loop(0, count, one, begin)
        return dict(zip(DYNAMIC_STATES, y, strict=True)), list(integral), pole

    return step
