"""What the scripts of the second look in ``figures/`` share: their command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from slowlab.analysis.numbers_file import read_numbers
from slowlab.analysis.second_look_file import read_second_look, require_gates
from slowlab.prereg.job import locked_job


def second_look_figure_script(name: str, arguments: Sequence[str] | None = None) -> None:
    """Draw one figure: ``<numbers.json> <second_look.json> <out.svg> <out.png>``.

    Args:
        name: one of ``slowlab.plots.second_look_plot.TITLES``.
        arguments: the command line; by default that of the process.

    Raises:
        SystemExit: too few arguments, or a suffix that is neither .svg nor .png.
        SecondLookError: a gate is missed; nothing is drawn then.
    """
    numbers, look, outputs = _paths(arguments, (".svg", ".png"))
    from slowlab.plots.second_look_plot import write_second_look_figure

    with locked_job([numbers, look], outputs):
        found = read_second_look(look)
        require_gates(found)
        write_second_look_figure(name, read_numbers(numbers), found, outputs)


def second_look_table_script(arguments: Sequence[str] | None = None) -> None:
    """Write the table: ``<numbers.json> <second_look.json> <out.csv> <out.md>``.

    Args:
        arguments: the command line; by default that of the process.

    Raises:
        SystemExit: too few arguments, or a suffix that is neither .csv nor .md.
        SecondLookError: a gate is missed; nothing is written then.
    """
    numbers, look, outputs = _paths(arguments, (".csv", ".md"))
    from slowlab.analysis.second_look_table import markdown_document, second_look_table
    from slowlab.analysis.study_tables import csv_text
    from slowlab.io import atomic_write_text

    with locked_job([numbers, look], outputs):
        found = read_second_look(look)
        require_gates(found)
        frame = second_look_table(read_numbers(numbers), found)
        for path in outputs:
            text = csv_text(frame) if path.suffix == ".csv" else markdown_document(frame, found)
            atomic_write_text(path, text)


def _paths(
    arguments: Sequence[str] | None, suffixes: tuple[str, ...]
) -> tuple[Path, Path, list[Path]]:
    given = [Path(item) for item in (sys.argv[1:] if arguments is None else arguments)]
    if len(given) < 3 or any(path.suffix not in suffixes for path in given[2:]):
        raise SystemExit(
            "usage: numbers.json, second_look.json and outputs ending in " + " or ".join(suffixes)
        )
    return given[0], given[1], given[2:]
