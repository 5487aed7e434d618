"""How methods look in all figures of a study: a colour and a marker each, in the study's order.

Markers differ as well, so that methods can be told apart in grey.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slowlab.plots.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY_BLUE,
    VERMILLION,
)

_DARK = "#4A4A4A"
_COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, SKY_BLUE, PURPLE, _DARK)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h")
_LABEL_CHARS = 16


@dataclass(frozen=True)
class MethodStyle:
    """Look of one method.

    Attributes:
        label: its name, in lines of at most 16 characters where words allow.
        colour: its colour; grey for methods without campaigns.
        marker: its marker.
    """

    label: str
    colour: str
    marker: str


def method_styles(methods: Sequence[Mapping[str, Any]]) -> dict[str, MethodStyle]:
    """Styles by name.

    Args:
        methods: the methods of a study as its numbers list them.
    """
    styles, place = {}, 0
    for item in methods:
        colour, marker = GREY, "o"
        if item["experiments"]:
            colour = _COLOURS[place % len(_COLOURS)]
            marker = _MARKERS[place % len(_MARKERS)]
            place += 1
        styles[item["name"]] = MethodStyle(wrapped(item["label"]), colour, marker)
    return styles


def wrapped(label: str, width: int = _LABEL_CHARS) -> str:
    """A label in lines of at most ``width`` characters where words allow."""
    return "\n".join(textwrap.wrap(label, width, break_long_words=False, break_on_hyphens=False))


def longest_line(labels: Sequence[str]) -> int:
    """Characters of the longest line of some labels."""
    return max((len(line) for label in labels for line in label.split("\n")), default=0)


def ordered_methods(
    methods: Sequence[Mapping[str, Any]], last: Sequence[str]
) -> list[Mapping[str, Any]]:
    """Methods in alphabetical order of their labels, some of them last in the given order."""
    return sorted(
        methods,
        key=lambda item: (
            last.index(item["name"]) if item["name"] in last else -1,
            item["label"].casefold(),
            item["name"],
        ),
    )
