"""The SlowLab variant of GreenLight: which names are run-time values, and what is overridden.

Everything is derived from GreenLight's own definitions. The overrides are those of the
SlowLab environment (contract v8): geometry and capacities of a four-compartment research
house, five externally held commands instead of the native controllers, a side-wall heat
term, a crop-free mode, and two guards: cover absorption never below zero, and a floor under
the CO2 compensation point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from slowlab.greenlight.definition import ModelDefinition
from slowlab.greenlight.expression import Graph
from slowlab.greenlight.parser import Expander, Override

FAST_STATES = (
    "tCan", "tAir", "tFlr", "tSo1", "tThScr", "tTop", "tCovIn", "tCovE", "tPipe",
    "vpAir", "vpTop", "co2Air", "co2Top", "tGroPipe", "tLamp", "tIntLamp", "cBuf", "tSo2",
)  # fmt: skip
SLOW_STATES = (
    "tSo3", "tSo4", "tSo5", "cFruit", "cLeaf", "cStem", "tCanSum", "tCan24",
)  # fmt: skip
# Decoupled once useBlScr = 0 (its derivative is zero and nothing reads it).
INERT_STATES = ("tBlScr",)
STATES = FAST_STATES + SLOW_STATES + INERT_STATES
CROP_POOLS = ("cBuf", "cFruit", "cLeaf", "cStem")

COMMANDS = ("uBoil", "uRoof", "uExtCo2", "uLamp", "uThScr")
WEATHER = ("iGlob", "tOut", "vpOut", "wind", "tSky")
MODEL_PARAMETERS = (
    "tCan24Min", "tCan24Max", "j25LeafMax", "rgFruit", "tEndSum", "laiMax",
    "tauRfPar", "tauRfNir", "cLeakage", "cDgh", "cWgh", "etaLampPar", "tSoOut",
)  # fmt: skip
# Not GreenLight names: side-wall exchange, crop flag (0/1), compensation-point floor.
ADDED_PARAMETERS = ("ueff", "cropPresent", "gammaFloor")
PARAMETERS = MODEL_PARAMETERS + ADDED_PARAMETERS

SideWallForm = Literal["neighbour_minus_outdoor", "neighbour_minus_indoor"]


@dataclass(frozen=True)
class Wall:
    """A side wall against a neighbouring house: temperature (degC) and areas (m2)."""

    neighbour_c: float
    area_below_screen_m2: float
    area_above_screen_m2: float


@dataclass(frozen=True)
class Facility:
    """Fixed properties of one compartment. Defaults: SlowLab contract v8.

    Attributes:
        constants: GreenLight constants replaced by numbers (areas m2, heights m, pBoil W,
            phiExtCo2 mg/s, thetaLampMax W/m2, co2Out mg/m3).
        walls: side walls that exchange heat with a neighbour.
        side_wall_form: temperature difference that drives the side-wall heat.
    """

    constants: Mapping[str, float] = field(
        default_factory=lambda: {
            "aFlr": 96.0,
            "aCov": 289.24809954029,
            "hAir": 4.2,
            "hGh": 4.984831471002188,
            "psi": 22.0,
            "aRoof": 28.8,
            "pBoil": 11520.0,
            "phiExtCo2": 200.0,
            "thetaLampMax": 200.0 / 3.0,
            "co2Out": 760.0,
        }
    )
    walls: tuple[Wall, ...] = (
        Wall(20.0, 40.32, 7.534382121621004),
        Wall(16.0, 42.0, 2.9999999999999982),
        Wall(16.0, 42.0, 2.9999999999999982),
    )
    side_wall_form: SideWallForm = "neighbour_minus_outdoor"


_SWITCHED_OFF = {
    "heatCorrection": 0.0,
    "uSide": 0.0,
    "uBoilGro": 0.0,
    "uIntLamp": 0.0,
    "useBlScr": 0.0,
    "hElevation": 0.0,
}
# Crop flows and growth factors that must vanish without leaves.
_CROP_ONLY_EXTRA = ("p", "r", "rGroPipeCan")


@dataclass(frozen=True)
class Model:
    """The compiled variant as a graph.

    Attributes:
        graph: the expressions.
        derivatives: state -> id of its time derivative (unit of the state per second).
        outputs: auxiliary name -> id.
    """

    graph: Graph
    derivatives: Mapping[str, int]
    outputs: Mapping[str, int]


OUTPUTS = (
    "hBoilPipe", "qLampIn", "mcExtAir", "mcFruitHar", "mvCanAir",
    "rhIn", "co2InPpm", "lai", "co2Stom", "parCan",
)  # fmt: skip


def build_model(definition: ModelDefinition, facility: Facility) -> Model:
    """Expand the definitions with the overrides of this variant.

    Raises:
        DefinitionError: the definition lacks a name the variant needs.
    """
    graph = Graph()
    native_gamma: dict[str, int] = {}
    expander = Expander(
        definition,
        graph,
        free=frozenset(STATES + COMMANDS + WEATHER + MODEL_PARAMETERS),
        values=_SWITCHED_OFF | dict(facility.constants),
        overrides=_overrides(definition, native_gamma),
    )
    derivatives = {s: expander.derivative_of(s) for s in STATES}
    crop = graph.symbol("cropPresent")
    for state in ("tCan", "tCan24", "tCanSum"):
        derivatives[state] = graph.make("mul", crop, derivatives[state])
    for state, capacity, upper in (("tAir", "capAir", False), ("tTop", "capTop", True)):
        heat = _side_wall_heat(graph, facility, upper=upper)
        warming = graph.make("div", heat, expander.resolve(capacity))
        derivatives[state] = graph.make("add", derivatives[state], warming)
    outputs = {name: expander.resolve(name) for name in OUTPUTS}
    outputs["gammaNative"] = native_gamma["gamma"]
    outputs["canopySaturationDeficit"] = expander.parse("satVp(tCan) - vpAir")
    outputs["capCan"] = expander.resolve("capCan")
    return Model(graph, derivatives, outputs)


def _overrides(definition: ModelDefinition, native_gamma: dict[str, int]) -> dict[str, Override]:
    """Functions applied to native expressions; ``native_gamma`` receives the unfloored one."""

    def at_least_zero(g: Graph, native: int) -> int:
        return g.make("max", g.const(0.0), native)

    def one_without_crop(g: Graph, native: int) -> int:
        return g.make("select", g.symbol("cropPresent"), native, g.const(1.0))

    def only_with_crop(g: Graph, native: int) -> int:
        return g.make("mul", g.symbol("cropPresent"), native)

    def floored_gamma(g: Graph, native: int) -> int:
        native_gamma["gamma"] = native
        floor = g.make("mul", g.symbol("gammaFloor"), _co2_in_stomata(definition, g))
        return g.make("max", floor, native)

    crop_flows = [
        name
        for name, v in definition.variables.items()
        if v.kind == "aux" and name.startswith("mc") and "crop_vanthoor" in v.file
    ]
    return {
        "aCovPar": at_least_zero,
        "aCovNir": at_least_zero,
        "capCan": one_without_crop,
        "j25CanMax": one_without_crop,
        "gamma": floored_gamma,
        **dict.fromkeys((*crop_flows, *_CROP_ONLY_EXTRA), only_with_crop),
    }


def _co2_in_stomata(definition: ModelDefinition, graph: Graph) -> int:
    """GreenLight's co2Stom (ppm), which needs no override of its own."""
    return Expander(definition, graph, frozenset(STATES)).resolve("co2Stom")


def _side_wall_heat(graph: Graph, facility: Facility, *, upper: bool) -> int:
    """Extra heat from neighbouring houses into one air layer, W per m2 floor.

    sum over walls of ueff * area / aFlr * (neighbour - outdoor or indoor temperature).
    """
    indoor = "tTop" if upper else "tAir"
    outdoor_form = facility.side_wall_form == "neighbour_minus_outdoor"
    reference = graph.symbol("tOut" if outdoor_form else indoor)
    heat = []
    for wall in facility.walls:
        area = wall.area_above_screen_m2 if upper else wall.area_below_screen_m2
        share = graph.const(area / facility.constants["aFlr"])
        difference = graph.make("sub", graph.const(wall.neighbour_c), reference)
        heat.append(graph.make("mul", share, difference))
    return graph.make("mul", graph.symbol("ueff"), graph.total(heat))
