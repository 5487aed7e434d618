"""The stand-ins by name."""

from __future__ import annotations

from collections.abc import Mapping

from slowlab.agents.standins.answers import Script
from slowlab.agents.standins.careless import over_budget, time_blind, verbose
from slowlab.agents.standins.grower import grower
from slowlab.agents.standins.rude import hostile, malformed, silent
from slowlab.agents.standins.staggered import staggered
from slowlab.agents.standins.two_wave import two_wave

SCRIPTS: Mapping[str, Script] = {
    "grower": grower,
    "two_wave": two_wave,
    "staggered": staggered,
    "time_blind": time_blind,
    "verbose": verbose,
    "silent": silent,
    "malformed": malformed,
    "hostile": hostile,
    "over_budget": over_budget,
}
"""The first three are sensible, the others misbehave."""
PREFIX = "stand-in-"


def model_name(script: str) -> str:
    """Name under which the endpoint serves a script."""
    return PREFIX + script.replace("_", "-")


def script_of(model: str) -> Script | None:
    """The script that a model name stands for, or None."""
    return SCRIPTS.get(model.removeprefix(PREFIX).replace("-", "_"))
