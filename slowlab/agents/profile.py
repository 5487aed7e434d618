"""Harness profiles: how a model is reminded of its campaign and in which form it replies.

``digest_notes`` is the published harness. The others change one thing each, so that a study can
tell what the harness does from what the model does.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from pydantic import Field

from slowlab.agents.budgets import HarnessBudgets
from slowlab.config import CONFIG_ROOT, ConfigError, ConfigModel, ConfigProblem, load_config

PROFILE_FOLDER = CONFIG_ROOT / "harness"
"""The profiles that come with SlowLab."""


class ReplyFormat(StrEnum):
    """In which form a model replies.

    ``text``: one JSON object in its text, read by one rule (:mod:`slowlab.agents.parser`).
    ``json_schema``: the same, and the endpoint holds it to a JSON schema. ``function_calls``:
    exactly one call of a function.
    """

    TEXT = "text"
    JSON_SCHEMA = "json_schema"
    FUNCTION_CALLS = "function_calls"


class Memory(ConfigModel):
    """What a prompt repeats of the campaign."""

    state_digest: bool = Field(
        default=True,
        description="Whether compartments, crops and used budgets are listed; the day and what is "
        "left always are.",
    )
    earlier_turns: bool = Field(
        default=True, description="Whether turns before the latest one are shown, as far as fits."
    )
    results_in_full: int | None = Field(
        default=6,
        ge=1,
        description="Latest results that are shown in full; older long ones become one-line notes. "
        "null: all.",
    )
    notes: bool = Field(default=True, description="Whether the model can keep notes for itself.")


class HarnessProfile(ConfigModel):
    """One harness profile."""

    name: str = Field(
        pattern=r"^[a-z][a-z0-9_]*$", description="Its name, which is also that of its file."
    )
    memory: Memory = Field(default=Memory(), description="What a prompt repeats.")
    reply_format: ReplyFormat = Field(
        default=ReplyFormat.TEXT, description="In which form a reply is given."
    )
    whole_numbers: bool = Field(
        default=False,
        description="Whether JSON schemas ask for whole numbers: some endpoints, among them "
        "llama.cpp, hold no other numbers to their bounds.",
    )
    told_reference: bool = Field(
        default=False, description="Whether the model is told the fixed reference policy."
    )
    probe_days: tuple[int, ...] = Field(
        default=(),
        strict=False,
        description="Days from which an interim recommendation is asked for and only logged.",
    )
    budgets: HarnessBudgets = Field(default=HarnessBudgets(), description="Budgets and lengths.")


def load_profile(name: str, folder: Path = PROFILE_FOLDER) -> HarnessProfile:
    """Read a harness profile.

    Args:
        name: its name.
        folder: where the profiles lie, one YAML file each.

    Raises:
        ConfigError: there is none of that name (the message lists those there are), or its file is
            not acceptable or bears another name.
    """
    path = folder / f"{name}.yaml"
    known = sorted(item.stem for item in folder.glob("*.yaml"))
    if name not in known:
        message = f"there is no harness profile of that name; there are {', '.join(known)}"
        raise ConfigError(str(path), (ConfigProblem("harness", message),))
    profile = load_config(path, HarnessProfile)
    if profile.name != name:
        raise ConfigError(str(path), (ConfigProblem("name", f"must be {name}, as the file's"),))
    return profile
