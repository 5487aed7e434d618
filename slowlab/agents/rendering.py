"""What the harness says: system messages and instructions, from the templates in ``prompts``.

Every text is made from the public task and the harness profile alone. A template names nothing that
cannot work in the task's feedback mode: what there is to read stands in the task itself.

Source: SlowLab, harness, what the system message must contain. The wording is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from slowlab.agents.messages import Stage
from slowlab.agents.parser import function_names
from slowlab.agents.profile import HarnessProfile, ReplyFormat
from slowlab.agents.reply_examples import reply_examples
from slowlab.agents.reply_forms import ReplyForms, reply_forms
from slowlab.canonical import canonical_json
from slowlab.world.policy import Policy

_SYSTEM = {Stage.INITIAL: "system_initial.j2", Stage.READING: "system_reading.j2"}
_LEFT_OUT_OF_COMPACT = ("analysis_tools", "budgets", "channels", "rules", "setting")


class Rendering:
    """The texts of one campaign or reading.

    Args:
        profile: the harness profile.
        reference: the fixed reference policy, for profiles that tell it.

    Raises:
        ValueError: the profile tells the reference, and there is none.
    """

    def __init__(self, profile: HarnessProfile, reference: Policy | None = None) -> None:
        if profile.told_reference and reference is None:
            raise ValueError(f"harness profile {profile.name} tells a reference: give one")
        self._profile = profile
        self._reference = reference if profile.told_reference else None
        self._made: dict[tuple[str, str], str] = {}

    def system(self, stage: Stage, task: Mapping[str, Any]) -> str:
        """The system message of a stage.

        From the assignment of the feedback mode on it stays the same, so that all prompts of a
        campaign begin alike.

        Args:
            stage: where in the campaign.
            task: the public task as it is now.
        """
        if stage not in (Stage.INITIAL, Stage.READING, Stage.DESIGN):
            stage = Stage.SEASON
        return self._system(_SYSTEM.get(stage, "system.j2"), stage, task)

    def compact_system(self, task: Mapping[str, Any]) -> str:
        """The system message where characters have run out: what a recommendation needs.

        Args:
            task: the public task as it is now.
        """
        needed = {key: task[key] for key in task if key not in _LEFT_OUT_OF_COMPACT}
        needed["actions"] = [row for row in task["actions"] if row["action"] == "recommend"]
        return self._system("system_compact.j2", Stage.FINAL, needed)

    def opening(self) -> str:
        """The user's line before the earlier turns."""
        return _render("opening.j2")

    def instruction(
        self,
        stage: Stage,
        task: Mapping[str, Any],
        *,
        last_day: bool = False,
        design_calls: int = 0,
    ) -> str:
        """What is asked for in the last message.

        Args:
            stage: where in the campaign.
            task: the public task as it is now.
            last_day: whether today is the last day.
            design_calls: how many replies the design may still take.
        """
        forms = reply_forms(stage, task, self._profile)
        names = function_names(forms) if self._calls_functions else ()
        return _render(
            "instruction.j2",
            stage=stage.value,
            last_day=last_day,
            design_calls=design_calls,
            names=names,
        )

    @property
    def _calls_functions(self) -> bool:
        return self._profile.reply_format is ReplyFormat.FUNCTION_CALLS

    def _system(self, template: str, stage: Stage, task: Mapping[str, Any]) -> str:
        line = canonical_json(task)
        if (template, line) not in self._made:
            forms = reply_forms(stage, task, self._profile)
            self._made[template, line] = _render(
                template,
                task=line,
                reference=self._reference_line(),
                last_day=task["calendar"]["campaign_days"],
                unassigned=stage is Stage.DESIGN,
                memory=self._profile.memory,
                budgets=self._profile.budgets,
                functions=self._calls_functions,
                examples=reply_examples(stage, task, forms),
                **_form_words(forms),
            )
        return self._made[template, line]

    def _reference_line(self) -> str:
        return "" if self._reference is None else canonical_json(self._reference.model_dump())


def _form_words(forms: ReplyForms) -> dict[str, list[str]]:
    """Names of what a reply may be, as the templates use them."""
    remarks = dict.fromkeys(name for kind in forms.types for name in forms.remarks(kind))
    return {
        "types": [kind.value for kind in forms.types],
        "actions": [kind.value for kind in forms.actions],
        "tools": list(forms.tools),
        "remarks": [f'"{name}"' for name in remarks],
    }


def _render(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(values).strip()


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("slowlab.agents", "prompts"),
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
