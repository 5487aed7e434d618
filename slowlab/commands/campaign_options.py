"""The options that ``slowlab serve`` and ``slowlab play`` share, and the campaign they name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowlab.commands.errors import InputError

if TYPE_CHECKING:
    from slowlab.campaign.history import History
    from slowlab.campaign.journal import Journal
    from slowlab.campaign.opening import CampaignSpec, Opener
    from slowlab.campaign.session import DayProgress, ToolHandler
    from slowlab.campaign.wire import Opened
    from slowlab.world.task import Feedback

PartitionOption = Annotated[
    str, typer.Option("--partition", help="development, rehearsal, pilot or test.")
]
SiteOption = Annotated[int, typer.Option("--site", help="Number of the site, from 0.", min=0)]
FeedbackOption = Annotated[
    str,
    typer.Option("--feedback", help="full or endpoint; further arms are delayed and shuffled."),
]
ContractOption = Annotated[
    Path | None, typer.Option("--contract", help="Contract file; by default contract v8.")
]
SitesOption = Annotated[
    Path | None, typer.Option("--sites", help="Site distribution; by default distribution v1.")
]
WeatherOption = Annotated[
    Path | None,
    typer.Option(
        "--weather", help="Folder of KNMI Cabauw files; by default synthetic years are used."
    ),
]
JournalOption = Annotated[
    Path | None,
    typer.Option("--journal", help="Journal to write; one that exists is resumed."),
]


@dataclass(frozen=True)
class CampaignOptions:
    """What was asked for."""

    partition: str
    site: int
    feedback: str
    contract: Path | None
    sites: Path | None
    weather: Path | None
    journal: Path | None


@dataclass(frozen=True)
class PreparedCampaign:
    """A checked campaign that is not open yet.

    Attributes:
        spec: what is opened.
        opener: opens it.
        journal: where it is recorded; None where nothing is kept.
    """

    spec: CampaignSpec
    opener: Opener
    journal: Journal | None

    def open(
        self,
        on_day: DayProgress | None = None,
        make_tools: Callable[[History], ToolHandler] | None = None,
    ) -> Opened:
        """Open the campaign, and bring a resumed one to where its journal ends.

        Args:
            on_day: called while time passes.
            make_tools: makes the tools of the campaign from its history; by default it has none.
        """
        from slowlab.campaign.replay import catch_up
        from slowlab.campaign.wire import Opened

        session = self.opener.open(self.spec, self.journal)
        tools = None if make_tools is None else make_tools(session.executor.history)
        if self.journal is None or not self.journal.recorded:
            return Opened(session, tools=tools)
        return Opened(session, catch_up(session, self.journal, on_day, tools), tools)


def prepare(options: CampaignOptions) -> PreparedCampaign:
    """Check all options and files before anything is opened.

    Raises:
        InputError: a feedback mode that cannot be chosen, or a journal of another campaign or of
            one that has ended.
        JournalError: the journal does not verify or is being written.
        ConfigError, PartitionError, CommitmentError, SiteError: as their modules say.
        OSError: a file cannot be read.
    """
    from slowlab.campaign.opening import CampaignSpec, Opener
    from slowlab.world.contract import DEFAULT_CONTRACT, load_contract
    from slowlab.world.partitions import load_partitions
    from slowlab.world.sensors import load_sensors
    from slowlab.world.site_distribution import DEFAULT_SITES, load_sites
    from slowlab.world.weather_source import WeatherSource

    weather = WeatherSource()
    if options.weather is not None:
        weather = WeatherSource("cabauw", options.weather)
    spec = CampaignSpec(
        partition=options.partition,
        site=options.site,
        feedback=_feedback(options.feedback),
        weather=weather.name,
        shuffle_key=f"{options.partition}|{options.site}",
        contract=load_contract(options.contract or DEFAULT_CONTRACT),
        sensors=load_sensors(),
        distribution=load_sites(options.sites or DEFAULT_SITES),
    )
    opener = Opener.make(load_partitions(), weather)
    opener.site(spec)
    return PreparedCampaign(spec, opener, _journal(options.journal, spec))


def _feedback(name: str) -> Feedback:
    """A mode that can be chosen at the start."""
    from slowlab.world.task import Feedback

    allowed = [mode for mode in Feedback if mode is not Feedback.UNASSIGNED]
    if name not in allowed:
        raise InputError(f"--feedback {name!r}: choose one of {', '.join(allowed)}")
    return Feedback(name)


def _journal(path: Path | None, spec: CampaignSpec) -> Journal | None:
    """The journal, if it is new or holds this campaign unfinished."""
    if path is None:
        return None
    from slowlab.campaign.journal import Journal
    from slowlab.campaign.journal_format import JournalStatus, journal_status
    from slowlab.campaign.opening import spec_from_header

    journal = Journal.open(path)
    try:
        if journal.recorded and spec_from_header(journal.recorded[0].payload, str(path)) != spec:
            raise InputError(f"--journal {path}: holds a campaign with other options")
        if journal_status(journal.recorded) in (JournalStatus.SETTLED, JournalStatus.FAILED):
            raise InputError(f"--journal {path}: its campaign has ended")
    except BaseException:
        journal.close()
        raise
    return journal
