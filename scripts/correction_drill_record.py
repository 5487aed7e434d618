"""What is kept of a played correction drill: enough to write its page again without playing it.

The record is small: each command with the lines of its output that the page shows and its time,
the jobs by rule, the results by owner, and the table of original and corrected results.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from scripts.correction_drill import GIVEN, ROOT, job_counts
from slowlab.config import ConfigModel
from slowlab.io import atomic_write_text

if TYPE_CHECKING:
    from scripts.correction_drill import Command, Drill

RECORD = ROOT / GIVEN / "played.json"
"""Where the record lies, beside the files of the drill."""
TABLE_INSTEAD = ("compare",)
"""Commands whose output the page leaves out, because it shows the table that they have written."""
_MOST_LINES = 40


class CommandRecord(ConfigModel):
    """A command that was run."""

    name: str = Field(description="The step.")
    shown: str = Field(description="How a person types it.")
    lines: tuple[str, ...] = Field(description="Lines of its output that the page shows.")
    seconds: int = Field(ge=0, description="Wall time, rounded, s.")


class RuleRecord(ConfigModel):
    """Jobs of one rule."""

    rule: str = Field(description="Name of the rule.")
    first: int = Field(ge=0, description="Jobs under the first lock.")
    again: int = Field(ge=0, description="Jobs under the amended lock.")


class OwnerRecord(ConfigModel):
    """Results of one kind, and of one method or reader where the kind has one."""

    owner: str = Field(description="Whose results, as the page says it.")
    carried_over: int = Field(ge=0, description="Results made under the first lock.")
    made_again: int = Field(ge=0, description="Results made under the amended lock.")


class DrillRecord(ConfigModel):
    """All that the page tells of a drill."""

    format: Literal["slowlab-correction-drill-1"] = "slowlab-correction-drill-1"
    cores: int = Field(ge=1, description="Cores of Snakemake.")
    commands: tuple[CommandRecord, ...] = Field(description="In the order in which they were run.")
    jobs: tuple[RuleRecord, ...] = Field(description="In the order in which rules first ran.")
    results: tuple[OwnerRecord, ...] = Field(description="By owner.")
    corrections: str = Field(description="Original and corrected results, as Markdown.")


def record(drill: Drill) -> DrillRecord:
    """What is kept of a drill.

    Args:
        drill: a drill that was played.
    """
    table = (drill.results(1) / "corrections.md").read_text(encoding="utf-8")
    carried, again = (
        Counter(map(_owner, drill.kept[name])) for name in ("carried over", "made again")
    )
    return DrillRecord(
        cores=drill.cores,
        commands=tuple(
            CommandRecord(
                name=name,
                shown=command.shown,
                lines=() if name in TABLE_INSTEAD else tuple(_lines(command)),
                seconds=round(command.seconds),
            )
            for name, command in drill.commands.items()
        ),
        jobs=tuple(
            RuleRecord(rule=rule, first=first, again=later)
            for rule, first, later in job_counts(drill)
        ),
        results=tuple(
            OwnerRecord(owner=owner, carried_over=carried[owner], made_again=again[owner])
            for owner in sorted({*carried, *again})
        ),
        corrections=table.partition("\n")[2].strip(),
    )


def write_record(path: Path, kept: DrillRecord) -> None:
    """Write a record as JSON that a person can read."""
    text = json.dumps(kept.model_dump(mode="json"), indent=1, ensure_ascii=False)
    atomic_write_text(path, f"{text}\n")


def read_record(path: Path = RECORD) -> DrillRecord:
    """Read a record.

    Raises:
        pydantic.ValidationError: it is none.
    """
    return DrillRecord.model_validate_json(path.read_bytes())


def _lines(command: Command) -> list[str]:
    """What a command printed; of Snakemake, how it ended."""
    lines = [line.rstrip() for line in command.printed.splitlines() if line.strip()]
    if command.shown.startswith("snakemake"):
        lines = _of_snakemake(lines)
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"... {len(lines) - _MOST_LINES} more lines"]
    return lines


def _of_snakemake(lines: list[str]) -> list[str]:
    """The lines that say what was done, or why nothing was."""
    why = [n for n, line in enumerate(lines) if "cannot run:" in line]
    if why:
        rest = lines[why[0] : why[0] + 2]
        return [rest[0].split("LockError:")[-1].strip(), *rest[1:]]
    return [line for line in lines if line.endswith("(100%) done")]


def _owner(result: str) -> str:
    """Kind of a result, with the method or reader where it has one."""
    kind, *rest = Path(result).parts
    if kind in ("campaigns", "scores", "readings", "reading_scores"):
        return f"{kind.replace('_', ' ')} of `{rest[0]}`"
    return kind if rest else "the study as a whole"
