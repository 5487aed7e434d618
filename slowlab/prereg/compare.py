"""Original and corrected results side by side, test by test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from slowlab.analysis.study_tables import (
    Numbers,
    Row,
    csv_text,
    p_text,
    tests_in_order,
    two_decimals,
)
from slowlab.io import atomic_write_text
from slowlab.prereg.errors import LockError
from slowlab.prereg.manifest import SHORT, Manifest

TITLE = "Original and corrected results of all declared tests, EUR per m2 of floor and crop"
_ABSENT: Mapping[str, Any] = {}


def correction_table(
    original: Numbers, corrected: Numbers, chain: Sequence[Manifest]
) -> pd.DataFrame:
    """One row a test: both estimates with intervals and adjusted p-values, and what changed.

    Args:
        original: numbers made under an earlier lock.
        corrected: numbers made under a later lock of the same study.
        chain: all locks of the study, in order.

    Returns:
        Text cells; an empty one where a test has no such number. ``change`` is one of ``none``,
        ``numbers``, ``significance``, ``sign``, ``verdict``, ``added`` and ``removed``, the first
        that applies from the end of this list.

    Raises:
        LockError: the numbers belong to no lock of the chain, or not in this order.
    """
    _require_order(original, corrected, chain)
    old, new = tests_in_order(original), tests_in_order(corrected)
    rows = [_row(name, old.get(name), new.get(name)) for name in dict.fromkeys([*old, *new])]
    marks = list(dict.fromkeys([*original["study"]["marks"], *corrected["study"]["marks"]]))
    frame = pd.DataFrame(rows, dtype="str").fillna("")
    if marks:
        frame["mark"] = " \N{MIDDLE DOT} ".join(marks)
    return frame


def correction_markdown(frame: pd.DataFrame, original: Numbers, corrected: Numbers) -> str:
    """The table as Markdown, with the two locks above it."""
    old, new = (_lock(numbers)[:SHORT] for numbers in (original, corrected))
    lines = [f"# {TITLE}", "", f"Original: lock `{old}`. Corrected: lock `{new}`.", ""]
    cells = [list(frame.columns), ["---"] * len(frame.columns), *frame.to_numpy().tolist()]
    lines += ["| " + " | ".join(str(c).replace("|", "\\|") for c in row) + " |" for row in cells]
    return "\n".join([*lines, ""])


def write_correction_table(
    target: Path, original: Numbers, corrected: Numbers, chain: Sequence[Manifest]
) -> Path:
    """Write the table as CSV or Markdown, by the suffix of the target.

    Raises:
        LockError: the numbers do not belong together, or the suffix is another.
        OSError: the file cannot be written.
    """
    frame = correction_table(original, corrected, chain)
    if target.suffix == ".csv":
        return atomic_write_text(target, csv_text(frame))
    if target.suffix == ".md":
        return atomic_write_text(target, correction_markdown(frame, original, corrected))
    raise LockError(f"{target}: a table ends in .md or .csv")


def _row(name: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Row:
    known = new or old or _ABSENT
    return {
        "family": known["family"],
        "test": name,
        "difference": known["label"],
        **_cells("original", old),
        **_cells("corrected", new),
        "shift": _shift(old, new),
        "change": _change(old, new),
    }


def _cells(which: str, test: Mapping[str, Any] | None) -> Row:
    found = test or dict.fromkeys(("estimate", "ci_low", "ci_high", "p_adjusted"))
    return {
        which: two_decimals(found["estimate"]),
        f"{which}_low": two_decimals(found["ci_low"]),
        f"{which}_high": two_decimals(found["ci_high"]),
        f"{which}_p_adjusted": p_text(found["p_adjusted"]),
        f"{which}_verdict": found.get("verdict") or "",
    }


def _shift(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    """Corrected less original estimate."""
    if old is None or new is None or old["estimate"] is None or new["estimate"] is None:
        return ""
    return two_decimals(new["estimate"] - old["estimate"])


def _change(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    if old is None or new is None:
        return "added" if old is None else "removed"
    if old["verdict"] != new["verdict"]:
        return "verdict"
    if _sign(old["estimate"]) != _sign(new["estimate"]):
        return "sign"
    if old["significant"] != new["significant"]:
        return "significance"
    keys = ("estimate", "ci_low", "ci_high", "p", "p_adjusted", "n_sites")
    return "none" if all(old[key] == new[key] for key in keys) else "numbers"


def _sign(value: float | None) -> int | None:
    return None if value is None else (value > 0) - (value < 0)


def _require_order(original: Numbers, corrected: Numbers, chain: Sequence[Manifest]) -> None:
    places = {manifest.id: place for place, manifest in enumerate(chain)}
    for numbers in (original, corrected):
        if _lock(numbers) not in places:
            raise LockError(f"numbers of lock {_lock(numbers)[:12]}: no lock of this study")
        if numbers["study"]["name"] != chain[0].study:
            raise LockError(f"numbers of study {numbers['study']['name']}, not {chain[0].study}")
    if places[_lock(original)] >= places[_lock(corrected)]:
        raise LockError("the corrected numbers must belong to a later lock than the original ones")


def _lock(numbers: Numbers) -> str:
    return numbers["provenance"]["lock"] or "none"
