"""``slowlab replay``: run journals again and compare every reply."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowlab.commands import campaign_options as opt
from slowlab.commands.errors import InputError, describe, report_user_errors
from slowlab.commands.progress import day_progress

if TYPE_CHECKING:
    from slowlab.campaign.journal_format import JournalContent, Record
    from slowlab.campaign.replay import Comparison, ReplayReport
    from slowlab.campaign.session import Session

DIFFERS = 1
"""Exit code when a journal does not verify or a record came out otherwise."""
_SHOWN = 10


def replay(
    files: Annotated[list[Path], typer.Argument(help="Journals; many run in lockstep.")],
    weather: opt.WeatherOption = None,
) -> None:
    """Run the requests of journals again on the same sites and compare every reply byte by byte.

    Nothing is written. Ends with code 1 if a journal is damaged or anything came out otherwise.
    """
    with report_user_errors():
        contents = _read(files)
        with day_progress() as on_day:
            reports = _replay(contents, weather, on_day)
    for report in reports:
        _print(report, named=len(files) > 1)
    if not all(report.passed for report in reports):
        raise typer.Exit(DIFFERS)


def _read(files: list[Path]) -> dict[Path, JournalContent]:
    """Read and verify all journals before any is run."""
    from slowlab.campaign.journal import JournalError, read_journal

    contents = {}
    for path in files:
        try:
            contents[path] = read_journal(path)
        except JournalError as error:
            typer.echo(f"damaged: {describe(error)}", err=True)
            raise typer.Exit(DIFFERS) from None
        if not contents[path].records:
            raise InputError(f"{path}: holds no record")
    return contents


def _replay(
    contents: dict[Path, JournalContent], weather: Path | None, on_day: object
) -> list[ReplayReport]:
    """Open every campaign from its header and run it."""
    from slowlab.campaign.opening import Opener, spec_from_header
    from slowlab.campaign.replay import replay_journals
    from slowlab.world.partitions import load_partitions
    from slowlab.world.weather_source import WeatherSource

    source = WeatherSource() if weather is None else WeatherSource("cabauw", weather)
    opener = Opener.make(load_partitions(), source)

    def open_session(header: Record, comparison: Comparison) -> Session:
        return opener.open(spec_from_header(header.payload), comparison)

    return replay_journals(contents, open_session, on_day=on_day)


def _print(report: ReplayReport, *, named: bool) -> None:
    prefix = f"{report.path}: " if named else ""
    for note in report.notes:
        typer.echo(f"{prefix}note: {note}")
    for mismatch in report.mismatches[:_SHOWN]:
        typer.echo(f"{prefix}{mismatch.sentence()}")
    if len(report.mismatches) > _SHOWN:
        typer.echo(f"{prefix}... and {len(report.mismatches) - _SHOWN} more")
    typer.echo(f"{prefix}replayed {report.records} records, {len(report.mismatches)} mismatches")
