"""What tools and readers take from the public task: always by name, never by position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slowlab.world.policy import POLICY_FIELDS, Bound, PolicyBounds


def policy_bounds(task: Mapping[str, Any]) -> PolicyBounds:
    """Bounds of the six policy fields, in whatever order the task lists them.

    Raises:
        KeyError: a field is missing.
    """
    rows = {row["name"]: row for row in task["policy"]["fields"]}
    return PolicyBounds(
        **{
            name: Bound(**{key: rows[name][key] for key in ("min", "max", "unit")})
            for name in POLICY_FIELDS
        }
    )


def scoring_days(task: Mapping[str, Any]) -> tuple[float, ...]:
    """Days on which a recommended policy is planted when it is scored, ascending."""
    return tuple(sorted(float(item["day"]) for item in task["scoring"]["plantings"]))


def channel_names(task: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the channels whose records can be read, sorted; none in the endpoint mode."""
    return tuple(sorted(row["name"] for row in task.get("channels", {}).get("list", ())))


def tool_names(task: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the analysis tools that the task announces, sorted."""
    return tuple(sorted(row["tool"] for row in task["analysis_tools"]))
