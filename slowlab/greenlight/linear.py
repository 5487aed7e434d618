"""Sparse linear systems unrolled into expressions: elimination without pivoting.

The matrices here are (I - h J) with a small, fixed, structurally symmetric pattern, so the
elimination order is chosen once (least fill-in first) and the arithmetic is written out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

Pattern = frozenset[tuple[str, str]]


def elimination_order(names: Iterable[str], pattern: Pattern) -> tuple[tuple[str, ...], Pattern]:
    """Minimum-degree order and the pattern with its fill-in.

    Args:
        names: unknowns.
        pattern: off-diagonal (row, column) pairs; must be symmetric.

    Raises:
        ValueError: the pattern is not symmetric.
    """
    if any((b, a) not in pattern for a, b in pattern):
        raise ValueError("the pattern of the matrix must be symmetric")
    remaining = list(names)
    neighbours = {n: {b for a, b in pattern if a == n} for n in remaining}
    filled = set(pattern)
    order = []
    while remaining:
        pivot = min(remaining, key=lambda n: (len(neighbours[n]), remaining.index(n)))
        for a in neighbours[pivot]:
            for b in neighbours[pivot] - {a}:
                filled.add((a, b))
                neighbours[a].add(b)
            neighbours[a].discard(pivot)
        order.append(pivot)
        remaining.remove(pivot)
    return tuple(order), frozenset(filled)


def solve(
    order: tuple[str, ...],
    filled: Pattern,
    matrix: Mapping[tuple[str, str], Any],
    right: Mapping[str, Any],
) -> dict[str, Any]:
    """Solve matrix @ x = right for arrays of systems at once.

    Args:
        order: elimination order.
        filled: pattern including fill-in.
        matrix: entries by (row, column), diagonal included; absent means zero.
        right: right-hand side by row.

    Returns:
        The unknowns by name.
    """
    entries: MutableMapping[tuple[str, str], Any] = dict(matrix)
    values = dict(right)
    inverse = {}
    for i, pivot in enumerate(order):
        inverse[pivot] = 1.0 / entries[pivot, pivot]
        later = [n for n in order[i + 1 :] if (n, pivot) in filled]
        for row in later:
            factor = entries[row, pivot] * inverse[pivot]
            values[row] = values[row] - factor * values[pivot]
            for column in later:
                change = factor * entries[pivot, column]
                known = entries.get((row, column))
                entries[row, column] = -change if known is None else known - change
    result: dict[str, Any] = {}
    for i in range(len(order) - 1, -1, -1):
        pivot = order[i]
        value = values[pivot]
        for column in order[i + 1 :]:
            if (pivot, column) in filled:
                value = value - entries[pivot, column] * result[column]
        result[pivot] = value * inverse[pivot]
    return result
