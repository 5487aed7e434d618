"""A rehearsal as a file: one canonical JSON document, its gates, and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from slowlab.analysis.cell_text import two_decimals
from slowlab.analysis.study_tables import markdown_lines
from slowlab.canonical import canonical_json, loads_strict
from slowlab.io import atomic_write_text

FORMAT = "slowlab-rehearsal-1"

Rehearsal = Mapping[str, Any]


class RehearsalError(ValueError):
    """A file that holds no rehearsal, or a rehearsal that misses a gate; the message says which."""


def write_rehearsal(path: str | Path, rehearsal: Rehearsal) -> Path:
    """Write a rehearsal as canonical JSON, in one step; equal ones give equal bytes.

    Raises:
        CanonicalError: something in it is no plain data.
        OSError: the file cannot be written.
    """
    return atomic_write_text(path, canonical_json(dict(rehearsal)) + "\n")


def read_rehearsal(path: str | Path) -> dict[str, Any]:
    """Read what :func:`write_rehearsal` wrote.

    Raises:
        StrictJsonError: not acceptable JSON.
        RehearsalError: another kind of document.
        OSError: the file cannot be read.
    """
    found = loads_strict(Path(path).read_bytes())
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise RehearsalError(f"{path}: is not of the form {FORMAT}")
    return found


def require_gates(rehearsal: Rehearsal) -> list[str]:
    """One line for each gate, if all hold.

    Raises:
        RehearsalError: names every gate that is missed, with limit and measured value.
    """
    lines = [_gate_line(gate) for gate in rehearsal["gates"]]
    missed = [
        line for line, gate in zip(lines, rehearsal["gates"], strict=True) if not gate["holds"]
    ]
    if missed:
        raise RehearsalError("the rehearsal misses " + "; ".join(missed))
    return lines


def size_table(rehearsal: Rehearsal) -> pd.DataFrame:
    """Shares of rehearsals with a finding, by family and way without effects."""
    return pd.DataFrame(
        [
            {
                "Scores": way,
                "Family": family["name"],
                "Adjustment": family["adjustment"],
                "Rehearsals": str(family["rehearsals"]),
                "Flips": str(size["flips"]),
                "With a finding": str(family["hits"]),
                "Share": f"{family['share']:.4f}",
                "Interval": f"{family['low']:.4f} to {family['high']:.4f}",
            }
            for way, size in sorted(rehearsal["size"].items())
            for family in size["families"]
        ]
    )


def planted_table(rehearsal: Rehearsal) -> pd.DataFrame:
    """Planted effects: stated power, how often they were found, and verdicts."""
    return pd.DataFrame(
        [
            {
                "Test": row["test"],
                "Effect, EUR/m2": two_decimals(row["effect"]),
                "SD, EUR/m2": two_decimals(row["sd"]),
                "Sites": str(row["sites"]),
                "Stated power": f"{row['stated']:.3f}",
                "Found, first step": f"{row['found_first_step']:.3f}",
                "Interval": f"{row['low']:.3f} to {row['high']:.3f}",
                "Found, adjusted": f"{row['found']:.3f}",
                "Beyond SESOI": f"{row['beyond']:.3f}",
                "Within SESOI": f"{row['equivalent']:.3f}",
            }
            for row in rehearsal["planted"]
        ]
    )


def coverage_table(rehearsal: Rehearsal) -> pd.DataFrame:
    """How often intervals of simulated scores hold the true mean; described, without a gate."""
    return pd.DataFrame(
        [
            {
                "Test": row["test"],
                "Sites": str(row["sites"]),
                "Level": f"{row['level']:g}",
                "Rehearsals": str(row["rehearsals"]),
                "Hold the mean": f"{row['share']:.3f}",
                "Interval": f"{row['low']:.3f} to {row['high']:.3f}",
                "Above it": f"{row['above']:.3f}",
                "Below it": f"{row['below']:.3f}",
                "Mean width, EUR/m2": two_decimals(row["mean_width"]),
            }
            for row in rehearsal["coverage"]
        ]
    )


def sites_table(rehearsal: Rehearsal) -> pd.DataFrame:
    """Sites that each effect asks for, and power and detectable difference at some numbers."""
    rows = []
    for row in rehearsal["power"]["rows"]:
        cells = {
            "Deviation": row["source"],
            "Test": row["test"],
            "SD, EUR/m2": two_decimals(row["sd"]),
            "Effect, EUR/m2": two_decimals(row["effect"]),
            "Sites needed": str(row["sites_needed"]),
        }
        for at in row["at"]:
            cells[f"Power, N = {at['sites']}"] = f"{at['power']:.3f}"
            cells[f"Detectable, N = {at['sites']}"] = two_decimals(at["minimum_detectable"])
        rows.append(cells)
    return pd.DataFrame(rows)


def markdown_document(rehearsal: Rehearsal) -> str:
    """The tables and the gates as one Markdown text."""
    study, power = rehearsal["study"], rehearsal["power"]
    marks = f"**{', '.join(study['marks'])}.** " if study["marks"] else ""
    about = (
        f"{marks}Scores of study `{study['name']}`, {study['n_sites']} sites; families: "
        f"{rehearsal['families']['source']}."
    )
    reason = rehearsal["families"]["reason"]
    gates = [
        f"* {_gate_line(gate)}: {'holds' if gate['holds'] else 'MISSED'}"
        for gate in rehearsal["gates"]
    ]
    parts = [
        ["# Rehearsal of the confirmatory analysis", "", about],
        [] if reason is None else ["", f"The declared families could not be used: {reason}."],
        ["", "## Gates", "", *gates],
        [
            "",
            "## Findings where there is nothing to find",
            "",
            *markdown_lines(size_table(rehearsal)),
        ],
        ["", "## Planted effects", "", *markdown_lines(planted_table(rehearsal))],
        _coverage_part(rehearsal),
        [
            "",
            f"## Sites for power {power['target']:g} at level {power['level']:.4f}",
            "",
            *markdown_lines(sites_table(rehearsal)),
        ],
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _coverage_part(rehearsal: Rehearsal) -> list[str]:
    table = coverage_table(rehearsal)
    if table.empty:
        return []
    return ["", "## Intervals of simulated scores (no gate)", "", *markdown_lines(table)]


def _gate_line(gate: Mapping[str, Any]) -> str:
    hollow = "" if gate["can_be_missed"] else " (too few sites for any finding)"
    return f"{gate['name']}: {gate['measured']:.4f}, at most {gate['limit']:g}{hollow}"
