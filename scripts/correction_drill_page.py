"""The page of the correction drill: its commands, what they printed, counts and corrections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.correction_drill import AFFECTED, FAULT, GIVEN, METHOD, TEST

if TYPE_CHECKING:
    from scripts.correction_drill_record import CommandRecord, DrillRecord

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
        "## 5. Run again what is affected\n\nOf what takes long, only that. Gathered tables, "
        "numbers and whatever is shown of them are quick, and are always made again.",
        ("carry over", "run again", "verify again", "final status"),
    ),
)


def page(kept: DrillRecord) -> str:
    """The page as Markdown.

    Args:
        kept: what is kept of a drill that was played.
    """
    commands = {command.name: command for command in kept.commands}
    parts = [_HEAD, f"The planted fault, in `{METHOD}`:\n\n```python\n{FAULT.strip()}\n```\n\n"]
    for text, names in _STEPS:
        parts.append(f"{text}\n\n")
        parts += [_shown(commands[name]) for name in names]
    parts += [_counts(kept), _corrections(kept, commands["compare"]), _times(kept)]
    return "".join(parts).rstrip() + "\n"


def _shown(command: CommandRecord) -> str:
    text = "\n".join([f"$ {command.shown}", *command.lines])
    return f"```text\n{text}\n```\n\n"


def _counts(kept: DrillRecord) -> str:
    """Jobs by rule, and results by the lock under which they were made."""
    rows = [
        "## 6. What was made again\n\nJobs that Snakemake has run:\n",
        "| rule | first run | after the amendment |\n|---|---|---|",
    ]
    rows += [f"| `{job.rule}` | {job.first} | {job.again} |" for job in kept.jobs]
    first, later = sum(job.first for job in kept.jobs), sum(job.again for job in kept.jobs)
    rows.append(f"| all | {first} | {later} |")
    carried = sum(item.carried_over for item in kept.results)
    again = sum(item.made_again for item in kept.results)
    rows.append(
        f"\nOf {carried + again} results in the new folder, {carried} were carried over: "
        "their receipts name the first lock as the one under which they were made, and they equal "
        f"the old files byte by byte. {again} were made under the amended lock. Among "
        f"campaigns, scores, packets and readings these are the ones of `{AFFECTED}` alone:\n"
    )
    rows.append("| results of | carried over | made again |\n|---|---|---|")
    rows += [f"| {item.owner} | {item.carried_over} | {item.made_again} |" for item in kept.results]
    return "\n".join([*rows, "", ""])


def _corrections(kept: DrillRecord, compare: CommandRecord) -> str:
    return (
        "## 7. Original and corrected results\n\n"
        f"`$ {compare.shown}`. Scores of four sites of the drill, EUR per m2 of "
        f"floor and crop; no finding.\n\n{kept.corrections}\n\n"
    )


def _times(kept: DrillRecord) -> str:
    rows = [
        "## 8. Wall time\n",
        f"On {kept.cores} cores, seconds:\n",
        "| step | command | s |\n|---|---|---|",
    ]
    for command in kept.commands:
        shown = command.shown.partition(" results/")[0]
        rows.append(f"| {command.name} | `{shown}` | {command.seconds} |")
    rows.append(f"| all | | {sum(command.seconds for command in kept.commands)} |")
    return "\n".join([*rows, ""])
