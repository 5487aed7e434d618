"""Named checks of the simulator's behaviour, used by its tests and by the mutant tests.

Each raises AssertionError when the behaviour is wrong. Expected values are worked out here from
the environment's published rules, not from the package.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import jax
import numpy as np

from slowlab.greenlight import controller, integrator, lanes, noise, sensors, staging
from slowlab.greenlight.batch import load_batch, open_batch, save_batch
from slowlab.greenlight.definition import ModelDefinition
from slowlab.greenlight.evaluate import MAGNITUDE_FLOOR, evaluate
from slowlab.greenlight.expression import Graph
from slowlab.greenlight.lanes import DEFAULT_PARAMETERS
from slowlab.greenlight.model import COMMANDS, OUTPUTS, Model
from slowlab.greenlight.noise import seed_words
from slowlab.greenlight.parser import Expander
from slowlab.greenlight.sensors import Draws, NoiseKeys, SensorSettings
from slowlab.greenlight.stepper import Stepper, lane_parameters
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


@functools.partial(jax.jit, static_argnums=0)
def _draws(settings: SensorSettings, keys: NoiseKeys, ticks: np.ndarray) -> Draws:
    return sensors.draw(settings, keys, ticks, np.float32)


def draws_of(keys: NoiseKeys, ticks: np.ndarray, settings: SensorSettings | None = None) -> Draws:
    """Draws [ticks, lanes] of all lanes at the given ticks as NumPy arrays."""
    when = np.repeat(np.asarray(ticks, np.int32)[:, None], len(keys.noisy), axis=1)
    _draws.clear_cache()  # a planted fault must not meet what was compiled without it
    return Draws(*(np.asarray(a) for a in _draws(settings or SensorSettings(), keys, when)))


def check_noise_differs_between_compartments() -> None:
    """Four compartments with one seed see unrelated noise in every channel."""
    keys = noise_keys(np.full(4, 20260929), np.arange(4))
    draws = draws_of(keys, np.arange(1, 4001))
    for channel in ("air", "humidity", "co2", "canopy"):
        correlation = np.corrcoef(getattr(draws, channel).T) - np.eye(4)
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


def plain_band(x: float, start: float, width: float) -> float:
    """The published curve, written out."""
    exponent = -(2.0 / width) * math.log(100.0) * (x - start - width / 2.0)
    return 1.0 / (1.0 + math.exp(max(-700.0, min(700.0, exponent))))


def plain_commands(
    policy: Sequence[float], seen: Mapping[str, float], tick: int, *, growing: bool
) -> dict[str, float]:
    """Environment rules 2.3 and 2.4 for one compartment, one tick."""
    day_c, night_c, co2_ppm, light_h, offset_k, humidity_pct = policy
    air, humidity, co2 = seen["air"], seen["humidity"], seen["co2"]
    sun, outdoor = seen["sun"], seen["outdoor"]
    hour = (tick * 300) / 3600 % 24
    day = 6 <= hour < 22
    target = (day_c if day else night_c) if growing else 10.0
    screen_humidity = humidity_pct if growing else 87.0
    guard = 1.0 - plain_band(air, target - 1.0, -1.0)
    lamp = 0.0
    if growing and 6 <= hour < 6 + light_h and sun < 400 and air < 35:
        lamp = 1.0
    dosing = 0.0
    if growing and (sun > 20 or lamp == 1.0):
        dosing = plain_band(co2, co2_ppm, -100.0)
    if growing:
        warm = plain_band(air, target + offset_k, 4.0)
        vent = min(guard, max(warm, plain_band(humidity, humidity_pct, 50.0)))
    else:
        vent = plain_band(air, 30.0, 4.0)
    cold = plain_band(outdoor, 5.0 if day else 10.0, -1.0)
    not_too_warm = 1.0 - plain_band(air, target + 4.0, 1.0)
    dry = 1.0 - plain_band(humidity, screen_humidity - 2.0, 10.0)
    return {
        "uBoil": plain_band(air, target, -1.0),
        "uRoof": vent,
        "uExtCo2": dosing,
        "uLamp": lamp,
        "uThScr": min(cold, not_too_warm, max(dry, 1.0 - guard)),
    }


def check_commands_in_a_run(stepper: Stepper) -> None:
    """Every command of a noisy day is what the rules make of the last readings before it.

    Lanes differ in policy, half of them are empty; lost readings are held. Outdoors the controller
    sees the ten-minute record before the current one.
    """
    rows = [(22, 18, 800, 12, 4, 85), (26, 15, 400, 3.3, 2, 70), (18, 18, 1200, 16, 6, 90)]
    parameters = lane_parameters(
        {},
        simulator.policies([row for row in rows for _ in range(2)]),
        noise_seeds=np.arange(6) + 40,
        compartments=np.arange(6) % 4,
    )
    growing = np.arange(6) % 2 == 0
    batch = simulator.opened(parameters, stepper, planted=False).plant(growing)
    weather = simulator.sunny_day(6, peak=600.0)
    trace = stepper.advance_day(batch, parameters, weather, trace="full").trace
    held = np.array(batch.state.held)
    assert np.isnan(trace["readings"][:, :3]).any()
    for tick in range(simulator.TICKS_PER_DAY):
        released = weather[tick // 2]
        for lane in range(6):
            names = ("air", "humidity", "co2", "sun", "outdoor")
            values = (*held[:3, lane], released[0, lane], released[1, lane])
            seen = dict(zip(names, map(float, values), strict=True))
            row = rows[lane // 2]
            expected = plain_commands(row, seen, tick, growing=bool(growing[lane]))
            found = trace["commands"][tick, :, lane]
            assert np.allclose(found, list(expected.values()), atol=2e-4), (tick, lane)
        fresh = trace["readings"][tick]
        held = np.where(np.isnan(fresh), held, fresh)


def check_books_match_commands(stepper: Stepper) -> None:
    """Energy and CO2 booked are the commands times the capacity of the plant."""
    parameters = simulator.random_lanes(4, 5)
    batch = simulator.opened(parameters, stepper, planted=False)
    batch = batch.plant(np.array([True, True, True, False]))
    result = stepper.advance_day(batch, parameters, simulator.sunny_day(4), trace="full")
    seconds, kwh = 300.0, 3.6e6
    used = dict(zip(lanes.LEDGER, result.batch.totals, strict=True))
    commands = dict(zip(COMMANDS, np.moveaxis(result.trace["commands"], 1, 0), strict=True))
    sums = {name: value.astype(np.float64).sum(axis=0) for name, value in commands.items()}
    expected = {
        "heat_kwh_m2": sums["uBoil"] * 120.0 * seconds / kwh,
        "light_kwh_m2": sums["uLamp"] * (200.0 / 3.0) * seconds / kwh,
        "co2_kg_m2": sums["uExtCo2"] * (200.0 / 96.0) * seconds / 1e6,
    }
    for name, value in expected.items():
        assert np.allclose(used[name], value, rtol=1e-6, atol=0.0), name
        assert (value[:3] > 0).all(), name
    assert used["light_kwh_m2"][3] == used["co2_kg_m2"][3] == 0.0


def check_cover_absorption() -> None:
    """The cover absorbs what glass (reflects 0.13) and lamps (pass 0.98) leave, or nothing."""
    transmission = np.array([0.75, 0.85, 0.88, 0.90, 0.95])
    symbols = {"tauRfPar": transmission, "tauRfNir": transmission, "uThScr": 0.0}
    (sunny,) = rates(ordinary(iGlob=800.0, **symbols), "tCovE")
    (dark,) = rates(ordinary(iGlob=0.0, **symbols), "tCovE")
    absorbed = (sunny - dark) / (sunny - dark)[0]
    expected = np.maximum(0.0, 1.0 - 0.13 - 0.98 * transmission)
    np.testing.assert_allclose(absorbed, expected / expected[0], rtol=1e-9, atol=1e-12)
    assert absorbed[2] > 0.05
    assert absorbed[3] == absorbed[4] == 0.0


def check_lit_pole() -> None:
    """A lit crop is at the pole where the environment's rule says so."""
    model = simulator.fresh_model()
    rng = np.random.default_rng(5)
    changes = {
        "tCan": rng.uniform(0.0, 25.0, 4000),
        "cLeaf": rng.uniform(0.01, 0.3, 4000) / 2.66e-5,
        "co2Air": rng.uniform(300.0, 1500.0, 4000),
        "iGlob": rng.choice([0.0, 3.0, 200.0], 4000),
        "uLamp": 0.0,
        "cropPresent": rng.integers(0, 2, 4000).astype(float),
    }
    symbols = ordinary(**changes)
    light = model.outputs["parCan"]
    flag, par = evaluate(model.graph, [integrator.lit_pole(model), light], symbols, np, exact=True)
    # The environment's rule, from GreenLight's published constants.
    ppm = 8.3144598 * (16.5 + 273.15) * changes["co2Air"] / (101325 * 44.01e-3)
    stomata = 0.67 * ppm
    gamma = 34.0 + 1.7 * (changes["tCan"] - 20.0) / (2.66e-5 * changes["cLeaf"])
    near = stomata + 2.0 * gamma < 0.02 * stomata
    expected = (par > 1.0) & near & (changes["cropPresent"] == 1)
    np.testing.assert_array_equal(flag == 1.0, expected)
    assert 100 < expected.sum() < 3000
    assert (near & ~expected).any()


def roots_of(model: Model) -> dict[str, int]:
    """Derivatives of all moving states and all outputs by name."""
    return {s: model.derivatives[s] for s in simulator.FAST_STATES + simulator.SLOW_STATES} | {
        name: model.outputs[name] for name in OUTPUTS
    }


def check_regrouping_keeps_values() -> None:
    """The production graph equals the literal one away from the floor under powers."""
    model, symbols = simulator.fresh_model(), simulator.everything()
    roots = roots_of(model)
    ids = list(roots.values())
    exact = evaluate(model.graph, ids, symbols, np, exact=True)
    graph, new = staging.restructure(model.graph, ids, integrator.SYMBOL_LEVEL)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        fast = evaluate(graph, new, symbols, np, exact=False)
    clear = simulator.smallest_power_base(model.graph, ids, symbols) > MAGNITUDE_FLOOR
    assert clear.sum() > 1000
    for name, a, b in zip(roots, exact, fast, strict=True):
        error = relative_difference(b, np.broadcast_to(a, 2000))
        assert error[clear].max() < 1e-9, f"{name}: {error[clear].max():.3g}"


def words(*numbers: int) -> list[np.ndarray]:
    """Each number as an array of one 32-bit word."""
    return [np.array([n], np.uint32) for n in numbers]


def check_known_random_numbers(library: ModuleType = np) -> None:
    """The generator gives the published answers of Threefry-2x32 with 20 rounds."""
    full = 2**32 - 1
    answers = {
        ((0, 0), (0, 0)): (0x6B200159, 0x99BA4EFE),
        ((full, full), (full, full)): (0x1CB996FC, 0xBB002BE7),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3)): (0xC4923A9C, 0x483DF7A0),
    }
    for (key, counter), expected in answers.items():
        found = noise.threefry_2x32(*words(*key), *words(*counter), library)
        assert tuple(int(word[0]) for word in found) == expected


def check_rules_of_the_controller() -> None:
    """Commands of random policies and readings follow the published rules, field by field."""
    rng = np.random.default_rng(12)
    count = 300
    rows = np.column_stack([rng.uniform(*b, count) for b in simulator.POLICY_BOUNDS])
    rows[:, 1] = np.minimum(rows[:, 1], rows[:, 0])
    policy = lane_parameters(
        {}, simulator.policies(rows), noise_seeds=None, compartments=np.zeros(count, int)
    ).policy
    ranges = {
        "air": (8, 36), "humidity": (60, 100), "co2": (350, 1250), "sun": (0, 450),
        "outdoor": (0, 14),
    }  # fmt: skip
    seen = {name: rng.uniform(*r, count).astype(np.float32) for name, r in ranges.items()}
    ticks, growing = rng.integers(0, 288, count), rng.random(count) < 0.8
    readings = controller.Readings(*seen.values())
    settings = controller.ControllerSettings()
    found = controller.commands(settings, policy, readings, ticks, growing)
    for lane in range(count):
        one = {name: float(values[lane]) for name, values in seen.items()}
        plain = plain_commands(rows[lane], one, int(ticks[lane]), growing=bool(growing[lane]))
        for name, value in plain.items():
            assert abs(float(found[name][lane]) - value) < 2e-4, (name, one)


def check_account_of_a_crop() -> None:
    """A crop's account is what was booked between its planting and its end."""
    everywhere = np.ones(2, bool)
    batch = open_batch(2, np.float32)
    batch = batch._replace(totals=np.full((5, 2), 1.0)).plant(everywhere)
    batch = batch._replace(totals=np.full((5, 2), 4.0)).stop(everywhere)
    idle = np.zeros(2, np.int32)
    batch = batch._replace(totals=np.full((5, 2), 6.0), state=batch.state._replace(phase=idle))
    assert all((value == 3.0).all() for value in batch.plant(everywhere).ended_crop().values())


def check_failed_save_keeps_the_old_file(folder: Path) -> None:
    """A save that fails half-way leaves the old file, and no other."""
    path, build = folder / "state.npz", {"source": "same"}
    save_batch(path, open_batch(2, np.float32), build)
    unsaveable = open_batch(2, np.float32)._replace(latest_crop=_Breaking())
    try:
        save_batch(path, unsaveable, build)
    except OSError:
        pass
    else:
        raise AssertionError("the save should have failed")
    assert [p.name for p in folder.iterdir()] == ["state.npz"]
    simulator.assert_same_bytes(load_batch(path, build), open_batch(2, np.float32))


class _Breaking:
    """Looks like an array to the checksum and fails when it is written."""

    def __init__(self) -> None:
        self.reads = 0

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        self.reads += 1
        if self.reads > 1:
            raise OSError(28, "No space left on device")
        return np.zeros((5, 2))
