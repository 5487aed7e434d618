"""Everything public that a model can be shown: replies of every action and tool, in every mode."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

from slowlab.agents.messages import Message, Role
from slowlab.campaign.executor import Executor
from slowlab.campaign.history import History
from slowlab.campaign.session import ToolCall
from slowlab.canonical import canonical_json
from slowlab.tools.toolbox import Toolbox
from slowlab.world.task import Feedback
from tests.agents.prompts import messages
from tests.campaign.fake_facility import COOKED_C, step
from tests.campaign.moves import WARM, advance, observe, recommend, start
from tests.methods.contract_world import ARTIFACTS, PRICES, RULES, SENSORS, ContractFacility

POLICY = RULES.fixed_reference.model_dump()
LEFT = {"tool_calls": 60, "model_calls": 180, "prompt_characters": 4_123_456}
CHANNELS = (
    "cumulative_harvest_fresh_equivalent",
    "canopy_lai_proxy",
    "heating_energy",
    "lighting_energy",
    "co2_dosed",
)


def _season() -> list[Any]:
    """Every action, carried out and refused, and every tool, with a result and with an error."""
    hot = {**POLICY, "day_temperature_c": COOKED_C}
    reads = [observe(0, variable=name, resolution="daily") for name in CHANNELS]
    return [
        start(0, POLICY),
        start(1, hot),
        start(2, {**POLICY, **WARM}),
        start(9, POLICY),
        ToolCall("predict_crop_outcome", {"unit": 0, "run_index": 1}),
        observe(0, variable="air_temperature_c"),
        advance(30),
        *reads,
        ToolCall("predict_crop_outcome", {"unit": 0, "run_index": 1}),
        ToolCall("series_summary", {"unit": 0, "variable": "canopy_lai_proxy"}),
        ToolCall("space_filling_candidates", {"n": 3, "fixed": {"co2_target_ppm": 700}}),
        {"action": "stop", "unit": 2},
        {"action": "stop", "unit": 3},
        "nonsense",
        advance(33),
        start(2, POLICY),
        start(3, {**POLICY, **WARM}),
        advance(182),
        observe(0, run_index=1),
        observe(1, run_index=1),
        start(0, {**POLICY, "co2_target_ppm": 600}),
        start(1, POLICY),
        observe(0),
        advance(364.99652777777777),
        advance(3),
        recommend(POLICY),
        advance(365),
        *(observe(unit) for unit in range(4)),
        ToolCall("runs", {}),
        ToolCall("fit_outcome_model", {}),
        ToolCall("predict", {"policies": [POLICY], "planting_day": 90.5}),
        ToolCall("predict", {"policies": []}),
        ToolCall("dance", {}),
        recommend({}),
        recommend(POLICY),
    ]


@cache
def replies(feedback: Feedback) -> tuple[tuple[Any, dict[str, Any], History], ...]:
    """Every step of a campaign, its reply as plain data, and the history after it."""
    facility = ContractFacility(RULES, PRICES, grown=[[] for _ in range(4)])
    run = Executor.open(
        facility,
        RULES,
        SENSORS,
        PRICES,
        feedback,
        RULES.fixed_reference,
        shuffle_key="k",
        stepping=step,
    )
    history = History(run.task())
    tools = Toolbox(history, ARTIFACTS, 7, RULES.analysis_tools)
    told = []
    for item in _season():
        if isinstance(item, ToolCall):
            reply = tools(item).payload()
        else:
            reply = run.dispatch(item).payload()
            history.add(item if isinstance(item, dict) else None, reply)
        told.append((item, reply, copy.deepcopy(history)))
    return tuple(told)


def final_messages(feedback: Feedback) -> Iterator[dict[str, Any]]:
    """The last message of every prompt, as data."""
    for item, reply, history in replies(feedback):
        kind = "tool_result" if isinstance(item, ToolCall) else "result"
        latest = {"kind": kind if reply["ok"] else reply["error"]["kind"], **reply}
        yield {
            "stage": "season",
            "state": {**history.digest(), "left": {"calls": 100, **LEFT}},
            "latest_result": latest,
            "instruction": "Take the next step.",
        }


def prompts(feedback: Feedback) -> Iterator[list[Message]]:
    """Every prompt of a campaign in which all results so far are shown in full."""
    turns: list[tuple[str, dict[str, Any]]] = []
    for _, reply, history in replies(feedback):
        latest = {"kind": "result", **reply}
        told = messages(history, latest=latest, turns=tuple(turns[-6:]))
        yield [Message(Role(item["role"]), item["content"]) for item in told]
        turns += [("assistant", {"type": "campaign", "reason": "why"}), ("user", latest)]


def as_messages(final: dict[str, Any]) -> list[Message]:
    return [Message(Role.SYSTEM, "You grow."), Message(Role.USER, canonical_json(final))]
