"""Tables with a schema: types, units and meanings of columns, checked before a file is written."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq


class TableError(ValueError):
    """A table that does not fit its schema; names the column and the first bad row."""


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        kind: ``text``, ``integer`` or ``number``.
        unit: unit, ``-`` where there is none.
        meaning: what it says.
        nullable: whether it may be missing.
        allowed: the texts that may stand in it; empty where any may.
        low: lowest number allowed.
    """

    kind: str
    unit: str
    meaning: str
    nullable: bool = False
    allowed: tuple[str, ...] = ()
    low: float = -np.inf


_TYPES = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64()}
_PANDAS = {"text": "str", "integer": "int64", "number": "float64"}


@dataclass(frozen=True)
class TableSchema:
    """All columns of a table, in order, and the columns whose values together are unique."""

    columns: Mapping[str, Column]
    key: tuple[str, ...]

    @property
    def arrow(self) -> pa.Schema:
        """The schema of the file; every column carries its unit and meaning."""
        return pa.schema(
            [
                pa.field(name, _TYPES[c.kind], metadata={"unit": c.unit, "meaning": c.meaning})
                for name, c in self.columns.items()
            ]
        )

    def table(self, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """Rows as a checked table, sorted by the key.

        Raises:
            TableError: a row does not fit.
        """
        for number, row in enumerate(rows):
            if set(row) != set(self.columns):
                odd = ", ".join(sorted(set(row) ^ set(self.columns)))
                raise TableError(f"row {number}: column {odd} is unknown or missing")
        frame = pd.DataFrame({name: [row[name] for row in rows] for name in self.columns})
        try:
            frame = frame.astype({name: _PANDAS[c.kind] for name, c in self.columns.items()})
        except (TypeError, ValueError) as error:
            raise TableError(f"a value is of the wrong type: {error}") from None
        self.check(frame)
        return frame.sort_values(list(self.key), kind="stable", ignore_index=True)

    def check(self, frame: pd.DataFrame) -> None:
        """Refuse a table that does not fit.

        Raises:
            TableError: names the column and the first bad row.
        """
        if list(frame.columns) != list(self.columns):
            raise TableError(f"columns are {', '.join(frame)}; expected {', '.join(self.columns)}")
        for name, column in self.columns.items():
            _check_column(frame[name], name, column)
        twice = frame.duplicated(list(self.key))
        if twice.any():
            raise TableError(f"row {int(np.flatnonzero(twice)[0])}: {self.key} is there twice")

    def parquet(self, frame: pd.DataFrame) -> bytes:
        """The checked table as a Parquet file; equal tables give equal bytes."""
        self.check(frame)
        buffer = io.BytesIO()
        arrow = pa.Table.from_pandas(frame, schema=self.arrow, preserve_index=False)
        pq.write_table(arrow.replace_schema_metadata(None), buffer, compression="zstd")
        return buffer.getvalue()

    def read(self, path: Any) -> pd.DataFrame:
        """Read and check a file that :meth:`parquet` made.

        Raises:
            TableError: the file does not fit.
            OSError: the file cannot be read.
        """
        frame = pq.read_table(path).to_pandas()
        self.check(frame)
        return frame


def _check_column(values: pd.Series, name: str, column: Column) -> None:
    missing = values.isna()
    _refuse(missing & (not column.nullable), name, "is missing")
    present = values[~missing]
    if column.kind == "text":
        if not all(isinstance(value, str) for value in present):
            raise TableError(f"{name} holds something that is not text")
        if column.allowed:
            _refuse(~values.isin(column.allowed) & ~missing, name, "is not an allowed word")
        return
    kinds = "iu" if column.kind == "integer" else "f"
    if values.dtype.kind not in kinds:
        raise TableError(f"{name} holds {values.dtype}, not {column.kind}s")
    _refuse(~missing & ~np.isfinite(values.to_numpy(dtype=float)), name, "is not finite")
    _refuse(values < column.low, name, f"is below {column.low:g}")


def _refuse(bad: pd.Series, name: str, problem: str) -> None:
    if np.asarray(bad).any():
        raise TableError(f"row {int(np.flatnonzero(bad)[0])}: {name} {problem}")
