"""The environment in a table: what is fixed, what is drawn, and how well it is supported.

Every value comes from the contract and the site distribution; nothing is written here twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slowlab.world.contract import Contract
from slowlab.world.policy import POLICY_FIELDS
from slowlab.world.sensors import PUBLIC_CHANNELS
from slowlab.world.site_distribution import Range, SiteDistribution

RULE = "rule of the task"
COLUMNS = ("group", "item", "value", "basis")

_FIELDS = {
    "day_temperature_c": "day temperature",
    "night_temperature_c": "night temperature, not above the day's",
    "co2_target_ppm": "CO2 target",
    "supplemental_light_hours": "supplemental light",
    "vent_temperature_offset_c": "vent temperature offset",
    "vent_rh_threshold_pct": "vent humidity threshold",
}
_UNITS = {"percent": "%", "1": ""}


def environment_rows(
    contract: Contract, distribution: SiteDistribution, weather: str, feedback: tuple[str, ...]
) -> list[dict[str, str]]:
    """Rows with :data:`COLUMNS`, in the order of the paper's table.

    Args:
        contract: rules of the task.
        distribution: what is random about a site.
        weather: source of weather years.
        feedback: feedback conditions of the study.
    """
    groups: tuple[tuple[str, Iterator[tuple[str, str, str]]], ...] = (
        ("facility", _facility(contract, weather)),
        ("calendar", _calendar(contract)),
        ("policy", _policy(contract)),
        ("interface", _interface(contract, feedback)),
        ("score", _score(contract, distribution)),
        ("site, hidden", _ranges(distribution.hidden)),
        ("compartment, hidden", _ranges(distribution.compartment)),
        ("site, public", _ranges(distribution.prices)),
    )
    return [
        dict(zip(COLUMNS, (group, *row), strict=True)) for group, rows in groups for row in rows
    ]


def _facility(contract: Contract, weather: str) -> Iterator[tuple[str, str, str]]:
    facility = contract.facility
    equipment, area = facility.capacities, facility.geometry.floor_area_m2
    yield "compartments", f"{facility.compartments} of {area:g} m2", RULE
    yield "heating", f"{equipment.heating_w_m2:g} W/m2", RULE
    yield "lamps", f"{equipment.lamp_electric_w_m2:.4g} W/m2", RULE
    yield "CO2 dosing", f"{equipment.co2_g_m2_h:g} g/m2/h", RULE
    yield "weather years", weather, "observed" if weather == "cabauw" else "synthetic"


def _calendar(contract: Contract) -> Iterator[tuple[str, str, str]]:
    calendar = contract.calendar
    yield "campaign", f"{calendar.campaign_days} d", RULE
    yield "crop", f"{calendar.crop_days} d", RULE
    yield "cleaning", f"{calendar.cleanup_days} d", RULE
    yield "latest start", f"day {calendar.latest_start_day}", RULE
    yield "control step", f"{calendar.tick_seconds} s", RULE


def _policy(contract: Contract) -> Iterator[tuple[str, str, str]]:
    for name in POLICY_FIELDS:
        bound = contract.policy.of(name)
        yield _FIELDS[name], _span(bound.min, bound.max, bound.unit), RULE


def _interface(contract: Contract, feedback: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    budget, tools = contract.budget, contract.analysis_tools
    yield "actions", "start, stop, advance, observe, recommend", RULE
    yield "observations", f"{len(PUBLIC_CHANNELS)} channels; totals of closed crops", RULE
    yield "feedback conditions", ", ".join(feedback), RULE
    yield "starts", f"{budget.starts}", RULE
    yield "decision calls", f"{budget.decision_calls}", RULE
    yield "interface calls", f"{budget.interface_calls}", RULE
    yield "analysis tool calls", f"{tools.calls}", RULE
    yield "prompt characters", f"{contract.language_model.campaign_chars:,}", RULE


def _score(contract: Contract, distribution: SiteDistribution) -> Iterator[tuple[str, str, str]]:
    evaluation = contract.evaluation
    days = " and ".join(str(item.day) for item in evaluation.plantings)
    smallest = evaluation.smallest_effect_of_interest_eur_m2
    yield "score", "mean contribution margin per crop, EUR/m2", RULE
    yield "scored plantings", f"days {days}", RULE
    yield "scoring years", f"{distribution.evaluation_years} for each site", RULE
    yield "smallest effect of interest", f"{smallest:g} EUR/m2", RULE


def _ranges(ranges: Mapping[str, Range]) -> Iterator[tuple[str, str, str]]:
    """Drawn numbers in the order of the file, which no result depends on."""
    for name, item in ranges.items():
        value = f"{_span(item.low, item.high, item.unit)}, {item.shape.value}"
        yield name.replace("_", " "), value, item.basis.value


def _span(low: float, high: float, unit: str) -> str:
    return f"{low:g} to {high:g} {_UNITS.get(unit, unit)}".rstrip()
