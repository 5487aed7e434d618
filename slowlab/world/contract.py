"""The task contract: everything a task designer may vary, in one checked and frozen object.

``config/contracts/v8.yaml`` is the contract of the original study; ``v9-draft.yaml`` is a draft of
a task in which experiments are worth more. Hidden ranges and weather are in the site distribution
(:mod:`slowlab.world.site`), sensors in :mod:`slowlab.world.sensors`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from slowlab.config import CONFIG_ROOT, load_config
from slowlab.world.contract_facility import Facility
from slowlab.world.contract_rules import (
    AnalysisTools,
    Budget,
    Calendar,
    Collapse,
    Controller,
    Evaluation,
    LanguageModelContext,
    Safety,
    Standby,
)
from slowlab.world.drafts import Drafted
from slowlab.world.economics import Economics
from slowlab.world.policy import Policy, PolicyBounds, PolicyError, parse_policy

DEFAULT_CONTRACT = CONFIG_ROOT / "contracts" / "v8.yaml"


class Contract(Drafted):
    """The rules of one task."""

    public_name: str = Field(
        pattern=r"^[a-z0-9-]+$", description="Neutral name of the task, as shown to the agent."
    )
    facility: Facility = Field(description="Compartments, equipment and neighbours.")
    calendar: Calendar = Field(description="Lengths in days and the control step.")
    budget: Budget = Field(description="What a campaign may use.")
    analysis_tools: AnalysisTools = Field(description="Limits of the analysis tools.")
    language_model: LanguageModelContext = Field(description="What a language model may be shown.")
    policy: PolicyBounds = Field(description="Bounds of the six decision variables.")
    controller: Controller = Field(description="Climate computer of a compartment with a crop.")
    standby: Standby = Field(description="Climate computer of an empty compartment.")
    safety: Safety = Field(description="Safety stop of a crop.")
    collapse: Collapse = Field(description="Handling of the photosynthesis pole.")
    economics: Economics = Field(description="Prices and costs.")
    evaluation: Evaluation = Field(description="Scoring of a recommended policy.")

    @model_validator(mode="after")
    def _sections_agree(self) -> Self:
        self._check_lamp_window()
        self._check_safety_ticks()
        self._check_plantings()
        self._check_candidates()
        return self

    @property
    def fixed_reference(self) -> Policy:
        """The fixed reference policy, which is also the fallback recommendation."""
        return self.evaluation.candidates[self.evaluation.fixed_reference]

    @property
    def evaluation_days(self) -> int:
        """Length of a scoring run: until the last planting is harvested, days."""
        return max(item.day for item in self.evaluation.plantings) + self.calendar.crop_days

    @property
    def safety_ticks(self) -> int:
        """Ticks without a break after which the safety stop acts."""
        return self.safety.continuous_seconds // self.calendar.tick_seconds

    def _check_lamp_window(self) -> None:
        latest = self.controller.lamps.start_hour + self.policy.supplemental_light_hours.max
        if latest > 24 or self.policy.supplemental_light_hours.min < 0:
            raise ValueError(
                "policy.supplemental_light_hours must lie between 0 and the hours left after "
                f"controller.lamps.start_hour ({24 - self.controller.lamps.start_hour})"
            )

    def _check_safety_ticks(self) -> None:
        if self.safety.continuous_seconds % self.calendar.tick_seconds:
            raise ValueError("safety.continuous_seconds must be a whole number of ticks")

    def _check_plantings(self) -> None:
        planted = sorted(k for item in self.evaluation.plantings for k in item.compartments)
        if planted != list(range(self.facility.compartments)):
            raise ValueError("evaluation.plantings must plant every compartment exactly once")
        if self.evaluation_days > 365:
            raise ValueError("evaluation.plantings: the last crop must end within 365 days")

    def _check_candidates(self) -> None:
        for name, candidate in self.evaluation.candidates.items():
            try:
                parse_policy(candidate, self.policy)
            except PolicyError as error:
                raise ValueError(f"evaluation.candidates.{name}: {error}") from None


def load_contract(path: str | Path = DEFAULT_CONTRACT) -> Contract:
    """Read a contract.

    Args:
        path: a YAML file.

    Raises:
        ConfigError: the file is missing or does not fit; the message says where and what is
        allowed.
    """
    return load_config(path, Contract)
