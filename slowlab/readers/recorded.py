"""The history of a campaign from the records of its journal, without playing it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slowlab.campaign.actions import read_payload
from slowlab.campaign.errors import ActionRejected, ErrorKind, Reason
from slowlab.campaign.history import History
from slowlab.campaign.journal import read_journal
from slowlab.campaign.journal_format import Record, RecordKind


def journal_history(path: Path, task: Mapping[str, Any]) -> History:
    """The history behind a journal file.

    Args:
        path: the journal.
        task: the public task of its site, in the feedback mode in which it ended. A journal does
            not hold it, because what hides behind a task is not needed to describe it.

    Raises:
        JournalError: the journal does not verify.
        OSError: it cannot be read.
    """
    return recorded_history(read_journal(path).records, task)


def recorded_history(records: Sequence[Record], task: Mapping[str, Any]) -> History:
    """The history behind the records of a journal; tool calls and the settlement are no part of it.

    Args:
        records: all records, oldest first. A request without its reply is left out: nobody has seen
            an answer.
        task: the public task, as above.
    """
    history, request = History(task), None
    for record in records:
        if record.kind is RecordKind.REQUEST:
            request = record.payload
        elif record.kind is RecordKind.REPLY and not _refused_at_the_end(record.payload):
            history.add(_readable(request), record.payload)
        elif (
            record.kind is RecordKind.REFUSED
            and record.payload.get("reason") == Reason.MALFORMED.value
        ):
            history.add(None, record.payload["reply"])
    return history


def _readable(request: Any) -> dict[str, Any] | None:
    """The action as a history keeps it; None for what is no action."""
    try:
        kind, fields = read_payload(request)
    except ActionRejected:
        return None
    return {"action": kind.value, **fields}


def _refused_at_the_end(reply: Mapping[str, Any]) -> bool:
    """Whether the campaign was closed already; such replies tell nothing."""
    return not reply["ok"] and reply["error"]["kind"] == ErrorKind.PROTOCOL_ERROR.value
