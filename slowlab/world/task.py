"""The public description of a task: all that an agent is told, built from an allow-list.

The builder receives a contract, the channel list, four prices and a feedback mode, and nothing
else. What is hidden about a site cannot reach it, and sites with equal prices get equal bytes. The
texts name neither the model behind the facility nor the source or year of the weather.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from slowlab.canonical import canonical_bytes
from slowlab.world.contract import Contract
from slowlab.world.contract_rules import Budget
from slowlab.world.drafts import DRAFT_MARK, draft_mark
from slowlab.world.economics import Prices
from slowlab.world.policy import POLICY_FIELDS
from slowlab.world.sensors import PUBLIC_CHANNELS, ExactChannel, SensorSpec
from slowlab.world.site import Site


class Feedback(StrEnum):
    """What an agent may learn while crops grow.

    ``full``: records of every channel at any time. ``endpoint``: totals of closed crops only.
    ``unassigned``: the description used before the day-0 design, when the mode is not yet known.
    Two further arms are off by default. ``delayed``: as full, but a record is released only when it
    has reached the contract's age. ``shuffled``: described exactly as endpoint, but totals are
    exchanged between closed crops, so that nothing can be learnt from them.
    """

    FULL = "full"
    ENDPOINT = "endpoint"
    UNASSIGNED = "unassigned"
    DELAYED = "delayed"
    SHUFFLED = "shuffled"

    @property
    def releases_records(self) -> bool:
        """Whether records of the channels can be read."""
        return self in (Feedback.FULL, Feedback.DELAYED)


def task_description(
    contract: Contract, sensors: SensorSpec, prices: Prices, feedback: Feedback
) -> dict[str, Any]:
    """Describe a task to an agent.

    Args:
        contract: the rules.
        sensors: the channels; only names and units are told.
        prices: the site's own prices.
        feedback: what the agent may learn; nothing that cannot work in this mode is mentioned.

    Returns:
        Plain data with a canonical JSON form.
    """
    description = {
        "task": contract.public_name,
        "setting": _SETTING,
        "compartments": _compartments(contract),
        "calendar": _calendar(contract),
        "budgets": _budgets(contract),
        "policy": _policy(contract),
        "actions": _actions(contract, feedback),
        "analysis_tools": _tools(contract, feedback),
        "rules": _rules(contract),
        "scoring": _scoring(contract),
        "feedback": {"mode": _MODE_NAMES[feedback], "meaning": _meaning(contract, feedback)},
        "prices": _prices(contract, prices),
    }
    if feedback.releases_records or feedback is Feedback.UNASSIGNED:
        description["channels"] = _channels(contract, sensors)
    if draft_mark(contract, sensors):
        description["status"] = DRAFT_MARK
    return description


def site_task(
    contract: Contract, sensors: SensorSpec, site: Site, feedback: Feedback
) -> dict[str, Any]:
    """Describe the task of one site; of the site, only its prices and its draft mark are used."""
    description = task_description(contract, sensors, site.prices, feedback)
    return {**description, "status": DRAFT_MARK} if site.draft else description


def task_bytes(description: dict[str, Any]) -> bytes:
    """A task description as canonical JSON in UTF-8."""
    return canonical_bytes(description)


_SETTING = (
    "You run a small greenhouse with separate compartments in which a fruit crop is grown. You "
    "decide when crops start and under which policy they grow, and at the end you recommend one "
    "policy for future crops in this greenhouse. How this greenhouse and its crop respond is not "
    "known in advance."
)

_MODE_NAMES = {
    Feedback.FULL: "full",
    Feedback.ENDPOINT: "endpoint",
    Feedback.UNASSIGNED: "assigned after the day-0 design",
    Feedback.DELAYED: "delayed",
    Feedback.SHUFFLED: "endpoint",
}

_ENDPOINT_MEANING = (
    "The totals of a crop are released when it has closed. There are no records of how it grew, "
    "neither while it grows nor afterwards."
)

_MEANINGS = {
    Feedback.FULL: (
        "Records of every channel, for any past time, can be read at any moment while crops grow "
        "and afterwards. The totals of a crop are released when it has closed."
    ),
    Feedback.DELAYED: (
        "Records of every channel can be read once they are {days} days old, and afterwards at "
        "any moment. The totals of a crop are released when it has closed."
    ),
    Feedback.ENDPOINT: _ENDPOINT_MEANING,
    Feedback.SHUFFLED: _ENDPOINT_MEANING,
    Feedback.UNASSIGNED: (
        "After the day-0 design you are told which of two modes applies: full (records of the "
        "channels can be read at any moment) or endpoint (only the totals of closed crops are)."
    ),
}


def _meaning(contract: Contract, feedback: Feedback) -> str:
    return _MEANINGS[feedback].format(days=contract.budget.record_delay_days)


def _compartments(contract: Contract) -> dict[str, Any]:
    facility = contract.facility
    return {
        "count": facility.compartments,
        "numbers": f"0 to {facility.compartments - 1}",
        "floor_area_m2_each": facility.geometry.floor_area_m2,
        "note": "All rates, yields and costs are per m2 of floor. Compartments are built alike.",
    }


def _calendar(contract: Contract) -> dict[str, Any]:
    calendar = contract.calendar
    return {
        "day_0": "1 January, 00:00 local time",
        "campaign_days": calendar.campaign_days,
        "crop_days": calendar.crop_days,
        "cleaning_days": calendar.cleanup_days,
        "latest_start_day": calendar.latest_start_day,
        "step_seconds": calendar.tick_seconds,
    }


def _budgets(contract: Contract) -> dict[str, Any]:
    budget = contract.budget
    return {
        "starts": budget.starts,
        "decision_calls": budget.decision_calls,
        "calls": budget.interface_calls,
        "calls_kept_for_the_end": budget.reserved_interface_calls,
        "decision_calls_kept_for_the_end": budget.reserved_decision_calls,
        "analysis_tool_calls": contract.analysis_tools.calls,
    }


def _policy(contract: Contract) -> dict[str, Any]:
    calendar, lamps = contract.calendar, contract.controller.lamps
    begin, end = f"{calendar.day_start_hour:02d}:00", f"{calendar.day_end_hour:02d}:00"
    meanings = {
        "day_temperature_c": f"heating set-point from {begin} to {end}",
        "night_temperature_c": f"heating set-point from {end} to {begin}",
        "co2_target_ppm": "CO2 is dosed in light until the air holds about this much",
        "supplemental_light_hours": f"lamp hours, counted from {lamps.start_hour:02d}:00",
        "vent_temperature_offset_c": "the vents open this far above the heating set-point",
        "vent_rh_threshold_pct": "the vents open, gradually, above this relative humidity",
    }
    fields = []
    for name in POLICY_FIELDS:
        bound = contract.policy.of(name)
        row = {"name": name, "min": bound.min, "max": bound.max, "unit": bound.unit}
        fields.append({**row, "meaning": meanings[name]})
    return {
        "fields": fields,
        "constraint": "night_temperature_c <= day_temperature_c",
        "form": "an object with exactly these six fields, each a number",
        "note": "A policy is fixed for the whole crop.",
    }


def _actions(contract: Contract, feedback: Feedback) -> list[dict[str, Any]]:
    units = f"compartment, whole number from 0 to {contract.facility.compartments - 1}"
    days = contract.calendar.campaign_days
    steps = contract.calendar.ticks_per_day
    return [
        {
            "action": "start",
            "fields": {"unit": units, "policy": "a policy"},
            "effect": "plants a crop in an empty compartment; returns its crop number",
            "uses": ["call", "decision call", "start"],
        },
        {
            "action": "stop",
            "fields": {"unit": units},
            "effect": "ends the crop now; standing fruit is lost and cleaning begins",
            "uses": ["call", "decision call"],
        },
        {
            "action": "advance",
            "fields": {
                "day": f"time to move to, in days; n/{steps}, not before now, at most {days}"
            },
            "effect": "lets time pass; returns the state of every compartment",
            "uses": ["call"],
        },
        _observe(contract, units, feedback),
        {
            "action": "recommend",
            "fields": {"policy": "a policy"},
            "effect": f"gives the final recommendation, on day {days} only; the last one counts",
            "uses": ["call", "decision call"],
        },
    ]


def _observe(contract: Contract, units: str, feedback: Feedback) -> dict[str, Any]:
    """The read action, with the fields that exist in the feedback mode."""
    budget = contract.budget
    fields = {
        "unit": units,
        "run_index": "optional: crop number; the latest closed crop if left out",
    }
    effect = "returns the state of the compartment and the totals of a closed crop"
    if feedback.releases_records:
        fields |= {
            "variable": "optional: a channel",
            "start_day": "optional: begin of the window, in days",
            "end_day": "optional: end of the window, in days; the latest possible if left out",
            "resolution": "optional: raw or daily; raw if left out",
        }
        effect += (
            f"; with a variable also its records: at most {budget.raw_records_per_read} raw ones, "
            f"or at most {budget.days_per_daily_read} days of count, mean, lowest and highest. "
            "Without a start_day the window holds as many raw records as one reply may, or the "
            "days of the crop."
        )
    return {"action": "observe", "fields": fields, "effect": effect, "uses": ["call"]}


def _tools(contract: Contract, feedback: Feedback) -> list[dict[str, Any]]:
    limits = contract.analysis_tools
    tools = [
        ("runs", {}, "table of your crops: policy, start, state, totals, margin"),
        (
            "fit_outcome_model",
            {},
            f"fits margin to policy and planting date from at least {limits.min_completed_crops} "
            "completed crops",
        ),
        (
            "predict",
            {
                "policies": f"1 to {limits.policies_per_predict} policies",
                "planting_day": "optional: day from 0 to 364; the scored dates if left out",
            },
            "predicted margins under the fitted model",
        ),
        (
            "space_filling_candidates",
            {"n": f"1 to {limits.candidates}", "fixed": "optional: policy fields to keep fixed"},
            "policies spread evenly over the allowed range",
        ),
    ]
    if feedback.releases_records:
        window = f"days of records already read, up to {limits.summary_days}: mean, lowest, highest"
        unit = {"unit": "compartment"}
        optional = {"start_day": "optional", "end_day": "optional"}
        tools += [
            ("series_summary", {**unit, "variable": "a channel", **optional}, window),
            (
                "predict_crop_outcome",
                {**unit, "run_index": "crop number"},
                "predicted totals and margin of a running crop from harvest and canopy records "
                f"already read, at least {limits.min_crop_age_days} days after planting",
            ),
        ]
    return [{"tool": name, "arguments": args, "result": result} for name, args, result in tools]


def _rules(contract: Contract) -> list[str]:
    calendar, safety, budget = contract.calendar, contract.safety, contract.budget
    minutes = safety.continuous_seconds / 60
    return [
        f"A crop closes by itself after {calendar.crop_days} days. The compartment is then cleaned "
        f"for {calendar.cleanup_days} days and may be planted again afterwards.",
        "A crop that ends early, for whatever reason, keeps what it has harvested and pays what it "
        "has used; its standing fruit is worth nothing.",
        f"No crop may start after day {calendar.latest_start_day}.",
        "A crop is stopped for safety when the measured air temperature stays below "
        f"{safety.air_below_c:g} or above {safety.air_above_c:g} degC for {minutes:g} minutes. "
        "A physiological collapse of the crop also leads to a safety stop.",
        f"On day {calendar.campaign_days} crops that still grow are stopped, settled and charged "
        "for cleaning.",
        "Nothing interrupts an advance: what happened meanwhile is seen in the states afterwards.",
        "A rejected action changes nothing but still uses a call, and a decision call if its kind "
        "does. What is not an object with one of the actions uses nothing.",
        *_reserve(budget, calendar.campaign_days),
        "Analysis tools cost no campaign time and only use what you have already received.",
    ]


def _reserve(budget: Budget, last_day: int) -> list[str]:
    """The rule about what is kept for the end, where anything is."""
    calls, decisions = budget.reserved_interface_calls, budget.reserved_decision_calls
    if calls + decisions == 0:
        return []
    return [
        f"Until you have given a valid recommendation, the last {calls} call(s) and {decisions} "
        f"decision call(s) are kept: only an advance to day {last_day} and a recommendation there "
        "can use them, and rejected actions do not."
    ]


def _scoring(contract: Contract) -> dict[str, Any]:
    plantings = [
        {"day": item.day, "compartments": len(item.compartments)}
        for item in contract.evaluation.plantings
    ]
    return {
        "plantings": plantings,
        "rule": (
            "The recommended policy is grown in this greenhouse in several other years, in the "
            "plantings listed. The score is the mean margin per crop in EUR/m2: over the "
            "compartments of a planting, then over plantings, then over years. It is never shown."
        ),
        "margin": (
            "fruit price x harvest - handling x harvest - heat price x heat - electricity price x "
            "light - CO2 price x CO2 - service x days - planting - cleaning, all per m2 of floor"
        ),
        "invalid_or_missing_recommendation": (
            "Your recommendation from before the experiments counts, or else a fixed policy."
        ),
    }


def _channels(contract: Contract, sensors: SensorSpec) -> dict[str, Any]:
    rows = [{"name": name, "unit": sensors.channels[name].unit} for name in PUBLIC_CHANNELS]
    exact = [n for n in PUBLIC_CHANNELS if isinstance(sensors.channels[n], ExactChannel)]
    return {
        "list": rows,
        "cadence_seconds": contract.calendar.tick_seconds,
        "notes": [
            "Climate and canopy readings carry measurement error and have gaps.",
            "The canopy reading estimates leaf area; part of its error is shared by all readings "
            "of a day.",
            f"{', '.join(exact)} are exact meters. They run per compartment from the start of the "
            "campaign, empty times included; what one crop used is a difference.",
        ],
    }


def _prices(contract: Contract, prices: Prices) -> dict[str, float]:
    costs = contract.economics.fixed_costs
    return {
        "fruit_eur_per_kg_fresh": prices.fruit_eur_per_kg_fresh,
        "electricity_eur_per_kwh": prices.electricity_eur_per_kwh,
        "delivered_heat_eur_per_kwh": prices.delivered_heat_eur_per_kwh,
        "co2_eur_per_kg": prices.co2_eur_per_kg,
        "harvest_handling_eur_per_kg": costs.harvest_handling_eur_per_kg,
        "planting_eur_per_m2": costs.planting_eur_per_m2,
        "cleaning_eur_per_m2": costs.cleanup_eur_per_m2,
        "background_service_eur_per_m2_day": costs.background_service_eur_per_m2_day,
    }
