"""Campaigns of language models as tables: their counts, and their steps in words.

Both are made from transcripts alone; the steps of a numerical method come from its journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from slowlab.agents.steps import Step, journal_steps, transcript_steps
from slowlab.agents.summary import (
    COUNTS,
    SHARED,
    SUMS,
    shared_records,
    transcript_counts,
    transcript_ending,
    transcript_header,
)
from slowlab.campaign.journal import read_journal
from slowlab.campaign.journal_format import Record
from slowlab.evaluation.tables import Column, TableSchema
from slowlab.stages.campaign_table import CampaignName

_IDENTITY = {
    "site": Column("integer", "-", "number of the site in its partition", low=0),
    "method": Column("text", "-", "name of the method"),
    "feedback": Column("text", "-", "feedback condition"),
    "repeat": Column("integer", "-", "number of the repeat", low=0),
}
_MEANINGS = {
    "answers": "answers that were used",
    "answers_of_unknown_length": "answers whose tokens were not told",
    "attempts": "attempts at an answer",
    "attempts_of_unknown_cost": "attempts that may have cost something unknown",
    "faulty_answers_used": "cut or empty answers that were used as they were",
    "blocked": "calls that the firewall stopped",
    "format_errors": "answers that could not be used",
    "actions": "campaign actions carried out",
    "invalid_actions": "campaign actions refused",
    "observe_calls": "reads carried out",
    "raw_records": "raw records received",
    "daily_rows": "daily rows received",
    "predictor_with_readings": "predictor attempts for which enough had been read",
    "predictor_outputs_with_readings": "of these, answered",
    "incumbents": "policies named as the best so far",
    "records": "records of the transcript",
}
_UNITS = {"cost_usd": "USD", "prompt_tokens": "token", "completion_tokens": "token"}


def _count(name: str) -> Column:
    return Column("integer", "-", _MEANINGS.get(name, name.replace("_", " ")), low=0)


def _sum(name: str) -> Column:
    meaning = f"{name.replace('_', ' ')}, as far as known; missing where nothing is"
    return Column("number", _UNITS[name], meaning, nullable=True, low=0)


def _shared(name: str) -> Column:
    column = _sum(name) if name in SUMS else _count(name)
    meaning = f"{column.meaning}, before the branches of the campaign part"
    return Column(column.kind, column.unit, meaning, column.nullable, low=0)


AGENT_SCHEMA = TableSchema(
    MappingProxyType(
        {
            **_IDENTITY,
            "model": Column("text", "-", "language model, as configured"),
            "harness": Column("text", "-", "harness profile"),
            "ending": Column("text", "-", "how the campaign ended; empty if it did not"),
            **{name: _count(name) for name in COUNTS},
            **{name: _sum(name) for name in SUMS},
            **{f"shared_{name}": _shared(name) for name in SHARED},
        }
    ),
    key=tuple(_IDENTITY),
)
"""One row for each campaign of a language model."""

STEP_SCHEMA = TableSchema(
    MappingProxyType(
        {
            **_IDENTITY,
            "sequence": Column("integer", "-", "number of the record behind the step", low=1),
            "day": Column("number", "day", "day on which it was made", low=0),
            "stage": Column("text", "-", "stage of the campaign; empty for a numerical method"),
            "kind": Column("text", "-", "action, totals, tool, or kind of the record"),
            "by": Column("text", "-", "who made it", allowed=("model", "harness", "method")),
            "action": Column("text", "-", "what was done, in words"),
            "reason": Column("text", "-", "the model's own reason, unchanged; may be empty"),
            "outcome": Column("text", "-", "what came of it, in words"),
            "ok": Column("text", "-", "whether it was carried out", allowed=("yes", "no")),
            "rows": Column("integer", "-", "rows of records that it returned", low=0),
        }
    ),
    key=(*_IDENTITY, "sequence"),
)
"""One row for each step of a campaign."""


type Told = tuple[CampaignName, Sequence[Record]]
"""A campaign of a language model and its transcript, oldest first, with the shared beginning."""


def agent_tables(campaigns: Iterable[Told]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables of counts and of steps, each checked and sorted by its key.

    Args:
        campaigns: each campaign once; one without records gets a row of zeros.

    Raises:
        TableError: a row does not fit, or a campaign is there twice.
    """
    told = list(campaigns)
    steps = [(name, step) for name, records in told for step in transcript_steps(records)]
    return (
        AGENT_SCHEMA.table([agent_row(name, records) for name, records in told]),
        STEP_SCHEMA.table([step_row(name, step) for name, step in steps]),
    )


def agent_row(name: CampaignName, records: Sequence[Record]) -> dict[str, Any]:
    """The counts of one campaign as a row of :data:`AGENT_SCHEMA`."""
    header, shared = transcript_header(records), transcript_counts(shared_records(records))
    return {
        **name.columns(),
        "model": _name_of(header.get("model")),
        "harness": _name_of(header.get("harness")),
        "ending": transcript_ending(records),
        **transcript_counts(records),
        **{f"shared_{key}": shared[key] for key in SHARED},
    }


def _name_of(configured: Any) -> str:
    """The name of a model or profile, which is given whole or by name."""
    return str(configured["name"] if isinstance(configured, Mapping) else configured or "")


def journal_step_table(name: CampaignName, path: Path) -> pd.DataFrame:
    """Steps of a numerical method's campaign from its journal.

    Raises:
        JournalError: the journal does not verify.
        OSError: it cannot be read.
    """
    steps = journal_steps(read_journal(path).records)
    return STEP_SCHEMA.table([step_row(name, step) for step in steps])


def step_row(name: CampaignName, step: Step) -> dict[str, Any]:
    """A step as a row of :data:`STEP_SCHEMA`."""
    return {
        **name.columns(),
        "sequence": step.sequence,
        "day": step.day,
        "stage": step.stage,
        "kind": step.kind,
        "by": step.by,
        "action": step.action,
        "reason": step.reason,
        "outcome": step.outcome,
        "ok": "yes" if step.ok else "no",
        "rows": step.rows,
    }
