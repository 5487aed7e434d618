"""Recommendations as they come from campaigns, and which policy is scored for each.

A missing or invalid recommendation is the method's own result: its pre-experiment recommendation is
scored instead, and if that is missing or invalid too the contract's fixed reference; the flag stays
with the score. A campaign that ended in an infrastructure failure is missing data: nothing is
scored for it.

Source: SlowLab task contract v8, evaluation; the frozen default policy is unknown there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from slowlab.campaign.settlement import (
    CampaignStatus,
    FallbackReason,
    PolicySource,
    Settlement,
)
from slowlab.canonical import JsonLimits, loads_strict
from slowlab.config import ConfigModel, validate_config
from slowlab.world.contract import Contract
from slowlab.world.policy import Policy, PolicyError, parse_policy

FORMAT = "slowlab-recommendations-1"
_LIMITS = JsonLimits(max_bytes=64 * 1024 * 1024)


class Recommendation(ConfigModel):
    """The end of one campaign, or the answer of a reader of its records."""

    site: int = Field(ge=0, description="Number of the site in its partition.")
    method: str = Field(min_length=1, description="Name of the method.")
    feedback: str = Field(min_length=1, description="Feedback condition; none without campaign.")
    repeat: int = Field(default=0, ge=0, description="Number of the repeat.")
    campaign: CampaignStatus = Field(
        default=CampaignStatus.FINISHED, description="How the campaign ended."
    )
    failure: str | None = Field(default=None, description="Why it failed, where it did.")
    policy: Any = Field(default=None, description="What is recommended, as received; may be bad.")
    source: PolicySource = Field(
        default=PolicySource.RECOMMENDATION, description="Whose policy that is."
    )
    fallback_reason: FallbackReason | None = Field(
        default=None, description="Why it is already a fallback, where it is."
    )
    initial_policy: Any = Field(
        default=None, description="Pre-experiment recommendation, as received; may be bad."
    )

    @property
    def identity(self) -> tuple[int, str, str, int]:
        """Site, method, feedback and repeat; unique within a file."""
        return self.site, self.method, self.feedback, self.repeat


def from_settlement(
    settlement: Settlement, *, site: int, method: str, repeat: int = 0
) -> Recommendation:
    """What a settled campaign recommends.

    Args:
        settlement: the private end of the campaign.
        site: number of its site.
        method: who decided.
        repeat: number of the repeat.
    """
    policy = settlement.policy
    return Recommendation(
        site=site,
        method=method,
        feedback=settlement.feedback.value,
        repeat=repeat,
        campaign=settlement.status,
        failure=settlement.failure,
        policy=None if policy is None else policy.model_dump(),
        source=settlement.source or PolicySource.RECOMMENDATION,
        fallback_reason=settlement.fallback_reason,
    )


class RecommendationFile(ConfigModel):
    """Recommendations of one partition under one contract."""

    format: str = Field(pattern=f"^{FORMAT}$", description="Version of this form.")
    contract: str = Field(description="Identity of the contract.")
    partition: str = Field(description="Name of the partition.")
    recommendations: tuple[Recommendation, ...] = Field(description="One for each campaign.")


@dataclass(frozen=True)
class ResolvedRecommendation:
    """A recommendation and the policy that is scored for it.

    Attributes:
        recommendation: as received.
        policy: checked policy; None where nothing may be scored.
        source: whose policy that is; None where nothing may be scored.
        fallback_reason: why a fallback is scored; None where the recommendation is.
    """

    recommendation: Recommendation
    policy: Policy | None
    source: PolicySource | None
    fallback_reason: FallbackReason | None


class RecommendationError(ValueError):
    """Recommendations that cannot be used as a whole; the message says why."""


def read_recommendations(path: str | Path, contract: Contract) -> RecommendationFile:
    """Read a file of recommendations.

    Raises:
        StrictJsonError: not acceptable JSON.
        ConfigError: the file does not fit.
        RecommendationError: another contract, or a campaign that is listed twice.
        OSError: the file cannot be read.
    """
    data = loads_strict(Path(path).read_bytes(), _LIMITS)
    found = validate_config(data, RecommendationFile, str(path))
    if found.contract != contract.id:
        raise RecommendationError(
            f"{path}: made under contract {found.contract}, not {contract.id}"
        )
    require_distinct(found.recommendations)
    return found


def require_distinct(recommendations: Sequence[Recommendation]) -> None:
    """Refuse two recommendations of one campaign.

    Raises:
        RecommendationError: names the campaign.
    """
    seen = set()
    for item in recommendations:
        if item.identity in seen:
            site, method, feedback, repeat = item.identity
            raise RecommendationError(
                f"site {site}, {method}, {feedback}, repeat {repeat} is listed twice"
            )
        seen.add(item.identity)


def resolve(recommendation: Recommendation, contract: Contract) -> ResolvedRecommendation:
    """Decide which policy is scored for a recommendation; never fails."""
    if recommendation.campaign is CampaignStatus.INFRASTRUCTURE_FAILURE:
        return ResolvedRecommendation(recommendation, None, None, None)
    policy, reason = _valid(recommendation.policy, contract), recommendation.fallback_reason
    if policy is not None:
        return ResolvedRecommendation(recommendation, policy, recommendation.source, reason)
    if reason is None and recommendation.policy is None:
        reason = FallbackReason.MISSING_RECOMMENDATION
    reason = reason or FallbackReason.INVALID_RECOMMENDATION
    initial = _valid(recommendation.initial_policy, contract)
    if initial is not None:
        source = PolicySource.INITIAL_RECOMMENDATION
        return ResolvedRecommendation(recommendation, initial, source, reason)
    reference = contract.fixed_reference
    return ResolvedRecommendation(recommendation, reference, PolicySource.FIXED_POLICY, reason)


def _valid(raw: object, contract: Contract) -> Policy | None:
    try:
        return parse_policy(raw, contract.policy)
    except PolicyError:
        return None
