"""``slowlab play``: a person runs a campaign in the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from slowlab.commands import campaign_options as opt
from slowlab.commands.errors import report_user_errors
from slowlab.commands.progress import day_progress

if TYPE_CHECKING:
    from rich.console import Console

    from slowlab.campaign.session import Session
    from slowlab.commands.campaign_options import PreparedCampaign

FROZEN = 3
"""Exit code after an infrastructure failure, as for ``slowlab serve``."""
_PROMPT = "slowlab> "


def play(
    partition: opt.PartitionOption = "development",
    site: opt.SiteOption = 0,
    feedback: opt.FeedbackOption = "full",
    contract: opt.ContractOption = None,
    sites: opt.SitesOption = None,
    weather: opt.WeatherOption = None,
    journal: opt.JournalOption = None,
) -> None:
    """Run a campaign yourself: plant, wait, read, recommend. Type help for the commands."""
    options = opt.CampaignOptions(partition, site, feedback, contract, sites, weather, journal)
    with report_user_errors():
        prepared = opt.prepare(options)
        session = _open(prepared)
    try:
        reference = prepared.spec.contract.fixed_reference.model_dump()
        _Play(session, reference, kept=prepared.journal is not None).run()
    finally:
        session.close()
    if session.failure is not None:
        typer.echo("A technical failure has paused the campaign.", err=True)
        raise typer.Exit(FROZEN)


def _open(prepared: PreparedCampaign) -> Session:
    with day_progress() as on_day:
        return prepared.open(on_day).session


class _Play:
    """One sitting: the policy is the one that fills in what is left out."""

    def __init__(self, session: Session, policy: dict[str, float], *, kept: bool) -> None:
        from rich.console import Console

        self._session = session
        self._policy = policy
        self._kept = kept
        self._console: Console = Console(highlight=False)

    def run(self) -> None:
        """Take commands until the person leaves or the campaign is frozen."""
        self._console.print(self._session.task()["setting"], markup=False)
        self._console.print("Type [bold]help[/bold] for the commands.")
        self._show_status()
        while self._session.failure is None:
            line = self._ask()
            if line is None or not self._obey(line):
                break
        if self._session.failure is None:
            self._leave()

    def _ask(self) -> str | None:
        """The next line, or None at the end of the input."""
        try:
            return input(_PROMPT)
        except EOFError:
            return None

    def _obey(self, line: str) -> bool:
        """Carry out one line; False to leave."""
        from slowlab.commands import play_words as words

        history = self._session.executor.history
        try:
            meant = words.understand(line, self._policy, history.day)
        except words.UnclearError as error:
            self._console.print(str(error), markup=False)
            return True
        if isinstance(meant, words.Told):
            return self._tell(meant.name)
        if meant is not None:
            self._dispatch(meant)
        return True

    def _tell(self, name: str) -> bool:
        from slowlab.commands.play_screen import show_task
        from slowlab.commands.play_words import HELP

        if name == "help":
            self._console.print(HELP, markup=False)
        elif name == "task":
            show_task(self._console, self._session.task())
        elif name == "status":
            self._show_status()
        return name != "quit"

    def _dispatch(self, action: dict[str, Any]) -> None:
        from slowlab.commands.play_screen import show_reply

        with day_progress() as on_day:
            reply = self._session.dispatch(action, on_day).payload()
        if reply["ok"] and "policy" in action:
            self._policy = action["policy"]
        if reply["ok"] and action["action"] == "advance":
            self._show_status()
        else:
            show_reply(self._console, action, reply)

    def _show_status(self) -> None:
        from slowlab.commands.play_screen import show_status

        facility = self._session.facility
        units = [facility.status(unit) for unit in range(facility.compartments)]
        show_status(self._console, self._session.executor.history, units)

    def _leave(self) -> None:
        """Settle a campaign that is over or cannot be resumed."""
        history = self._session.executor.history
        over = history.day == history.task["calendar"]["campaign_days"]
        if self._kept and not over:
            self._console.print("The campaign is kept; the same command resumes it.")
            return
        settlement = self._session.settle()
        if settlement is not None:
            counts = "the fallback counts" if settlement.flagged else "your recommendation counts"
            self._console.print(f"The campaign is {settlement.status}; {counts}.")
        sys.stdout.flush()
