"""The rule sections of a contract: calendar, budgets, controller, safety, collapse, scoring.

Source of all numbers in ``config/contracts/v8.yaml``: SlowLab task contract v8. Sections say which
of them are ours.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from slowlab.config import ConfigModel
from slowlab.world.policy import Policy

SECONDS_PER_DAY = 86_400


class Calendar(ConfigModel):
    """Time in whole ticks; day 0 is 1 January 00:00 in UTC+1, without daylight saving."""

    campaign_days: int = Field(ge=1, le=365, description="Length of a campaign, days.")
    tick_seconds: int = Field(ge=1, le=3600, description="Control step (tick), s; divides 600 s.")
    crop_days: int = Field(ge=1, le=365, description="A crop closes by itself after this, days.")
    cleanup_days: int = Field(ge=0, le=365, description="Cleaning after a crop, days.")
    latest_start_day: int = Field(
        ge=0, le=365, description="Last day on which a crop may start, inclusive."
    )
    day_start_hour: int = Field(
        ge=0, le=24, description="Local hour at which the day targets begin."
    )
    day_end_hour: int = Field(
        ge=0, le=24, description="Local hour at which the night targets begin."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if 600 % self.tick_seconds:
            raise ValueError("tick_seconds must divide 600 s, the interval of the weather records")
        if self.day_start_hour >= self.day_end_hour:
            raise ValueError("day_start_hour must be before day_end_hour")
        if self.latest_start_day >= self.campaign_days:
            raise ValueError("latest_start_day must lie before the end of the campaign")
        return self

    @property
    def ticks_per_day(self) -> int:
        """Ticks in a day."""
        return SECONDS_PER_DAY // self.tick_seconds

    @property
    def campaign_ticks(self) -> int:
        """Ticks in a campaign."""
        return self.campaign_days * self.ticks_per_day

    @property
    def crop_ticks(self) -> int:
        """Ticks in a full crop."""
        return self.crop_days * self.ticks_per_day

    @property
    def cleanup_ticks(self) -> int:
        """Ticks of cleaning after a crop."""
        return self.cleanup_days * self.ticks_per_day

    @property
    def latest_start_tick(self) -> int:
        """Last tick at whose beginning a crop may start."""
        return self.latest_start_day * self.ticks_per_day


class Budget(ConfigModel):
    """What a campaign may use. The reserves are ours: the original reserved nothing."""

    starts: int = Field(ge=1, le=10_000, description="Crops that may be started.")
    decision_calls: int = Field(ge=1, le=100_000, description="Calls of start, stop and recommend.")
    interface_calls: int = Field(ge=1, le=1_000_000, description="Calls of any action.")
    reserved_interface_calls: int = Field(
        ge=0, le=100, description="Calls kept for the final advance and recommendation (ours)."
    )
    reserved_decision_calls: int = Field(
        ge=0, le=100, description="Decision calls kept for the final recommendation (ours)."
    )
    raw_records_per_read: int = Field(ge=1, le=1_000_000, description="Raw records in one reply.")
    days_per_daily_read: int = Field(ge=1, le=100_000, description="Days in one daily reply.")
    record_delay_days: int = Field(
        ge=1, le=365, description="Youngest record of the delayed arm, days (ours)."
    )

    @model_validator(mode="after")
    def _reserves_fit(self) -> Self:
        if self.reserved_interface_calls >= self.interface_calls:
            raise ValueError("reserved_interface_calls must be below interface_calls")
        if self.reserved_decision_calls >= self.decision_calls:
            raise ValueError("reserved_decision_calls must be below decision_calls")
        return self


class AnalysisTools(ConfigModel):
    """Limits of the tools that cost no campaign time."""

    calls: int = Field(ge=0, le=1_000_000, description="Tool calls in a campaign.")
    policies_per_predict: int = Field(
        ge=1, le=10_000, description="Policies in one `predict` call."
    )
    candidates: int = Field(ge=1, le=10_000, description="Points in one space-filling design.")
    gp_restarts: int = Field(ge=1, le=1000, description="Random starts of the outcome model's fit.")
    min_completed_crops: int = Field(
        ge=2, le=1000, description="Normally completed crops needed to fit the outcome model."
    )
    summary_days: int = Field(ge=1, le=100_000, description="Days in one series summary.")
    min_crop_age_days: int = Field(
        ge=0, le=365, description="Youngest crop for which an outcome is predicted, days."
    )
    significant_digits: int = Field(ge=1, le=17, description="Significant digits of tool outputs.")


class LanguageModelContext(ConfigModel):
    """What a language model may be shown in one campaign."""

    campaign_chars: int = Field(ge=1, description="Prompt characters in a campaign.")
    prompt_chars: int = Field(ge=1, description="Characters in one prompt.")
    full_result_turns: int = Field(ge=0, description="Latest results that are shown in full.")
    notes_chars: int = Field(ge=0, description="Longest notes, in characters.")


class Heating(ConfigModel):
    """Heating command: band curve of air temperature at the heating set-point."""

    band_k: float = Field(
        lt=0, ge=-20, description="Width of the band, K; negative: closes upwards."
    )


class Ventilation(ConfigModel):
    """Roof vents: the larger of a temperature and a humidity band, closed when it is cold."""

    temperature_band_k: float = Field(gt=0, le=50, description="Width of the temperature band, K.")
    humidity_band_pct: float = Field(
        gt=0, le=500, description="Width of the humidity band, percent."
    )
    guard_offset_k: float = Field(ge=-20, le=20, description="Cold guard, from the set-point, K.")
    guard_band_k: float = Field(lt=0, ge=-20, description="Width of the cold guard, K.")


class Co2Dosing(ConfigModel):
    """CO2 dosing by a band curve, in light only."""

    band_ppm: float = Field(lt=0, ge=-2000, description="Width of the band, ppm.")
    solar_above_w_m2: float = Field(ge=0, le=1500, description="Doses in sun above this, W/m2.")


class Lamps(ConfigModel):
    """Lamps: on from the start hour for the policy's hours, unless it is bright or hot."""

    start_hour: int = Field(ge=0, le=23, description="Local hour at which the lamp window opens.")
    off_at_solar_w_m2: float = Field(
        ge=0, le=1500, description="Off in sun at or above this, W/m2."
    )
    off_at_air_c: float = Field(ge=0, le=60, description="Off in air at or above this, degC.")


class ThermalScreen(ConfigModel):
    """Thermal screen: closed when outdoors is cold, the house not warm and the air not humid."""

    outdoor_day_c: float = Field(
        ge=-50, le=50, description="Closes below this by day, degC outdoors."
    )
    outdoor_night_c: float = Field(
        ge=-50, le=50, description="Closes below this by night, degC outdoors."
    )
    cold_band_k: float = Field(lt=0, ge=-20, description="Width of the outdoor band, K.")
    warm_offset_k: float = Field(ge=0, le=20, description="Opens this far above the set-point, K.")
    warm_band_k: float = Field(gt=0, le=20, description="Width of the warm band, K.")
    humidity_offset_pct: float = Field(
        ge=-50, le=50, description="Opens from this distance to the humidity threshold, percent."
    )
    humidity_band_pct: float = Field(
        gt=0, le=100, description="Width of the humidity band, percent."
    )
    guard_offset_k: float = Field(ge=-20, le=20, description="Cold guard, from the set-point, K.")
    guard_band_k: float = Field(lt=0, ge=-20, description="Width of the cold guard, K.")


class Controller(ConfigModel):
    """The climate computer: five commands, set once a tick from the last available readings."""

    heating: Heating = Field(description="Heating command.")
    ventilation: Ventilation = Field(description="Roof vents.")
    co2: Co2Dosing = Field(description="CO2 dosing.")
    lamps: Lamps = Field(description="Lamps.")
    screen: ThermalScreen = Field(description="Thermal screen.")


class Standby(ConfigModel):
    """Rules for an empty compartment, with lamps and CO2 off; an assumption of the original."""

    heat_target_c: float = Field(ge=-10, le=40, description="Heating set-point, degC.")
    heat_band_k: float = Field(lt=0, ge=-20, description="Width of the heating band, K.")
    vent_target_c: float = Field(ge=0, le=60, description="Ventilation set-point, degC.")
    vent_band_k: float = Field(gt=0, le=50, description="Width of the ventilation band, K.")
    screen_heat_target_c: float = Field(ge=-10, le=40, description="Set-point of the screen, degC.")
    screen_humidity_target_pct: float = Field(
        ge=0, le=100, description="Humidity threshold of the screen before its offset, percent."
    )


class Safety(ConfigModel):
    """A crop is stopped when the air was too cold or too hot without a break; as last observed."""

    air_below_c: float = Field(ge=-50, le=60, description="Too cold below this, degC.")
    air_above_c: float = Field(ge=-50, le=60, description="Too hot above this, degC.")
    continuous_seconds: int = Field(ge=1, le=864_000, description="Stop after this long, s.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.air_below_c >= self.air_above_c:
            raise ValueError("air_below_c must be below air_above_c")
        return self


class CollapseRule(StrEnum):
    """What happens near the pole of the photosynthesis formula.

    ``floor``: the compensation point is kept above a floor (default; a declared deviation).
    ``stop``: the crop is stopped for safety at the start of that tick (parity).
    """

    FLOOR = "floor"
    STOP = "stop"


class Collapse(ConfigModel):
    """The pole of gross photosynthesis, tested in every substep. Rule and numbers are ours."""

    rule: CollapseRule = Field(description="`floor` or `stop`.")
    floor_ratio: float = Field(
        gt=0, lt=0.5, description="floor: compensation point >= -ratio x stomatal CO2."
    )
    stop_ratio: float = Field(
        gt=0,
        lt=1,
        description="stop: when stomatal CO2 + 2 compensation point < ratio x stomatal CO2.",
    )
    lit_above_umol_m2_s: float = Field(
        ge=0, le=1000, description="Light on the canopy that makes the pole count, umol PAR/m2/s."
    )


class Planting(ConfigModel):
    """One planting of the scoring run."""

    day: int = Field(ge=0, le=365, description="Planting day, from 0 (1 January).")
    compartments: tuple[int, ...] = Field(
        min_length=1, description="Compartments that are planted on that day, from 0."
    )


class Evaluation(ConfigModel):
    """How a recommended policy is scored: in unseen weather, never shown to any method."""

    plantings: tuple[Planting, ...] = Field(
        min_length=1, description="Plantings; every compartment exactly once."
    )
    sensor_noise: bool = Field(description="Whether sensor noise acts in scoring runs.")
    fresh_compartment_draws: bool = Field(
        description="Whether compartment differences are redrawn for every scoring year."
    )
    smallest_effect_of_interest_eur_m2: float = Field(
        gt=0, le=1000, description="Smallest difference that matters, EUR/m2 per crop."
    )
    fixed_reference: str = Field(
        description="Candidate that is the fixed reference and the fallback recommendation."
    )
    candidates: dict[str, Policy] = Field(
        min_length=1, description="Named policies among which the reference was chosen."
    )

    @model_validator(mode="after")
    def _reference_is_a_candidate(self) -> Self:
        if self.fixed_reference not in self.candidates:
            raise ValueError(f"fixed_reference must be one of {', '.join(self.candidates)}")
        return self
