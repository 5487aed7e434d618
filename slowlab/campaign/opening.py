"""Opening a campaign from a specification, and again from the header of its journal.

A specification holds the whole configuration, so a journal can be replayed without the files that
it was started with. Only the site is not written down: it is drawn again from the seed of its
partition, and the header holds its hash. The header is private, like the whole journal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import Field

from slowlab.campaign.executor import Executor
from slowlab.campaign.journal_format import RecordKind
from slowlab.campaign.session import NoRecorder, Recorder, Session
from slowlab.config import ConfigModel, config_sha256, validate_config
from slowlab.world.contract import Contract
from slowlab.world.facility import Facility
from slowlab.world.partitions import Partitions, draw_partition_site
from slowlab.world.policy import Policy
from slowlab.world.sensors import SensorSpec
from slowlab.world.simulator import Simulator
from slowlab.world.site import Site
from slowlab.world.site_distribution import SiteDistribution
from slowlab.world.task import Feedback
from slowlab.world.weather_source import WeatherSource

FORMAT = "slowlab-campaign-1"
_WITHOUT_RECORDS = (Feedback.ENDPOINT, Feedback.SHUFFLED)


class OpeningError(ValueError):
    """A campaign that cannot be opened; the message says why."""


class CampaignSpec(ConfigModel):
    """What a campaign is opened from. Private: it names the site."""

    partition: str = Field(description="Name of the partition.")
    site: int = Field(ge=0, description="Number of the site in the partition.")
    feedback: Feedback = Field(description="What the agent may see.")
    weather: str = Field(default="synthetic", description="Weather source of the partitions.")
    noise: bool = Field(default=True, description="Whether the instruments are noisy.")
    shuffle_key: str = Field(default="", description="Key of the exchange in the shuffled mode.")
    fallback: Policy | None = Field(
        default=None, description="Policy without a recommendation; null for the fixed reference."
    )
    contract: Contract = Field(description="The rules.")
    sensors: SensorSpec = Field(description="The instruments.")
    distribution: SiteDistribution = Field(description="Hidden ranges and prices.")


@dataclass(frozen=True, eq=False)
class Opener:
    """Opens campaigns; simulators are shared between those with the same rules.

    Attributes:
        partitions: which sites exist.
        weather: where weather years come from.
        simulators: made so far, by the hash of rules and instruments.
    """

    partitions: Partitions
    weather: WeatherSource
    simulators: dict[str, Simulator]

    @classmethod
    def make(cls, partitions: Partitions, weather: WeatherSource | None = None) -> Opener:
        """An opener without simulators; weather is synthetic by default."""
        return cls(partitions, weather or WeatherSource(), {})

    def simulator(self, spec: CampaignSpec) -> Simulator:
        """The simulator of a campaign.

        Raises:
            UnsupportedConfigError: a rule that the compiled step cannot follow.
        """
        key = f"{config_sha256(spec.contract)} {config_sha256(spec.sensors)}"
        if key not in self.simulators:
            self.simulators[key] = Simulator.build(spec.contract, spec.sensors)
        return self.simulators[key]

    def site(self, spec: CampaignSpec) -> Site:
        """The site of a campaign, without what concerns scoring.

        Raises:
            PartitionError: unknown partition, site or weather source, or no seed at hand.
            CommitmentError: the sealed seed is missing or damaged.
            SiteError: the site cannot be drawn.
        """
        return draw_partition_site(
            self.partitions,
            spec.partition,
            spec.site,
            spec.distribution,
            source=spec.weather,
            compartments=spec.contract.facility.compartments,
        ).for_campaign()

    def open(self, spec: CampaignSpec, recorder: Recorder | None = None) -> Session:
        """Open a campaign and record its header.

        Args:
            spec: what to open.
            recorder: takes the records; by default nothing is kept.

        Raises:
            OpeningError: the weather source is another one than the opener's.
            JournalError: the journal belongs to another campaign, or cannot be written.
            WeatherError: the campaign's year cannot be had.
            PartitionError, CommitmentError, SiteError, UnsupportedConfigError: as above.
        """
        if spec.weather != self.weather.name:
            raise OpeningError(f"weather {spec.weather!r} is wanted, {self.weather.name} is there")
        recorder = recorder if recorder is not None else NoRecorder()
        simulator, site = self.simulator(spec), self.site(spec)
        recorder.put(RecordKind.HEADER, header(spec, site, simulator))
        facility = Facility.open(
            simulator,
            site,
            self.weather.year(site.campaign_year),
            keep_records=spec.feedback not in _WITHOUT_RECORDS,
            noise=spec.noise,
        )
        executor = Executor.open(
            facility,
            spec.contract,
            spec.sensors,
            site.prices,
            spec.feedback,
            spec.fallback or spec.contract.fixed_reference,
            shuffle_key=spec.shuffle_key,
            draft=site.draft,
        )
        return Session(executor, recorder)


def header(spec: CampaignSpec, site: Site, simulator: Simulator) -> dict[str, Any]:
    """The first record of a journal."""
    return {
        "format": FORMAT,
        "campaign": spec.model_dump(mode="json"),
        "site_sha256": config_sha256(site),
        "build": dict(simulator.stepper.build),
    }


def spec_from_header(payload: Any, source: str = "header") -> CampaignSpec:
    """The specification in a journal's first record.

    Raises:
        OpeningError: it is no header of this format.
        ConfigError: the specification does not fit.
    """
    if not isinstance(payload, dict) or payload.get("format") != FORMAT:
        raise OpeningError(f"{source}: the first record is no header of format {FORMAT}")
    return validate_config(payload.get("campaign"), CampaignSpec, source)
