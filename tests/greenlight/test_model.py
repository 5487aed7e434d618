"""The variant: geometry, capacities, held commands, side walls, empty mode and the two guards."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from slowlab.greenlight.evaluate import evaluate, reachable
from slowlab.greenlight.expression import Graph
from slowlab.greenlight.lanes import CLIMATE_START, DEFAULT_PARAMETERS, HARD_BOUNDS, PLANTING_POOLS
from slowlab.greenlight.model import (
    COMMANDS,
    CROP_POOLS,
    FAST_STATES,
    INERT_STATES,
    PARAMETERS,
    SLOW_STATES,
    STATES,
    WEATHER,
    Facility,
    build_model,
)
from slowlab.greenlight.parser import Expander
from tests.greenlight.checks import (
    check_compensation_point_is_floored,
    check_cover_absorption,
    check_lit_pole,
    check_side_wall_heat,
    net_assimilation,
    ordinary,
    rates,
    without_crop,
)
from tests.greenlight.simulator import fresh_model

CLIMATE = tuple(s for s in FAST_STATES + SLOW_STATES if s[0] in "tvc" and s not in CROP_POOLS)
FROZEN_WITHOUT_CROP = (*CROP_POOLS, "tCanSum", "tCan24", "tCan")


def test_states_are_those_of_the_definition_without_the_clock(definition):
    assert set(STATES) == set(definition.of_kind("state")) - {"time_state"}
    assert len(STATES) == len(set(STATES)) == 27


def test_only_states_commands_weather_and_parameters_are_left_open():
    model = fresh_model()
    roots = [*model.derivatives.values(), *model.outputs.values()]
    nodes = [model.graph.nodes[n] for n in reachable(model.graph, roots)]
    free = {node.name for node in nodes if node.op == "symbol"}
    assert free == set(STATES + COMMANDS + WEATHER + PARAMETERS) - set(INERT_STATES)


def test_inert_states_do_not_move():
    model = fresh_model()
    assert [model.graph.constant_value(model.derivatives[s]) for s in INERT_STATES] == [0.0]


def test_initial_climate_and_pools_are_native(definition):
    expander = Expander(definition, Graph(), frozenset())
    for name, value in {**CLIMATE_START, **PLANTING_POOLS}.items():
        init = expander.graph.constant_value(expander.parse(definition.variables[name].init))
        assert value == pytest.approx(init, rel=1e-12), name
    assert set(CLIMATE_START) | set(PLANTING_POOLS) == set(STATES)


def test_default_parameters_are_native_constants_inside_their_bounds(definition):
    expander = Expander(definition, Graph(), frozenset())
    for name, value in DEFAULT_PARAMETERS.items():
        low, high = HARD_BOUNDS[name]
        assert low <= value <= high
        if name not in ("tSoOut", "ueff"):
            assert expander.graph.constant_value(expander.resolve(name)) == value


@pytest.mark.parametrize(
    ("output", "command", "full"),
    [
        ("hBoilPipe", "uBoil", 120.0),
        ("qLampIn", "uLamp", 200.0 / 3.0),
        ("mcExtAir", "uExtCo2", 200.0 / 96.0),
    ],
)
def test_capacity_of_the_plant(output, command, full):
    share = np.array([0.0, 0.25, 1.0])
    (flow,) = rates(ordinary(**{command: share}), output)
    np.testing.assert_allclose(flow, full * share, rtol=1e-12)


def test_vents_and_screen_obey_their_commands():
    opening = np.array([0.0, 0.5, 1.0])
    (cooling,) = rates(ordinary(uRoof=opening, uThScr=0.0), "tTop")
    assert np.all(np.diff(cooling) < 0)
    (upper,) = rates(ordinary(uThScr=np.array([0.0, 0.9]), uRoof=0.5), "tTop")
    assert upper[1] < upper[0]  # the closed screen keeps heat from the air above it


def test_side_walls_give_the_published_heat():
    check_side_wall_heat()


def test_side_walls_act_on_the_two_air_layers_only():
    model = fresh_model()
    ids = list(model.derivatives.values())
    near, far = (evaluate(model.graph, ids, ordinary(ueff=u), np, exact=True) for u in (0.0, 3.0))
    moved = [s for s, a, b in zip(model.derivatives, near, far, strict=True) if a != b]
    assert sorted(moved) == ["tAir", "tTop"]


def test_side_walls_may_be_driven_by_the_indoor_temperature(definition):
    facility = dataclasses.replace(Facility(), side_wall_form="neighbour_minus_indoor")
    model = build_model(definition, facility)
    with_walls, without = (
        evaluate(
            model.graph, [model.derivatives["tAir"]], ordinary(tAir=10, ueff=u), np, exact=True
        )[0]
        for u in (2.0, 0.0)
    )
    walls = ((20.0, 40.32), (16.0, 42.0), (16.0, 42.0))
    expected = sum(2.0 * area / 96.0 * (neighbour - 10.0) for neighbour, area in walls)
    assert (with_walls - without) * 5040.0 == pytest.approx(expected, rel=1e-9)


def test_cover_never_absorbs_less_than_nothing():
    check_cover_absorption()


def test_compensation_point_is_floored():
    check_compensation_point_is_floored()


def test_without_the_floor_photosynthesis_has_a_pole():
    cold = np.linspace(2.0, 20.0, 2001)
    found = net_assimilation(tCan=cold, cLeaf=0.05 / 2.66e-5, gammaFloor=-1e9)
    assert np.abs(found).max() > 10.0


def test_floor_changes_nothing_in_a_grown_crop():
    canopy = np.linspace(5.0, 35.0, 61)
    floored = net_assimilation(tCan=canopy)
    np.testing.assert_array_equal(floored, net_assimilation(tCan=canopy, gammaFloor=-1e9))


def test_lit_pole_follows_its_definition():
    check_lit_pole()


def test_empty_compartment_has_no_crop_flows():
    names = (*FROZEN_WITHOUT_CROP, "mcFruitHar", "mvCanAir", "lai", "parCan")
    assert all(float(value) == 0.0 for value in rates(without_crop(), *names))


def test_ghost_canopy_of_an_empty_compartment_touches_nothing():
    names = [s for s in CLIMATE if s not in FROZEN_WITHOUT_CROP]
    ghosts = {"tCan": np.array([5.0, 20.0, 35.0]), "tCan24": np.array([5.0, 20.0, 35.0])}
    for name, value in zip(names, rates(without_crop(**ghosts), *names), strict=True):
        assert np.ptp(np.broadcast_to(value, 3)) == 0.0, name


def test_crop_only_slightly_above_nothing_is_close_to_no_crop():
    """The climate equations are the same in both modes; only the canopy's flows vanish."""
    names = [s for s in CLIMATE if s not in FROZEN_WITHOUT_CROP]
    seed = {"cLeaf": 1e-3, "cBuf": 0.0, "cFruit": 0.0, "cStem": 0.0, "iGlob": 0.0, "uLamp": 0.0}
    grown, empty = ordinary(**seed), without_crop(iGlob=0.0, uLamp=0.0)
    pairs = zip(names, rates(grown, *names), rates(empty, *names), strict=True)
    for name, a, b in pairs:
        assert float(a) == pytest.approx(float(b), rel=1e-3, abs=1e-9), name


def test_nothing_divides_by_zero_in_an_empty_compartment():
    rng = np.random.default_rng(2)
    weather = {
        "iGlob": rng.uniform(0, 1000, 500),
        "tOut": rng.uniform(-20, 40, 500),
        "tSky": rng.uniform(-50, 30, 500),
        "wind": rng.uniform(0, 30, 500),
    }
    indoor = {s: rng.uniform(-10, 60, 500) for s in FAST_STATES if s.startswith("t")}
    symbols = without_crop(**weather, **indoor)
    with np.errstate(all="raise", under="ignore"):
        values = rates(symbols, *FAST_STATES, *SLOW_STATES)
    assert all(np.isfinite(v).all() for v in values)
