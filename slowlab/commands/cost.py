"""``slowlab cost``: what the language models of a study can cost, before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowlab.commands.errors import report_user_errors

if TYPE_CHECKING:
    from slowlab.plan.spending import Spending
    from slowlab.plan.study import StudyConfig

_HEADINGS = ("method", "model", "work", "calls", "M chars", "USD", "retried", "likely")
_NOTES = (
    "All but the last column are bounds: every call and every character that the harness allows, "
    "each answer at its limit, one token a character. retried: every call takes every attempt and "
    "all are billed.",
    "likely: tokens of the published study at the prices of models.yaml; - where none were "
    "published, and then not in the sum.",
)


def cost(
    study: Annotated[Path, typer.Argument(help="Study file.")] = Path("config/config.yaml"),
) -> None:
    """Say what the language models of a study can cost at most, and are likely to cost.

    Nothing is sent and no key is needed. The caps of the study file hold while it runs.
    """
    from slowlab.plan.items import load_method_folders
    from slowlab.plan.spending import spending
    from slowlab.plan.study import load_study

    with report_user_errors():
        config = load_study(study)
        load_method_folders(config.method_folders)
        rows = spending(config)
    if not rows:
        typer.echo(f"Study {config.study} asks no language model: it costs nothing.")
        return
    _print(config, rows)


def _print(config: StudyConfig, rows: list[Spending]) -> None:
    from slowlab.commands.evaluation_tables import print_table, report_console
    from slowlab.plan.spending import total

    everything = total(rows)
    shown = [_row(row) for row in [*rows, everything]]
    title = f"Language models of study {config.study}: the most they can use"
    print_table(report_console(), title, _HEADINGS, shown, texts=3)
    for note in _NOTES:
        typer.echo(note)
    typer.echo(_caps(config, everything))


def _row(row: Spending) -> tuple[str, ...]:
    bound = row.bound
    known = (bound.usd, bound.usd_retried)
    money = ["free"] * 3 if row.free else [*map(_usd, known), _usd(row.likely_usd, unknown="-")]
    counts = f"{bound.calls:,}", f"{bound.characters / 1e6:,.1f}"
    return (row.name, row.model, row.work, *counts, *money)


def _usd(value: float | None, unknown: str = "unknown") -> str:
    return unknown if value is None else f"{value:,.2f}"


def _caps(config: StudyConfig, everything: Spending) -> str:
    """The caps of the study, and what they mean for it."""
    caps, bound = config.spending, everything.bound
    units = (("usd", "USD {:,.2f}"), ("calls", "{:,} calls"), ("characters", "{:,} characters"))
    named = [form.format(getattr(caps, key)) for key, form in units if getattr(caps, key)]
    if not named:
        return "No cap is set: `spending` in the study file sets one."
    text = f"Caps: {', '.join(named)}."
    if caps.usd is not None and bound.usd is None:
        return f"{text} A model without a price cannot be asked under a cap in USD."
    pairs = ((bound.usd, caps.usd), (bound.calls, caps.calls), (bound.characters, caps.characters))
    if any(cap is not None and most is not None and most > cap for most, cap in pairs):
        return f"{text} The bound is above a cap: the study stops if it gets there."
    return text
