"""Numbers of the measures that are described beside the tests, as a study declares them."""

from __future__ import annotations

from pydantic import Field

from slowlab.config import ConfigModel


class MeasureSpec(ConfigModel):
    """What decides where something is counted rather than measured."""

    tie_band_eur_m2: float | None = Field(
        default=None, ge=0, description="Scores this close are ties of dominance; none: the SESOI."
    )
    near_zero_eur_m2: float | None = Field(
        default=None,
        ge=0,
        description="Means up to this size are no denominator of a ratio; none: the SESOI.",
    )
    most_share: float = Field(
        default=0.5,
        gt=0,
        le=1,
        description="From this share on, wasted answers or idle compartments explain a failure.",
    )
    schedule_tolerance_days: float = Field(
        default=3.0, ge=0, description="Planting days this close count as the same."
    )
    wave_tolerance_days: float = Field(
        default=3.0, ge=0, description="A later start this close to day 182 is in the second wave."
    )
    fewest_campaigns: int = Field(
        default=4, ge=3, description="From so many campaigns on a rank correlation is given."
    )
    predictor_gate: float = Field(
        default=0.95,
        gt=0,
        le=1,
        description="Share of predictor attempts with enough readings that must be answered.",
    )
    share_resamples: int = Field(
        default=4000, ge=100, description="Bootstrap samples of a share of what can be gained."
    )
