"""``slowlab serve``: one campaign over standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowlab.commands import campaign_options as opt
from slowlab.commands.campaign_tools import ArtifactsOption, artifact_folder, make_tools
from slowlab.commands.errors import report_user_errors

if TYPE_CHECKING:
    from slowlab.campaign.wire import Opened

LogOption = Annotated[
    Path | None,
    typer.Option(
        "--log",
        help="Private log; by default beside the journal, or in the folder of private files.",
    ),
]


def serve(
    partition: opt.PartitionOption = "development",
    site: opt.SiteOption = 0,
    feedback: opt.FeedbackOption = "full",
    contract: opt.ContractOption = None,
    sites: opt.SitesOption = None,
    weather: opt.WeatherOption = None,
    journal: opt.JournalOption = None,
    log: LogOption = None,
    artifacts: ArtifactsOption = None,
) -> None:
    """Serve one campaign to an agent in another process, as JSON lines.

    Ends with code 0 after a close, 2 where the client broke the protocol or went away, 3 after an
    infrastructure failure. docs/wire-format.md describes the lines.
    """
    from slowlab.campaign.isolation import claim_streams, scrub_environment

    scrub_environment()  # before any mathematical library is loaded
    options = opt.CampaignOptions(partition, site, feedback, contract, sites, weather, journal)
    with report_user_errors():
        prepared = opt.prepare(options)
        channel = claim_streams(log or _default_log(journal))
    from slowlab.campaign.server import serve as answer

    raise typer.Exit(answer(lambda: _open(prepared, artifacts), channel))


def _open(prepared: opt.PreparedCampaign, artifacts: Path | None) -> Opened:
    """Open the campaign with its analysis tools."""
    from slowlab.seeds import SeedKey

    spec = prepared.spec
    seed = SeedKey("serve", spec.partition, spec.site, "served", 0, "tools").seed()
    folder = artifact_folder(spec, artifacts)
    return prepared.open(make_tools=lambda history: make_tools(spec, history, folder, seed))


def _default_log(journal: Path | None) -> Path:
    """Beside the journal, or among the private files."""
    if journal is not None:
        return journal.with_name(f"{journal.name}.log")
    from slowlab.world.partitions import private_folder

    return private_folder() / "serve.log"
