"""Examples of replies for the system message, made from the task so that they keep to its bounds.

Their policy lies on the lower bounds of the task: whoever reads it learns the form and no opinion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slowlab.agents.messages import Stage
from slowlab.agents.reply_forms import RECOMMENDATIONS, ReplyForms, ReplyType
from slowlab.campaign.actions import Resolution
from slowlab.campaign.budget import ActionKind
from slowlab.canonical import canonical_json
from slowlab.tools.public_task import channel_names
from slowlab.world.policy import POLICY_FIELDS, PolicyBounds

Reply = dict[str, Any]

_DAYS = 30


def example_policy(bounds: PolicyBounds) -> dict[str, float]:
    """The policy of all examples: the lowest values, with a night not warmer than the day."""
    policy = {name: bounds.of(name).min for name in POLICY_FIELDS}
    day, night = policy["day_temperature_c"], policy["night_temperature_c"]
    return {**policy, "day_temperature_c": max(day, night)}


def reply_examples(stage: Stage, task: Mapping[str, Any], forms: ReplyForms) -> list[str]:
    """Valid replies of a stage, one line of canonical JSON each.

    Args:
        stage: where in the campaign.
        task: the public task.
        forms: what the stage takes.
    """
    policy = example_policy(forms.bounds)
    if stage is Stage.DESIGN:
        examples = [*_starts(policy), *_tool(policy, forms), {"type": ReplyType.DESIGN_COMPLETE}]
    elif stage is Stage.SEASON:
        examples = [*_campaign(policy, task, forms), *_tool(policy, forms), _recommend(policy)]
    elif stage is Stage.FINAL:
        examples = [_recommend(policy)]
    else:
        kind = next(kind for kind in forms.types if kind in RECOMMENDATIONS)
        examples = [{"type": kind, "policy": policy, "reason": "..."}]
    return [canonical_json(example) for example in examples]


def _starts(policy: Reply) -> Iterator[Reply]:
    yield {**_action(ActionKind.START, unit=0, policy=policy), "reason": "..."}


def _campaign(policy: Reply, task: Mapping[str, Any], forms: ReplyForms) -> Iterator[Reply]:
    """Starting, waiting and reading, as far as the feedback mode lets one read."""
    yield from _starts(policy)
    notes = {} if forms.notes_characters is None else {"notes": "..."}
    advance = _action(ActionKind.ADVANCE, day=min(_DAYS, task["calendar"]["campaign_days"]))
    yield {**advance, **notes, "incumbent": policy}
    yield _action(ActionKind.OBSERVE, unit=0)
    observe = next(row for row in task["actions"] if row["action"] == ActionKind.OBSERVE)
    if "variable" in observe["fields"]:
        variable, daily = channel_names(task)[0], Resolution.DAILY.value
        yield _action(ActionKind.OBSERVE, unit=0, variable=variable, resolution=daily)


def _tool(policy: Reply, forms: ReplyForms) -> Iterator[Reply]:
    if "predict" in forms.tools:
        yield {"type": ReplyType.TOOL, "name": "predict", "args": {"policies": [policy]}}


def _recommend(policy: Reply) -> Reply:
    return _action(ActionKind.RECOMMEND, policy=policy)


def _action(kind: ActionKind, **fields: Any) -> Reply:
    return {"type": ReplyType.CAMPAIGN, "action": {"action": kind, **fields}}
