"""The configuration of the development stage."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from slowlab.config import CONFIG_ROOT, ConfigModel, load_config
from slowlab.world.task import Feedback

DEFAULT_DEVELOPMENT = CONFIG_ROOT / "development.yaml"


class Layout(StrEnum):
    """How a development run plants its compartments.

    ``two_wave``: all on day 0 and again as soon as possible, every crop under a policy of its own.
    ``single``: each compartment once, on a day of its own. ``replicate``: as ``two_wave``, but all
    crops of a wave under one policy, so that their differences are what no policy explains.
    """

    TWO_WAVE = "two_wave"
    SINGLE = "single"
    REPLICATE = "replicate"


class RunsConfig(ConfigModel):
    """Campaigns under random policies."""

    first_site: int = Field(ge=0, description="First development site.")
    last_site: int = Field(ge=0, description="Last development site, included.")
    layouts: tuple[Layout, ...] = Field(
        min_length=1, description="Layout of each run of a site; every run has its own year."
    )
    runs_per_job: int = Field(ge=1, description="Runs that are stepped together.")

    @model_validator(mode="after")
    def _some_site(self) -> Self:
        if self.last_site < self.first_site:
            raise ValueError("last_site must not be below first_site")
        return self

    @property
    def sites(self) -> range:
        """Numbers of the sites."""
        return range(self.first_site, self.last_site + 1)

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return -(-len(self.sites) * len(self.layouts) // self.runs_per_job)


class PredictorConfig(ConfigModel):
    """The process predictor."""

    penalty: float = Field(gt=0, description="Ridge penalty on standardised inputs.")
    folds: int = Field(ge=2, description="Folds of sites for the validation.")
    age_step_days: int = Field(ge=1, description="Distance of the ages at which crops are seen, d.")
    table_ages_days: tuple[int, ...] = Field(description="Ages of the validation table, d.")


class ParityConfig(ConfigModel):
    """Comparison of the deployed predictor with the fitted one."""

    sites: tuple[int, ...] = Field(min_length=1, description="Sites that nothing was fitted to.")
    age_pairs_days: tuple[tuple[int, int], ...] = Field(
        min_length=1, description="For each campaign of a site the ages at which it predicts, d."
    )
    margin_tolerance_eur_m2: float = Field(
        gt=0, description="Largest difference of one predicted margin, EUR/m2."
    )
    rmse_tolerance_eur_m2: float = Field(
        gt=0, description="Largest difference of the root mean squared errors, EUR/m2."
    )
    largest_error_ratio: float = Field(
        gt=1, description="Largest ratio of the deployed error to the typical error it states."
    )


class KernelConfig(ConfigModel):
    """Hyperparameters of the kernel by maximum likelihood."""

    starts: int = Field(ge=1, description="Random starts of the optimiser.")
    folds: int = Field(ge=2, description="Folds of sites in which the two forms are compared.")
    smallest_group: int = Field(ge=2, description="Fewest crops of a run that enter the fit.")
    log_length_scale_bounds: tuple[float, float] = Field(
        description="Range of the length scales, searched on a logarithmic scale."
    )
    share_logit_bounds: tuple[float, float] = Field(description="Range of the logit of share g.")
    common_season_bounds: tuple[float, float] = Field(description="Range of the season term t.")
    noise_ratio_bounds: tuple[float, float] = Field(
        description="Range of the noise ratio where it is fitted instead of measured."
    )


class ReferenceConfig(ConfigModel):
    """Choice of the fixed reference, and the error of a score."""

    sites: int = Field(ge=2, description="Development sites, from 0.")
    error_study_years: int = Field(ge=2, description="Years of each site in the error study.")


class CommonPolicyConfig(ConfigModel):
    """Search of the best single policy."""

    sites: int = Field(ge=2, description="Development sites, from 0.")
    seed: int = Field(ge=0, description="Seed of the search.")


class RadiusConfig(ConfigModel):
    """Choice of the radius of the local optimiser."""

    method: str = Field(description="The method whose radius it is.")
    sites: int = Field(ge=2, description="Development sites, from 0.")
    repeats: int = Field(ge=1, description="Repeats of every campaign.")
    feedback: tuple[Feedback, ...] = Field(min_length=1, description="Feedback conditions.")
    candidates: tuple[float, ...] = Field(min_length=1, description="Radii to choose from.")

    def jobs(self, radius: float) -> dict[str, tuple[str, int]]:
        """Condition and repeat of each job of a candidate, by the folder that the job writes."""
        return {
            f"radius-{radius:g}/{feedback.value}-{repeat}": (feedback.value, repeat)
            for feedback in self.feedback
            for repeat in range(self.repeats)
        }

    def every_job(self) -> dict[str, float]:
        """The radius of every job of all candidates."""
        return {name: radius for radius in self.candidates for name in self.jobs(radius)}


class DevelopmentConfig(ConfigModel):
    """Everything about the development stage."""

    id: str = Field(pattern=r"^[a-z0-9-]+$", description="Name; it keys all random numbers.")
    contract: str = Field(description="Packaged contract, under config/contracts.")
    distribution: str = Field(description="Packaged site distribution, under config/sites.")
    runs: RunsConfig = Field(description="Campaigns under random policies.")
    predictor: PredictorConfig = Field(description="The process predictor.")
    parity: ParityConfig = Field(description="Its deployed form against the fitted one.")
    kernel: KernelConfig = Field(description="Hyperparameters of the kernel.")
    reference: ReferenceConfig = Field(description="Fixed reference and error of a score.")
    common_policy: CommonPolicyConfig = Field(description="Best single policy.")
    radius: RadiusConfig = Field(description="Radius of the local optimiser.")


def load_development(path: str | Path = DEFAULT_DEVELOPMENT) -> DevelopmentConfig:
    """Read the configuration of the development stage.

    Raises:
        ConfigError: the file is missing or does not fit.
    """
    return load_config(path, DevelopmentConfig)
