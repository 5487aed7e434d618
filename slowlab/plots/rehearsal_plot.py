"""Picture of a rehearsal: size, planted effects found, and the number of sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from slowlab.io import atomic_write_bytes
from slowlab.plots.style import (
    BLACK,
    BLUE,
    DOUBLE_COLUMN_IN,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY_BLUE,
    VERMILLION,
    figure_bytes,
    figure_style,
    new_figure,
)

Rehearsal = Mapping[str, Any]

_HEIGHT_IN = 3.0
_WAYS = ("signs", "labels", "simulated")
_EFFECT_STYLES = ((GREY, "o"), (SKY_BLUE, "s"), (GREEN, "^"), (ORANGE, "D"), (VERMILLION, "v"))
_TEST_COLOURS = (BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY_BLUE, BLACK, GREY)
_TEST_DASHES = ("solid", (0, (4, 1.5)), (0, (5, 1, 1, 1)), (0, (1, 1)))
"""Of the first question, the next one, and both again where colours are used up."""
_FAMILY_STYLES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"))


def rehearsal_figure(rehearsal: Rehearsal) -> Figure:
    """Draw a rehearsal.

    Args:
        rehearsal: the document, see ``slowlab.analysis.rehearsal_file``.

    Returns:
        Three panels. Artists are named (``gid``) ``size-<way>-<family>``,
        ``planted-<effect>`` and ``curve-<source>-<test>``.
    """
    with figure_style():
        figure = new_figure(DOUBLE_COLUMN_IN, _HEIGHT_IN)
        left, middle, right = (
            figure.add_axes((x, 0.155, width, 0.68))
            for x, width in ((0.07, 0.19), (0.335, 0.245), (0.655, 0.165))
        )
        _draw_size(left, rehearsal)
        _draw_planted(middle, rehearsal)
        _draw_curves(right, rehearsal)
        study = rehearsal["study"]
        words = [f"study {study['name']}, {study['n_sites']} sites", *study["marks"]]
        figure.text(0.99, 0.975, "  ".join(words), ha="right", va="top", size=6.5, color=VERMILLION)
    return figure


def write_rehearsal_figure(rehearsal: Rehearsal, paths: Sequence[Path]) -> None:
    """Write the picture of a rehearsal in the form of each path's suffix, .svg or .png.

    Raises:
        OSError: a file cannot be written.
    """
    figure = rehearsal_figure(rehearsal)
    for path in paths:
        atomic_write_bytes(path, figure_bytes(figure, path.suffix.removeprefix(".")))


def _draw_size(axes: Axes, rehearsal: Rehearsal) -> None:
    names: list[str] = []
    for place, way in enumerate(_WAYS):
        for family in rehearsal["size"][way]["families"]:
            if family["name"] not in names:
                names.append(family["name"])
            row = names.index(family["name"])
            colour, marker = _FAMILY_STYLES[row % len(_FAMILY_STYLES)]
            share = family["share"]
            axes.errorbar(
                [place + 0.2 * row - 0.1],
                [share],
                yerr=[[share - family["low"]], [family["high"] - share]],
                color=colour,
                marker=marker,
                ms=4,
                lw=1.0,
                gid=f"size-{way}-{family['name']}",
                label=family["name"] if place == 0 else None,
            )
    alpha, limit = rehearsal["levels"]["alpha"], rehearsal["plan"]["largest_familywise_error"]
    axes.axhline(alpha, color=BLACK, lw=0.7, ls=(0, (1, 1.5)))
    axes.axhline(limit, color=VERMILLION, lw=0.8)
    axes.text(2.55, limit * 1.02, "gate, first family", color=VERMILLION, ha="right", size=6)
    highest = max(
        family["high"] for size in rehearsal["size"].values() for family in size["families"]
    )
    axes.set(xlim=(-0.5, 2.6), ylim=(-0.04 * limit, max(1.8 * limit, 1.5 * highest)))
    axes.set_xticks(range(len(_WAYS)), _WAYS)
    axes.set_xlabel("how effects were removed")
    axes.set_ylabel("share of rehearsals with a finding")
    axes.set_title("No effects", loc="left")
    axes.legend(loc="upper left", title="family", title_fontsize=6.5)


def _draw_planted(axes: Axes, rehearsal: Rehearsal) -> None:
    axes.plot([0, 1], [0, 1], color=BLACK, lw=0.7, ls=(0, (1, 1.5)))
    effects = sorted({row["effect"] for row in rehearsal["planted"]})
    for effect, (colour, marker) in zip(effects, _EFFECT_STYLES, strict=True):
        rows = [row for row in rehearsal["planted"] if row["effect"] == effect]
        shares = [row["found_first_step"] for row in rows]
        errors = [
            [row["found_first_step"] - row["low"] for row in rows],
            [row["high"] - row["found_first_step"] for row in rows],
        ]
        axes.errorbar(
            [row["stated"] for row in rows],
            shares,
            yerr=errors,
            color=colour,
            marker=marker,
            ls="none",
            ms=3.5,
            elinewidth=0.8,
            label=f"{effect:g}",
            gid=f"planted-{effect:g}",
        )
    axes.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04))
    axes.set_xlabel("stated power, first step")
    axes.set_ylabel("share of rehearsals that find it")
    axes.set_title(f"Planted effects, {rehearsal['plan']['sites']} sites", loc="left")
    axes.legend(loc="lower right", title="EUR m$^{-2}$", title_fontsize=6.5)


def _draw_curves(axes: Axes, rehearsal: Rehearsal) -> None:
    power = rehearsal["power"]
    source = "measured" if power["curves"]["measured"] else "declared"
    tests = sorted(power["curves"][source])
    for test, (colour, dashes) in zip(tests, _curve_styles(tests), strict=True):
        axes.plot(
            power["curve_sites"],
            power["curves"][source][test],
            color=colour,
            ls=dashes,
            label=test,
            gid=f"curve-{source}-{test}",
        )
    axes.axhline(power["target"], color=BLACK, lw=0.7, ls=(0, (1, 1.5)))
    axes.axvline(power["planned_sites"], color=GREY, lw=0.8)
    axes.text(power["planned_sites"] + 2, 0.02, "planned", color=GREY, size=6)
    axes.set(xlim=(0, power["curve_sites"][-1]), ylim=(0.0, 1.04))
    axes.set_xlabel("sites")
    axes.set_ylabel(f"power for {power['effect']:g} EUR m$^{{-2}}$")
    axes.set_title(f"Power, SD {source}", loc="left")
    axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), handlelength=1.6, fontsize=5.5)


def _curve_styles(tests: Sequence[str]) -> list[tuple[str, Any]]:
    """Colour by what a test is about, dashes by its question."""
    parts = [test.partition(".") for test in tests]
    questions = list(dict.fromkeys(question for question, _, _ in parts))
    subjects = list(dict.fromkeys(subject for _, _, subject in parts))
    styles = []
    for question, _, subject in parts:
        turn, colour = divmod(subjects.index(subject), len(_TEST_COLOURS))
        dashes = _TEST_DASHES[(2 * turn + questions.index(question)) % len(_TEST_DASHES)]
        styles.append((_TEST_COLOURS[colour], dashes))
    return styles
