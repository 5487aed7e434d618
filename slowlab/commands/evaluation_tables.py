"""How the commands that score, search and check print tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_LEAST_WIDTH = 100


def report_console() -> Console:
    """A console that is wide enough for these tables, also where nobody watches."""
    from rich.console import Console

    return Console(width=max(Console().width, _LEAST_WIDTH), highlight=False)


def print_table(
    console: Console,
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    texts: int = 1,
) -> None:
    """Print rows under headings; the first ``texts`` columns are text, the others numbers."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number < texts else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)
