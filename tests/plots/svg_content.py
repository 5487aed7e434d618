"""What stands in an SVG file that matplotlib wrote: points and texts under the names of artists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree import ElementTree

from matplotlib.axes import Axes

_NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
_POINT = re.compile(rf"[ML]\s*({_NUMBER})[ ,]({_NUMBER})")
_OF_MATPLOTLIB = re.compile(r"^(?:[a-zA-Z0-9.]+_\d+|[mpch][0-9a-f]{10}|DejaVu.*|legend_\d+)$")
_DPI = 72.0


@dataclass
class Drawn:
    """One named artist: points in points from the left lower corner, and lines of text."""

    points: list[tuple[float, float]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


def svg_artists(content: bytes) -> dict[str, Drawn]:
    """Everything that has a name of our own.

    Raises:
        AssertionError: a name is used twice.
    """
    builder = ElementTree.TreeBuilder(insert_comments=True)
    root = ElementTree.fromstring(content, ElementTree.XMLParser(target=builder))
    height = float(root.attrib["viewBox"].split()[3])
    found: dict[str, Drawn] = {}
    for element in root.iter():
        name = element.get("id") if isinstance(element.tag, str) else None
        if name and element.tag.endswith("}g") and not _OF_MATPLOTLIB.match(name):
            assert name not in found, name
            found[name] = _drawn(element, height)
    return found


def svg_texts(content: bytes) -> list[str]:
    """All texts of a file, which matplotlib repeats in comments."""
    return [
        text.strip() for text in re.findall(r"<!--(.*?)-->", content.decode("utf-8"), re.DOTALL)
    ]


def x_values(axis: Axes, drawn: Drawn) -> list[float]:
    """Points as values on the x-axis of the axes that they were drawn on."""
    back, dpi = axis.transData.inverted(), axis.figure.dpi
    return [float(back.transform((x * dpi / _DPI, y * dpi / _DPI))[0]) for x, y in drawn.points]


def y_values(axis: Axes, drawn: Drawn) -> list[float]:
    """Points as values on the y-axis of the axes that they were drawn on."""
    back, dpi = axis.transData.inverted(), axis.figure.dpi
    return [float(back.transform((x * dpi / _DPI, y * dpi / _DPI))[1]) for x, y in drawn.points]


def _drawn(group: ElementTree.Element, height: float) -> Drawn:
    drawn = Drawn()
    for element in _shown(group):
        if not isinstance(element.tag, str):
            drawn.texts += [line.strip() for line in (element.text or "").strip().split("\n")]
        elif element.tag.endswith("}use") and element.get("y") is not None:
            drawn.points.append((float(element.get("x", "")), height - float(element.get("y", ""))))
        elif element.tag.endswith("}path"):
            found = _POINT.findall(element.get("d", ""))
            drawn.points += [(float(x), height - float(y)) for x, y in found]
    return drawn


def _shown(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """Elements below one, without shapes that are only defined there."""
    for child in element:
        if isinstance(child.tag, str) and child.tag.endswith("}defs"):
            continue
        yield child
        yield from _shown(child)
