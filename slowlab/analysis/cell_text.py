"""Numbers as text in the cells of tables; empty where there is none."""

from __future__ import annotations

import re
from collections.abc import Mapping

_MARKUP = re.compile(r"([\\`*\[\]|])")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def two_decimals(value: float | None) -> str:
    """A number with two decimals and no minus before zero; empty where there is none."""
    if value is None:
        return ""
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text


def p_text(value: float | None) -> str:
    """A p-value with three decimals below 0.1, else two; ``<0.001`` below that."""
    if value is None:
        return ""
    if value < 0.001:
        return "<0.001"
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def money(value: float | None) -> str:
    """US dollars with four decimals, because a call costs little; empty where unknown."""
    return "" if value is None else f"{value:.4f}"


def count_text(counts: Mapping[str, int]) -> str:
    """Counts by name, those above 0, in the order of names."""
    return ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()) if count)


def markdown_cell(text: str) -> str:
    """A text as a cell of a Markdown table: shown as it is, whatever markup stands in it."""
    shown = _TAG.sub("&lt;", text.replace("&", "&amp;"))
    return _MARKUP.sub(r"\\\1", shown)
