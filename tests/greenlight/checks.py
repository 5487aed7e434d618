"""Named checks of the simulator's behaviour, used by its tests and by the mutant tests.

Each raises AssertionError when the behaviour is wrong. Expected values are worked out here from
the environment's published rules, not from the package.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from slowlab.greenlight import lanes, sensors
from slowlab.greenlight.definition import ModelDefinition
from slowlab.greenlight.evaluate import evaluate
from slowlab.greenlight.expression import Graph
from slowlab.greenlight.lanes import DEFAULT_PARAMETERS
from slowlab.greenlight.noise import seed_words
from slowlab.greenlight.parser import Expander
from slowlab.greenlight.sensors import NoiseKeys
from tests.greenlight import simulator

RHS_GATE = 1e-10


def right_hand_side_errors(
    definition: ModelDefinition,
    *,
    values: Mapping[str, float] | None = None,
    columns: Mapping[str, str] | None = None,
) -> dict[str, float]:
    """Largest relative error of every state's derivative at the golden states, native model.

    Args:
        definition: the model.
        values: constants to replace (a fault).
        columns: state -> the state whose golden column is used instead (a fault).
    """
    symbols = simulator.golden_states()
    symbols |= {name: symbols[other] for name, other in (columns or {}).items()}
    answers = simulator.golden_derivatives()
    free = frozenset(symbols)
    expander = Expander(definition, Graph(), free, values=values or {})
    roots = [expander.derivative_of(state) for state in answers]
    found = evaluate(expander.graph, roots, symbols, np, exact=True)
    return {
        state: float(np.max(relative_difference(value, answers[state])))
        for state, value in zip(answers, found, strict=True)
    }


def relative_difference(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """|found - expected| / |expected|; zero where both are equal, infinite where one is zero."""
    found = np.broadcast_to(found, np.shape(expected))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(found == expected, 0.0, np.abs(found - expected) / np.abs(expected))


def check_right_hand_side(definition: ModelDefinition, **faults: Mapping) -> dict[str, float]:
    """Every derivative agrees with GreenLight's own at all golden states."""
    errors = right_hand_side_errors(definition, **faults)
    worst = max(errors, key=lambda state: errors[state])
    assert errors[worst] <= RHS_GATE, f"{worst}: {errors[worst]:.3g} relative"
    return errors


# Heat from the neighbours at an outdoor temperature, W per m2 floor, with 2 W/m2/K: lower air
# and air above the screen (environment description, model overrides).
SIDE_WALL_HEAT = {0.0: (44.8, 5.1), 5.0: (31.9, 3.7), 10.0: (18.9, 2.3), 20.0: (-7.0, -0.5)}
# Heat capacity of the two air layers, J/K per m2 floor: height x 1.2 kg/m3 x 1000 J/kg/K.
AIR_CAPACITY = {"tAir": 4.2 * 1200.0, "tTop": (4.984831471002188 - 4.2) * 1200.0}


def ordinary(**changes: float) -> dict[str, np.ndarray]:
    """Symbols of the variant in an ordinary winter state, each a number or array."""
    symbols: dict[str, np.ndarray] = {
        **dict.fromkeys(simulator.STATES, 16.5),
        "tCan": 19.0, "vpAir": 1500.0, "vpTop": 1300.0, "co2Air": 900.0, "co2Top": 850.0,
        "cBuf": 5000.0, "cFruit": 5e4, "cLeaf": 5e4, "cStem": 4e4, "tCanSum": 500.0, "tPipe": 45.0,
        "tTop": 12.0, "tCovIn": 8.0, "tCovE": 6.0, "tSo5": 12.0,
        "uBoil": 0.5, "uRoof": 0.1, "uExtCo2": 0.5, "uLamp": 1.0, "uThScr": 0.5,
        "iGlob": 150.0, "tOut": 5.0, "vpOut": 700.0, "wind": 3.0, "tSky": -5.0,
        **DEFAULT_PARAMETERS, "cropPresent": 1.0, "gammaFloor": -0.25,
    }  # fmt: skip
    return {k: np.asarray(v, float) for k, v in (symbols | changes).items()}


def without_crop(**changes: float) -> dict[str, np.ndarray]:
    """The same in an empty compartment."""
    empty = dict.fromkeys(("cBuf", "cFruit", "cLeaf", "cStem", "tCanSum", "cropPresent"), 0.0)
    return ordinary(**(empty | changes))


def rates(symbols: Mapping[str, np.ndarray], *names: str) -> list[np.ndarray]:
    """Derivatives (of states) or values (of outputs) of the variant."""
    model = simulator.fresh_model()
    known = {**model.derivatives, **model.outputs}
    return evaluate(model.graph, [known[n] for n in names], symbols, np, exact=True)


def check_side_wall_heat() -> None:
    """Neighbours warm both air layers by the published amounts."""
    for outdoor, expected in SIDE_WALL_HEAT.items():
        for (layer, capacity), watts in zip(AIR_CAPACITY.items(), expected, strict=True):
            (with_walls,) = rates(ordinary(tOut=outdoor), layer)
            (without,) = rates(ordinary(tOut=outdoor, ueff=0.0), layer)
            found = float(with_walls - without) * capacity
            assert abs(found - watts) < 0.06, f"{layer} at {outdoor} degC: {found:.2f} W/m2"


def net_assimilation(**changes: float) -> np.ndarray:
    """Light's contribution to the buffer, mg CH2O per m2 and second."""
    (lit,) = rates(ordinary(**changes), "cBuf")
    (dark,) = rates(ordinary(**(changes | {"iGlob": 0.0, "uLamp": 0.0})), "cBuf")
    return lit - dark


def check_compensation_point_is_floored() -> None:
    """Photosynthesis of a few cold leaves in light stays within what the floor allows.

    Net assimilation is j (c - g)^2 / (4 c (c + 2 g)) for the compensation point g and the CO2 in
    the stomata c. With g between -c / 4 and c it is at most 0.782 j, and j at most 210 umol per m2
    of leaf and second; 0.03 mg CH2O per umol.
    """
    cold = np.linspace(2.0, 20.0, 2001)
    leaf_area = 0.05
    found = net_assimilation(tCan=cold, cLeaf=leaf_area / 2.66e-5)
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= 0.03 * 0.782 * 210.0 * leaf_area, np.abs(found).max()


def noise_keys(seeds: np.ndarray, compartments: np.ndarray, noisy: bool = True) -> NoiseKeys:
    """Keys of lanes with the given seeds (below 2**64) and compartment numbers."""
    words = np.array([seed_words(int(seed)) for seed in seeds], np.uint32)
    return NoiseKeys(
        seed_high=words[:, 0],
        seed_low=words[:, 1],
        compartment=np.asarray(compartments, np.uint32),
        noisy=np.full(len(words), noisy),
    )


def check_noise_differs_between_compartments() -> None:
    """Four compartments with one seed see unrelated noise in every channel."""
    keys = noise_keys(np.full(4, 20260929), np.arange(4))
    ticks = np.repeat(np.arange(1, 4001, dtype=np.int32)[:, None], 4, axis=1)
    draws = sensors.draw(sensors.SensorSettings(), keys, ticks, np.float32)
    for channel in ("air", "humidity", "co2", "canopy"):
        correlation = np.corrcoef(np.asarray(getattr(draws, channel)).T) - np.eye(4)
        assert np.abs(correlation).max() < 0.08, channel  # five standard errors


def check_planting_resets_the_crop() -> None:
    """Young plants are the same whatever stood there; canopies start at the air's temperature."""
    rng = np.random.default_rng(4)
    state = lanes.open_lanes(5, np.float32)
    state = state._replace(states=rng.uniform(1.0, 9e3, state.states.shape).astype(np.float32))
    planted = lanes.plant(state, np.array([True, True, True, True, False]))
    named = dict(zip(simulator.STATES, planted.states, strict=True))
    young = {"cBuf": 20000.0, "cFruit": 312.0, "cLeaf": 4368.0, "cStem": 1560.0, "tCanSum": 0.0}
    for name, value in young.items():
        assert (named[name][:4] == np.float32(value)).all(), name
    for name in ("tCan", "tCan24"):
        assert (named[name][:4] == named["tAir"][:4]).all(), name
    changed = (*young, "tCan", "tCan24")
    for row, name in enumerate(simulator.STATES):
        kept = slice(4, 5) if name in changed else slice(None)
        assert (planted.states[row, kept] == state.states[row, kept]).all(), name
    assert (planted.phase == [lanes.Phase.GROWING] * 4 + [lanes.Phase.IDLE]).all()
