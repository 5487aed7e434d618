"""The part of ``slowlab replay`` that runs transcripts of language models again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from slowlab.commands.errors import InputError, describe

if TYPE_CHECKING:
    from slowlab.agents.replaying import Player, TranscriptReplay

DIFFERS = 1
"""Exit code when a file does not verify or a record came out otherwise."""
SHOWN = 10
"""Mismatches of one file that are printed."""


def replay_folder(folder: Path) -> bool:
    """Replay every transcript below a folder and print what differs.

    Returns:
        Whether there was any, and all came out as recorded.

    Raises:
        InputError: there is no such folder.
    """
    from slowlab.agents.transcript_format import find_transcripts

    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    paths = find_transcripts(folder)
    if not paths:
        typer.echo(f"{folder}: no transcript (*.transcript.jsonl) was found", err=True)
    mismatches = _replay_all(paths)
    typer.echo(f"replayed {len(paths)} transcripts, {mismatches} mismatches")
    return bool(paths) and not mismatches


def replay_file(path: Path) -> bool:
    """Replay one transcript and print what differs; whether it came out as recorded."""
    report, mismatches = _replay_one(path, _players())
    if report is not None:
        typer.echo(f"{path}: replayed {report.records} records, {mismatches} mismatches")
    return not mismatches


def _replay_all(paths: Sequence[Path]) -> int:
    """Replay transcripts one after the other; the number of mismatches."""
    players, mismatches = _players(), 0
    step = max(1, len(paths) // 10)
    for number, path in enumerate(paths, 1):
        mismatches += _replay_one(path, players)[1]
        if number % step == 0 or number == len(paths):
            typer.echo(f"{number} of {len(paths)} transcripts", err=True)
    return mismatches


def _replay_one(path: Path, players: Mapping[str, Player]) -> tuple[TranscriptReplay | None, int]:
    """Replay one transcript and print what is to be known; a damaged one is one mismatch."""
    from slowlab.agents.replaying import replay_transcript
    from slowlab.campaign.journal_format import JournalError

    try:
        report = replay_transcript(path, players)
    except JournalError as error:
        typer.echo(f"damaged: {describe(error)}", err=True)
        return None, 1
    for note in report.notes:
        typer.echo(f"{path}: note: {note}")
    for mismatch in report.mismatches[:SHOWN]:
        typer.echo(f"{path}:{mismatch.line}: {mismatch.detail}")
    if len(report.mismatches) > SHOWN:
        typer.echo(f"{path}: ... and {len(report.mismatches) - SHOWN} more")
    return report, len(report.mismatches)


def _players() -> dict[str, Player]:
    """Who leads a recorded conversation again, by its kind."""
    from slowlab.agents.campaign_replay import campaign_player
    from slowlab.readers.reading_transcripts import READING, replay_reading

    return {"campaign": campaign_player(), READING: replay_reading}
