"""The next prompt of a campaign, from where the campaign stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slowlab.agents.assembly import Question, campaign_prompt, campaign_state, compact_prompt
from slowlab.agents.harness_limits import Limits
from slowlab.agents.memory import Conversation
from slowlab.agents.messages import Message, ModelCall, Stage
from slowlab.agents.profile import HarnessProfile, ReplyFormat
from slowlab.agents.rendering import Rendering
from slowlab.agents.reply_schema import functions, response_schema
from slowlab.methods._base import Campaign


@dataclass(frozen=True)
class Prompting:
    """What a prompt of one campaign is made from.

    Attributes:
        profile: the harness profile.
        rendering: the texts.
        campaign: the public view.
        limits: what is left of every budget.
        conversation: what was said so far.
        generation_seed: sent with every call; None where none is.
    """

    profile: HarnessProfile
    rendering: Rendering
    campaign: Campaign
    limits: Limits
    conversation: Conversation
    generation_seed: int | None

    def question(self, stage: Stage, design_calls: int = 0) -> Question:
        """The last message as it is now.

        Args:
            stage: where in the campaign.
            design_calls: how many replies the design may still take.
        """
        history, task = self.campaign.history, self.campaign.task
        return Question(
            stage,
            campaign_state(history, self.limits.left(), self.profile.memory),
            self.rendering.instruction(
                stage,
                task,
                last_day=history.day >= task["calendar"]["campaign_days"],
                design_calls=design_calls,
            ),
        )

    def prompt(self, stage: Stage, design_calls: int = 0) -> tuple[Message, ...]:
        """The prompt of a stage as it is now; a compact one where characters have run out.

        Args:
            stage: where in the campaign.
            design_calls: how many replies the design may still take.

        Raises:
            PromptTooLongError: the harness budgets leave no room for it.
        """
        task, opening = self.campaign.task, self.rendering.opening()
        question = self.question(stage, design_calls)
        if stage is Stage.FINAL and self.limits.characters_are_short():
            system = self.rendering.compact_system(task)
            return compact_prompt(system, opening, self.conversation, question)
        system = self.rendering.system(stage, task)
        return campaign_prompt(system, opening, self.conversation, question, self.profile)

    def call(self, stage: Stage, messages: tuple[Message, ...]) -> ModelCall:
        """Messages in the form in which the profile asks a model.

        Args:
            stage: where in the campaign.
            messages: the prompt.
        """
        return model_call(stage, messages, self.profile, self.campaign.task, self.generation_seed)


def model_call(
    stage: Stage,
    messages: tuple[Message, ...],
    profile: HarnessProfile,
    task: Mapping[str, Any],
    generation_seed: int | None,
) -> ModelCall:
    """Messages in the form in which a profile asks a model.

    Args:
        stage: where in a campaign or reading.
        messages: the prompt.
        profile: the harness profile.
        task: the public task.
        generation_seed: sent with the call; None where none is.
    """
    form = profile.reply_format
    held, named = form is ReplyFormat.JSON_SCHEMA, form is ReplyFormat.FUNCTION_CALLS
    return ModelCall(
        messages=messages,
        max_output_tokens=profile.budgets.output_tokens,
        seed=generation_seed,
        response_schema=response_schema(stage, task, profile) if held else None,
        functions=functions(stage, task, profile) if named else (),
    )
