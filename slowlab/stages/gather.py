"""Put the tables of all jobs together, and stop where one is missing or too much."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from slowlab.evaluation.tables import TableSchema
from slowlab.io import atomic_write_bytes

_SHOWN = 5

CampaignKey = tuple[int, str, str, int]
"""Site, method, feedback condition and repeat."""


class IncompleteStudyError(ValueError):
    """Rows that a study must have and that are not there, or the other way round."""


def gather(
    files: Sequence[Path],
    schema: TableSchema,
    target: Path,
    expected: Iterable[CampaignKey] | None = None,
) -> pd.DataFrame:
    """Read tables of one kind, check that nothing is missing, and write them as one.

    Args:
        files: tables that the schema fits.
        schema: of all of them.
        target: where the whole table goes.
        expected: campaigns that must have rows, and no others may; None to skip this check.

    Raises:
        IncompleteStudyError: names what is missing or unexpected.
        TableError: a table does not fit, or a row stands in two of them.
        OSError: a file cannot be read or written.
    """
    frames = [schema.read(path) for path in files]
    whole = pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
    whole = whole.sort_values(list(schema.key), kind="stable", ignore_index=True)
    schema.check(whole)
    if expected is not None:
        check_complete(whole, set(expected), target.name)
    atomic_write_bytes(target, schema.parquet(whole))
    return whole


def check_complete(table: pd.DataFrame, expected: set[CampaignKey], name: str) -> None:
    """Refuse a table whose campaigns are not exactly those that are expected.

    Raises:
        IncompleteStudyError: names up to five of them.
    """
    columns = table[["site", "method", "feedback", "repeat"]]
    found = set(columns.itertuples(index=False, name=None))
    for what, keys in (("is missing", expected - found), ("is not planned", found - expected)):
        if keys:
            shown = "; ".join(
                f"site {site}, {method}, {feedback}, repeat {repeat}"
                for site, method, feedback, repeat in sorted(keys)[:_SHOWN]
            )
            raise IncompleteStudyError(f"{name}: {len(keys)} campaign(s): {shown} {what}")
