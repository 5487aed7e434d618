"""Prompts in the form that the harness gives them, made by hand from a campaign's history."""

from __future__ import annotations

from typing import Any

from slowlab.campaign.history import History
from slowlab.canonical import canonical_json


def messages(
    history: History,
    stage: str = "season",
    *,
    latest: dict[str, Any] | None = None,
    turns: tuple[tuple[str, dict[str, Any]], ...] = (),
    model_calls: int = 100,
) -> list[dict[str, str]]:
    """System message, opening line, earlier turns and the final user message.

    Args:
        history: what was seen.
        stage: stage of the campaign.
        latest: the latest result.
        turns: role and content of earlier turns.
        model_calls: how many are left.
    """
    left = {"calls": 100, "tool_calls": 50, "model_calls": model_calls}
    final = {
        "stage": stage,
        "state": {**history.digest(), "left": left},
        "latest_result": latest,
        "instruction": "Send your next answer.",
    }
    system = f'You run a campaign.\n{canonical_json(history.task)}\nOptional: "reason", "notes".'
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": "The campaign begins."},
        *({"role": role, "content": canonical_json(content)} for role, content in turns),
        {"role": "user", "content": canonical_json(final)},
    ]
