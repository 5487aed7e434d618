"""From the counts of a study's transcripts to the boxes of the harness. Nothing is counted here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slowlab.agents.messages import Stage
from slowlab.plots.harness_plot import HarnessBox, HarnessStage, stage_boxes

_MILLIONS_FROM, _WHOLE_MILLIONS_FROM = 10_000_000, 1_000_000_000
_WORDS = {
    "assemble": "system message, earlier turns, notes, state, latest result, instruction",
    "firewall": "keys, forbidden words, hidden values: a hit ends the campaign",
    "model": "one call; failed attempts are tried again, each booked before it is sent",
    "parse": "one rule for one JSON object; an error goes back to the model",
    "execute": "campaign action, analysis tool or refusal; time passes in the executor",
    "record": "chained lines on disk before anything goes on; replayed byte for byte",
}


def harness_stages(totals: Mapping[str, Any] | None) -> tuple[HarnessStage, ...]:
    """The stages with their calls; without any counts where no transcript was made."""
    if totals is None:
        return stage_boxes({})
    return stage_boxes({stage.value: totals[f"calls_{stage}"] for stage in Stage})


def harness_boxes(totals: Mapping[str, Any] | None) -> tuple[HarnessBox, ...]:
    """The six boxes with what was counted in each."""
    counts = dict.fromkeys(_WORDS, ()) if totals is None else _counts(totals)
    return tuple(HarnessBox(name, words, tuple(counts[name])) for name, words in _WORDS.items())


def _counts(totals: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    parsed = totals["answers"] - totals["format_errors"]
    return {
        "assemble": (
            _line(totals["model_calls"], "call"),
            _line(totals["prompt_characters"], "character"),
        ),
        "firewall": (f"{totals['blocked']:,} blocked",),
        "model": (
            _line(totals["attempts"], "attempt"),
            f"{totals['failed_attempts']:,} failed",
            *_money(totals),
        ),
        "parse": (f"{parsed:,} parsed", _line(totals["format_errors"], "format error")),
        "execute": (
            _line(totals["actions"], "action"),
            f"{totals['invalid_actions']:,} refused",
            _line(totals["tool_calls"], "tool call"),
            _line(totals["tool_errors"], "tool error"),
        ),
        "record": (_line(totals["records"], "record"),),
    }


def _money(totals: Mapping[str, Any]) -> tuple[str, ...]:
    """What the attempts cost; never 0 where it is unknown."""
    known = () if totals["cost_usd"] is None else (f"USD {totals['cost_usd']:,.2f}",)
    if not totals["attempts_of_unknown_cost"]:
        return known
    return (*known, "+ unknown cost" if known else "cost unknown")


def _line(count: int, what: str) -> str:
    millions, digits = count / 1e6, 1 if count < _WHOLE_MILLIONS_FROM else 0
    shown = f"{millions:,.{digits}f} M" if count >= _MILLIONS_FROM else f"{count:,}"
    return f"{shown} {what}{'s' * (count != 1)}"
