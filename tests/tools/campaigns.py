"""Played campaigns on the fake facility, and tools over what was seen in them."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from slowlab.campaign.executor import Executor
from slowlab.campaign.history import History
from slowlab.campaign.session import ToolCall
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.tools.toolbox import Toolbox
from slowlab.world.contract import Contract, load_contract
from slowlab.world.economics import Prices
from slowlab.world.policy import Policy
from slowlab.world.sensors import load_sensors
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import FakeFacility, step
from tests.campaign.moves import advance, observe, ok, start

HARVEST, CANOPY = "cumulative_harvest_fresh_equivalent", "canopy_lai_proxy"
AIR, HEAT = "air_temperature_c", "heating_energy"
READ = (HARVEST, CANOPY, HEAT, "lighting_energy", "co2_dosed", AIR)
NO_ARTIFACTS = ArtifactFolder(Path("/nowhere"), "none")


@functools.cache
def contract() -> Contract:
    """The default contract."""
    return load_contract()


@functools.cache
def sensors():
    """The default instruments."""
    return load_sensors()


def policy(day=21.0, night=17.0, co2=800.0, light=12.0, offset=3.0, humidity=85.0) -> Policy:
    """A policy by position, for tests only."""
    return Policy(
        day_temperature_c=day,
        night_temperature_c=night,
        co2_target_ppm=co2,
        supplemental_light_hours=light,
        vent_temperature_offset_c=offset,
        vent_rh_threshold_pct=humidity,
    )


PLANTED = (policy(), policy(day=24.5), policy(co2=1100, light=5), policy(day=19, night=15.5))
LATER = (policy(day=22.75), policy(humidity=72), policy(offset=5.5, light=16))


def open_campaign(feedback=Feedback.FULL, prices: Prices | None = None, rules=None) -> Executor:
    """A fresh campaign on the fake facility."""
    rules = rules or contract()
    prices = prices or rules.economics.default_prices
    facility = FakeFacility(rules, prices)
    return Executor.open(
        facility, rules, sensors(), prices, feedback, rules.fixed_reference, stepping=step
    )


def played_campaign(feedback=Feedback.FULL, order=(0, 1, 2, 3), **opened) -> Executor:
    """A campaign to day 200: four crops completed, three growing, reads of both kinds.

    Args:
        feedback: its mode.
        order: compartment in which each policy grows.
        opened: how it was opened.
    """
    run = open_campaign(feedback, **opened)
    actions = [start(unit, p.model_dump()) for unit, p in zip(order, PLANTED, strict=True)]
    actions.append(advance(182))
    actions += [observe(unit) for unit in order]
    actions += [start(unit, p.model_dump()) for unit, p in zip(order, LATER, strict=False)]
    actions.append(advance(200))
    if feedback is Feedback.FULL:
        daily = {"start_day": 150, "resolution": "daily"}
        actions += [observe(order[0], variable=name, **daily) for name in READ]
        actions += [observe(order[1], variable=name, start_day=199) for name in (HARVEST, AIR)]
    for action in actions:
        ok(run.dispatch(action))
    return run


def toolbox(history: History, seed=7, artifacts=NO_ARTIFACTS, **limits) -> Toolbox:
    """Tools over a history."""
    return Toolbox(history, artifacts, seed, **limits)


def use(tools: Toolbox, name: str, /, **arguments):
    """Result of a call that must work."""
    reply = tools(ToolCall(name, arguments))
    assert reply.ok, reply.error
    return reply.result


def error(tools: Toolbox, name: str, arguments):
    """Reason and message of a call that must fail."""
    reply = tools(ToolCall(name, arguments))
    assert not reply.ok
    told = reply.payload()["error"]
    assert told["kind"] == "tool_error"
    return told["reason"], told["message"]


def turned(value):
    """The same data with the keys of every object in reverse order."""
    if isinstance(value, dict):
        return {key: turned(item) for key, item in reversed(value.items())}
    return [turned(item) for item in value] if isinstance(value, list | tuple) else value


def rebuilt(history: History, change=turned) -> History:
    """The same history from changed exchanges."""
    other = History(change(history.task))
    for item in history.exchanges:
        action = None if item.action is None else change(json.loads(json.dumps(item.action)))
        other.add(action, change(json.loads(json.dumps(item.reply))))
    return other
