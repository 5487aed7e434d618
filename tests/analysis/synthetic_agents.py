"""SYNTHETIC campaigns of language models: made-up counts and steps; no model was ever asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from slowlab.agents.outages import AttemptFault
from slowlab.agents.summary import COUNTS, SHARED, SUMS
from slowlab.stages.agent_table import STEP_SCHEMA

type Key = tuple[int, str, str, int]

SHARED_CALLS, OWN_CALLS, ENDPOINT_CALLS = 5, 60, 20
HOSTILE = "=1+1 | <script>alert(1)</script> [a](javascript:b)\n\u202e`x`"
"""A reason that no table may let through as anything but text."""


def _name(key: Key) -> dict[str, Any]:
    return dict(zip(("site", "method", "feedback", "repeat"), key, strict=True))


def agent_row(key: Key) -> dict[str, Any]:
    """Counts of one campaign: the shared beginning, then more with full feedback.

    The first language model knows what it costs; the second does not.
    """
    full, known = key[2] == "full", key[1] == "grower"
    calls = SHARED_CALLS + (OWN_CALLS if full else ENDPOINT_CALLS)
    counts = dict.fromkeys(COUNTS, 0) | {
        "model_calls": calls,
        "calls_initial": 1,
        "calls_design": SHARED_CALLS - 1,
        "calls_season": calls - SHARED_CALLS - 1,
        "calls_final": 1,
        "prompt_characters": 20_000 * calls,
        "answers": calls,
        "answers_of_unknown_length": 0 if known else calls,
        "attempts": calls + 2,
        "failed_attempts": 2,
        f"failed_{AttemptFault.TIMED_OUT}": 2,
        "attempts_of_unknown_cost": 2 if known else calls + 2,
        "format_errors": 3 if full else 1,
        "actions": calls - 8,
        "invalid_actions": 1,
        "observe_calls": 12 if full else 4,
        "daily_rows": 300 if full else 0,
        "tool_calls": 6 if full else 2,
        "tool_errors": 1,
        "predictor_attempts": 5 if full else 0,
        "predictor_with_readings": 4 if full else 0,
        "predictor_outputs": 4 if full else 0,
        "predictor_outputs_with_readings": 4 if full else 0,
        "notes_updates": 7,
        "forced_advance": int(key[0] == 0),
        "records": 6 * calls,
    }
    sums = {"prompt_tokens": 5000.0 * calls, "completion_tokens": 80.0 * calls}
    sums["cost_usd"] = 0.001 * calls
    shared = {name: counts.get(name, 0) for name in SHARED if name not in SUMS}
    shared |= {"model_calls": SHARED_CALLS, "prompt_characters": 20_000 * SHARED_CALLS}
    shared |= {"calls_season": 0, "calls_final": 0, "answers": SHARED_CALLS, "actions": 2}
    shared |= {"attempts": SHARED_CALLS, "records": 6 * SHARED_CALLS}
    shared |= {name: 0 for name in SHARED if name.startswith("failed_")}
    shared |= {"format_errors": 0, "invalid_actions": 0, "tool_calls": 0, "tool_errors": 0}
    shared |= {"attempts_of_unknown_cost": 0 if known else SHARED_CALLS}
    shared |= {"answers_of_unknown_length": 0 if known else SHARED_CALLS}
    shared |= {name: value * SHARED_CALLS / calls for name, value in sums.items()}
    if not known:
        sums, shared = dict.fromkeys(SUMS), shared | dict.fromkeys(SUMS)
    return {
        **_name(key),
        "model": f"stand-in-{key[1]}",
        "harness": "digest_notes",
        "ending": "recommended",
        **counts,
        **sums,
        **{f"shared_{name}": shared[name] for name in SHARED},
    }


def step_table(campaigns: Sequence[Key]) -> pd.DataFrame:
    """A few steps of each campaign."""
    return STEP_SCHEMA.table([row for key in campaigns for row in steps(key)])


def steps(key: Key) -> list[dict[str, Any]]:
    """Plant, read and wait, an answer that was no use, twice, and a recommendation."""
    told = [
        ("start", "plant C1: 21/17 \u00b0C", HOSTILE, "crop 1 planted", "yes"),
        ("advance", "wait until day 30", "too young", "day 30", "yes"),
        ("observe", "read C1: canopy, daily", "look", "31 daily rows", "yes"),
        ("advance", "wait until day 365", "", "day 365", "yes"),
        ("error", "gave no usable answer", "", "syntax: no JSON", "no"),
        ("error", "gave no usable answer", "", "syntax: no JSON", "no"),
        ("recommend", "recommend: 21/17 \u00b0C", "the best one", "taken", "yes"),
    ]
    days = (0.0, 0.0, 30.0, 30.0, 365.0, 365.0, 365.0)
    return [
        {
            **_name(key),
            "sequence": 10 + 3 * place,
            "day": days[place],
            "stage": "design" if place == 0 else "season",
            "kind": kind,
            "by": "model",
            "action": action,
            "reason": reason,
            "outcome": outcome,
            "ok": ok,
            "rows": 31 if kind == "observe" else 0,
        }
        for place, (kind, action, reason, outcome, ok) in enumerate(told)
    ]
