"""A progress bar for commands that let time pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def day_progress(unit: str = "days") -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error while days go by, where somebody watches.

    Yields:
        A function that takes the days done and the days to do.
    """
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("compiling", total=None)

        def on_day(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, description=unit)

        yield on_day
