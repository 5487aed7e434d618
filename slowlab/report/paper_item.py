"""What the drawing scripts in ``figures/`` share: their command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from slowlab.analysis.numbers_file import read_numbers
from slowlab.prereg.job import locked_job


def figure_script(name: str, arguments: Sequence[str] | None = None) -> None:
    """Draw one figure: ``<numbers.json> <out.svg> <out.png>``, in any number and order of outputs.

    Args:
        name: the figure.
        arguments: the command line; by default that of the process.

    Raises:
        SystemExit: too few arguments, or a suffix that is neither .svg nor .png.
    """
    numbers, outputs = _paths(name, arguments, (".svg", ".png"))
    from slowlab.plots.study_figures import write_figure  # matplotlib takes a while

    with locked_job([numbers], outputs):
        write_figure(name, read_numbers(numbers), outputs)


def table_script(name: str, arguments: Sequence[str] | None = None) -> None:
    """Write one table: ``<numbers.json> <out.csv> <out.md>``, in any number and order of outputs.

    Args:
        name: the table.
        arguments: the command line; by default that of the process.

    Raises:
        SystemExit: too few arguments, or a suffix that is neither .csv nor .md.
    """
    numbers, outputs = _paths(name, arguments, (".csv", ".md"))
    from slowlab.analysis.study_tables import csv_text, markdown_text, table
    from slowlab.analysis.table_notes import table_note
    from slowlab.io import atomic_write_text

    with locked_job([numbers], outputs):
        known = read_numbers(numbers)
        frame, note = table(name, known), table_note(name, known)
        for path in outputs:
            text = csv_text(frame) if path.suffix == ".csv" else markdown_text(name, frame, note)
            atomic_write_text(path, text)


def _paths(
    name: str, arguments: Sequence[str] | None, suffixes: tuple[str, ...]
) -> tuple[Path, list[Path]]:
    given = [Path(item) for item in (sys.argv[1:] if arguments is None else arguments)]
    if len(given) < 2 or any(path.suffix not in suffixes for path in given[1:]):
        raise SystemExit(
            f"usage: {name}: numbers.json and outputs ending in {' or '.join(suffixes)}"
        )
    return given[0], given[1:]
