"""The page of the correction drill: its commands, what they printed, counts and corrections."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.correction_drill import AFFECTED, FAULT, GIVEN, METHOD, TEST, job_counts

if TYPE_CHECKING:
    from scripts.correction_drill import Drill

_MOST_LINES = 40
_HEAD = f"""# Correction drill

<!-- Written by scripts/correction_drill.py; do not edit. -->

**This is a drill.** The fault was planted, the four sites belong to a partition made for it, whose
seed is public, and no number here says anything about a method. What is real is everything else:
the commands, what they print, the locks, the jobs and the comparison. It is made again with

    uv run scripts/correction_drill.py

in a copy of the repository; files of the drill lie in [{GIVEN}](../{GIVEN}). The rules that it
follows are section 8 of the [protocol](../preregistration/protocol.md); the commands are explained
in [preregistration](preregistration.md).

"""
_STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "## 1. Lock\n\nThe copy has the fault already, as a real study would: nobody knows of it.",
        ("commit", "status", "lock"),
    ),
    ("## 2. Run\n\nThe whole study, from campaigns to report.", ("run", "verify")),
    (
        f"## 3. A fault is found\n\nA test is added, `{TEST}`: a kernel artifact that lists the "
        "same numbers in another order must lead to the same campaign. It fails on the locked code "
        f"and passes once `{METHOD}` takes them by name. From this moment on no job of the study "
        "runs.",
        ("test fails", "test passes", "refused"),
    ),
    ("## 4. Amend\n\nThe reason is written before anything is run again.", ("dry run", "amend")),
    (
        "## 5. Run again what is affected, and nothing else",
        ("carry over", "run again", "verify again", "final status"),
    ),
)


def page(drill: Drill) -> str:
    """The page as Markdown.

    Args:
        drill: a drill that was played.
    """
    parts = [_HEAD, f"The planted fault, in `{METHOD}`:\n\n```python\n{FAULT.strip()}\n```\n\n"]
    for text, names in _STEPS:
        parts.append(f"{text}\n\n")
        parts += [_shown(drill, name) for name in names]
    parts += [_counts(drill), _corrections(drill), _times(drill)]
    return "".join(parts).rstrip() + "\n"


def _shown(drill: Drill, name: str) -> str:
    """A command and what it printed; of Snakemake, how it ended."""
    command = drill.commands[name]
    lines = [line.rstrip() for line in command.printed.splitlines() if line.strip()]
    if command.shown.startswith("snakemake"):
        lines = _of_snakemake(lines)
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"... {len(lines) - _MOST_LINES} more lines"]
    text = "\n".join([f"$ {command.shown}", *lines])
    return f"```text\n{text}\n```\n\n"


def _of_snakemake(lines: list[str]) -> list[str]:
    """The lines that say what was done, or why nothing was."""
    why = [n for n, line in enumerate(lines) if "cannot run:" in line]
    if why:
        rest = lines[why[0] : why[0] + 2]
        return [rest[0].split("LockError:")[-1].strip(), *rest[1:]]
    return [line for line in lines if line.endswith("(100%) done")]


def _counts(drill: Drill) -> str:
    """Jobs by rule, and results by the lock under which they were made."""
    rows = [
        "## 6. What was made again\n\nJobs that Snakemake has run:\n",
        "| rule | first run | after the amendment |\n|---|---|---|",
    ]
    rows += [f"| `{rule}` | {first} | {again} |" for rule, first, again in job_counts(drill)]
    total = [sum(counts) for counts in zip(*(row[1:] for row in job_counts(drill)), strict=True)]
    rows.append(f"| all | {total[0]} | {total[1]} |")
    kept, again = (drill.kept[name] for name in ("carried over", "made again"))
    rows.append(
        f"\nOf {len(kept) + len(again)} results in the new folder, {len(kept)} were carried over: "
        "their receipts name the first lock as the one under which they were made, and they equal "
        f"the old files byte by byte. {len(again)} were made under the amended lock. Among "
        f"campaigns, scores, packets and readings these are the ones of `{AFFECTED}` alone:\n"
    )
    rows.append("| results of | carried over | made again |\n|---|---|---|")
    by_owner = [Counter(map(_owner, names)) for names in (kept, again)]
    for owner in sorted({*by_owner[0], *by_owner[1]}):
        rows.append(f"| {owner} | {by_owner[0][owner]} | {by_owner[1][owner]} |")
    return "\n".join([*rows, "", ""])


def _owner(result: str) -> str:
    """Kind of a result, with the method or reader where it has one."""
    kind, *rest = Path(result).parts
    if kind in ("campaigns", "scores", "readings", "reading_scores"):
        return f"{kind.replace('_', ' ')} of `{rest[0]}`"
    return kind if rest else "the study as a whole"


def _corrections(drill: Drill) -> str:
    table = (drill.results(1) / "corrections.md").read_text(encoding="utf-8")
    body = table.partition("\n")[2].strip()
    return (
        "## 7. Original and corrected results\n\n"
        f"`$ {drill.commands['compare'].shown}`. Scores of four sites of the drill, EUR per m2 of "
        f"floor and crop; no finding.\n\n{body}\n\n"
    )


def _times(drill: Drill) -> str:
    rows = [
        "## 8. Wall time\n",
        f"On {drill.cores} cores, seconds:\n",
        "| step | command | s |\n|---|---|---|",
    ]
    for name, command in drill.commands.items():
        shown = command.shown.partition(" results/")[0]
        rows.append(f"| {name} | `{shown}` | {command.seconds:.0f} |")
    rows.append(f"| all | | {sum(c.seconds for c in drill.commands.values()):.0f} |")
    return "\n".join([*rows, ""])
