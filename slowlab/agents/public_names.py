"""Names that may stand as keys in what a language model is sent: everything public, nothing else.

Most are taken from the code that writes the public data, so that a new public field is known here
at once. The rest are the names in replies that are put together by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any

from slowlab.campaign.budget import BudgetAccount
from slowlab.campaign.errors import ErrorInfo, Reply
from slowlab.campaign.history import DailyRow, History, SeenCrop, Totals
from slowlab.tools.outcome_model import INPUTS
from slowlab.tools.predictor import CropPrediction
from slowlab.tools.runs import crop_row
from slowlab.world.contract import load_contract
from slowlab.world.drafts import DRAFT_MARK
from slowlab.world.policy import POLICY_FIELDS, Policy
from slowlab.world.sensors import load_sensors
from slowlab.world.task import Feedback, task_description

_MEASURED_BY_HAND = (
    "active_days",
    "cleaning_eur_m2",
    "days_left",
    "leave_one_out_rmse_eur_m2",
    "mean_eur_m2",
    "noise_sd_eur_m2",
    "planting_days",
    "planting_eur_m2",
    "ready_day",
    "scoring_days",
    "sd_eur_m2",
    "signal_sd_eur_m2",
    "since_day",
    "time_s",
    "value",
)
_REPLIES = (
    "crop",
    "measured_in",
    "last_event",
    "phase",
    "problem",
    "recommendation",
    "records",
    "resolution",
    "rows",
    "state",
    "status",
    "statuses",
    "variable",
)
_TOOLS = ("completed_crops", "days", "length_scales", "policies", "predictions", "runs")
_PROMPTS = ("stage", "state", "latest_result", "instruction", "kind", "left", "packet")
_REPLY_FORM = (
    "action",
    "args",
    "code",
    "fields",
    "incumbent",
    "name",
    "note",
    "notes",
    "reason",
    "tool",
    "type",
)
_LEFT = ("calls", "decisions", "starts", "tool_calls", "model_calls", "prompt_characters")
_SCHEMA_WORDS = (
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "default",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "oneOf",
    "parameters",
    "pattern",
    "properties",
    "required",
    "strict",
    "title",
    "type",
)


@cache
def public_keys() -> frozenset[str]:
    """Every key that may stand in a prompt."""
    by_hand = {*_REPLIES, *_TOOLS, *_PROMPTS, *_REPLY_FORM}
    return frozenset(by_hand | measured_keys() | set(_keys_of_code()))


@cache
def measured_keys() -> frozenset[str]:
    """Keys of numbers that differ from campaign to campaign.

    Readings, totals, results of tools, times, what is left, prices, and the model's own policies:
    numbers that may agree with anything in a few digits.
    """
    models = (DailyRow, Totals, SeenCrop, CropPrediction)
    of_code = {field.name for model in models for field in fields(model)}
    prices = _example_task(Feedback.FULL)["prices"]
    names = {*of_code, *POLICY_FIELDS, *INPUTS, *_MEASURED_BY_HAND, *_LEFT, *prices}
    return frozenset(names - {"closed", "feature_set", "policy", "reason", "run_index", "unit"})


@cache
def schema_keys() -> frozenset[str]:
    """Every key that may stand in a JSON schema, or in the description of a function."""
    return public_keys() | frozenset(_SCHEMA_WORDS)


def _keys_of_code() -> Iterator[str]:
    """Keys of everything public that code can show."""
    for feedback in Feedback:
        yield from _keys(_example_task(feedback))
    for model in (Reply, ErrorInfo, SeenCrop, CropPrediction):
        yield from (field.name for field in fields(model))
    history = _example_history()
    yield from _keys(history.digest())
    yield from _keys([crop_row(crop) for crop in history.crops()])


def _example_task(feedback: Feedback) -> dict[str, Any]:
    contract = load_contract()
    prices = contract.economics.default_prices
    task = task_description(contract, load_sensors(), prices, feedback)
    return {**task, "status": DRAFT_MARK}


def _example_history() -> History:
    """A history with one crop."""
    contract = load_contract()
    history = History(_example_task(Feedback.FULL))
    policy = contract.fixed_reference
    result = {
        "day": 0.0,
        "unit": 0,
        "run_index": 1,
        "budget": BudgetAccount(contract.budget).report(),
    }
    action = {"action": "start", "unit": 0, "policy": _plain_policy(policy)}
    history.add(action, {"ok": True, "result": result})
    return history


def _plain_policy(policy: Policy) -> dict[str, float]:
    return {name: getattr(policy, name) for name in POLICY_FIELDS}


def _keys(data: Any) -> Iterator[str]:
    """Every key at every depth."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield key
            yield from _keys(value)
    elif isinstance(data, list | tuple):
        for item in data:
            yield from _keys(item)
