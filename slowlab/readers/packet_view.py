"""What a language model is shown of a packet: plain data of a limited length.

Crops, days and readings go in under the names that they have in the packet. Three members stay out:
the task, which has a place of its own in the prompt; the fallback, which the collecting method was
not told either; and the packet's form. Readings that are too long for the prompt are thinned by one
rule, and the view says so.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from slowlab.canonical import canonical_json
from slowlab.readers.packets import Packet, PacketCrop, PacketDay, PacketError, PacketSeries
from slowlab.world.policy import POLICY_FIELDS

_LEFT_OUT = {"format", "task", "fallback"}
_THINNED = "thinned"
_RULE = "of each series the first of every {step} days that were read is shown, and the last one"

VIEW_KEYS: frozenset[str] = frozenset(
    {
        *(name for name in Packet.model_fields if name not in _LEFT_OUT),
        *PacketCrop.model_fields,
        *PacketSeries.model_fields,
        *PacketDay.model_fields,
        *POLICY_FIELDS,
        _THINNED,
        "rule",
        "rows_left_out",
    }
)
"""Names of all members that a view may have, at any depth."""


def packet_view(packet: Packet, characters: int) -> dict[str, Any]:
    """A packet as a language model is shown it.

    Args:
        packet: what the campaign has seen.
        characters: longest canonical JSON of the view.

    Returns:
        Plain data. With all readings where they fit; else thinned as little as is needed, with the
        rule and the number of rows that are not shown under ``thinned``.

    Raises:
        PacketError: it is too long even with two days of each series.
    """
    view = packet.model_dump(mode="json", exclude=_LEFT_OUT)
    if len(canonical_json(view)) <= characters:
        return view
    step = _smallest_step(packet.readings, characters - len(canonical_json(_thinned(packet, 0))))
    if step is None:
        shortest = len(canonical_json(_thinned(packet, _longest(packet))))
        raise PacketError(
            f"a packet of at least {shortest} characters does not fit into a prompt that has room "
            f"for {characters}"
        )
    return _thinned(packet, step)


def _thinned(packet: Packet, step: int) -> dict[str, Any]:
    """The view with one row in ``step``, and the mark; without any rows where the step is 0."""
    view = packet.model_dump(mode="json", exclude=_LEFT_OUT)
    rows = 0
    for series in view["readings"]:
        kept = _kept(series["days"], step) if step else []
        rows += len(series["days"]) - len(kept)
        series["days"] = kept
    return {**view, _THINNED: {"rule": _RULE.format(step=step), "rows_left_out": rows}}


def _smallest_step(readings: tuple[PacketSeries, ...], room: int) -> int | None:
    """The least thinning with which the rows of all series fit, or None."""
    sizes = [[_size(row) for row in series.days] for series in readings]
    for step in range(2, max(map(len, sizes), default=0) + 1):
        # A step of several digits is named in the rule.
        if sum(sum(_kept(row, step)) for row in sizes) + len(str(step)) <= room:
            return step
    return None


def _kept[Item](rows: list[Item], step: int) -> list[Item]:
    """The first of every ``step`` rows, and the last one."""
    chosen = rows[::step]
    return chosen if (len(rows) - 1) % step == 0 else [*chosen, rows[-1]]


def _size(row: BaseModel) -> int:
    """Length of a row with the comma after it."""
    return len(canonical_json(row.model_dump(mode="json"))) + 1


def _longest(packet: Packet) -> int:
    return max((len(series.days) for series in packet.readings), default=1)
