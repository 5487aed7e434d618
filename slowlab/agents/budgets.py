"""Every budget that the harness itself sets; those of the campaign come from the public task.

Source: SlowLab, harness, budgets. The values that end a loop of identical errors and that limit
probes and readings are ours.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from slowlab.config import ConfigModel

COMPACT_PROMPT_CHARACTERS = 20_000
"""Room that is kept for the compact prompt when characters run out; it is always shorter."""


class HarnessBudgets(ConfigModel):
    """What one campaign of a language model may use, and how long its texts may be."""

    model_calls: int = Field(
        default=200,
        ge=1,
        le=10_000,
        description="Most calls of the model in a campaign, with what the branches share.",
    )
    prompt_characters: int = Field(
        default=5_000_000,
        ge=1,
        description="Most characters of all prompts of a campaign, with what the branches share.",
    )
    characters_per_prompt: int = Field(
        default=80_000, ge=16_000, description="Most characters of one prompt."
    )
    prompt_margin_characters: int = Field(
        default=4_000, ge=0, description="Characters of a prompt that stay free."
    )
    endgame_reserve_characters: int = Field(
        default=100_000,
        ge=COMPACT_PROMPT_CHARACTERS,
        description="With fewer characters of prompts left only a recommendation is asked for: "
        "one prompt and 20,000.",
    )
    endgame_calls: int = Field(
        default=2,
        ge=2,
        description="With so many campaign calls left only a recommendation is asked for.",
    )
    endgame_decisions: int = Field(
        default=1,
        ge=1,
        description="With so many decision calls left only a recommendation is asked for.",
    )
    output_tokens: int = Field(default=2_048, ge=64, description="Longest reply, tokens.")
    notes_characters: int = Field(
        default=2_000, ge=1, description="Longest notes; longer ones are refused unchanged."
    )
    reason_characters: int = Field(
        default=400, ge=0, description="Characters of a reason that are kept."
    )
    kept_reply_characters: int = Field(
        default=2_000, ge=1, description="Characters that are kept of a reply that is no answer."
    )
    stub_characters: int = Field(
        default=300, ge=1, description="An older result longer than this becomes a one-line note."
    )
    design_calls: int = Field(default=24, ge=1, description="Most model calls of the day-0 design.")
    initial_attempts: int = Field(
        default=3, ge=1, description="How often the initial recommendation is asked for."
    )
    probe_attempts: int = Field(
        default=1, ge=1, description="How often an interim recommendation is asked for."
    )
    reading_attempts: int = Field(
        default=3, ge=1, description="How often a reader is asked for its recommendation."
    )
    identical_errors: int = Field(
        default=8, ge=2, description="So many identical errors one after another end the loop."
    )

    @property
    def room(self) -> int:
        """Characters that a prompt may really have."""
        return self.characters_per_prompt - self.prompt_margin_characters

    @model_validator(mode="after")
    def _room_for_a_last_prompt(self) -> Self:
        if self.prompt_margin_characters >= self.characters_per_prompt:
            raise ValueError("prompt_margin_characters must be below characters_per_prompt")
        least = self.characters_per_prompt + COMPACT_PROMPT_CHARACTERS
        if self.endgame_reserve_characters < least:
            raise ValueError(
                "endgame_reserve_characters must hold one prompt and "
                f"{COMPACT_PROMPT_CHARACTERS} more: at least {least}"
            )
        return self
