"""Do the same for many items in threads, and keep their order."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable


def side_by_side[Item, Result](
    work: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Result]:
    """Do the same for many items in threads, for work that waits for something outside.

    Args:
        work: what is done.
        items: for what.
        workers: most threads at the same time.
        progress: called with the number of items that are done.

    Returns:
        Results in the order of the items.

    Raises:
        Exception: the first one that the work raised; nothing more is begun after it, and what is
            under way has come to its end.
    """
    waiting = list(enumerate(items))[::-1]
    results: dict[int, Result] = {}
    done: queue.SimpleQueue[tuple[int, Result] | BaseException] = queue.SimpleQueue()

    under_way, faults = 0, list[BaseException]()
    while under_way or (waiting and not faults):
        while waiting and under_way < workers and not faults:
            # Daemons, so that an interrupt does not wait for answers.
            threading.Thread(target=_do, args=(work, *waiting.pop(), done), daemon=True).start()
            under_way += 1
        came = done.get()
        under_way -= 1
        if isinstance(came, BaseException):
            faults.append(came)
        else:
            results[came[0]] = came[1]
            progress(len(results))
    if faults:
        raise faults[0]
    return [results[place] for place in sorted(results)]


def _do[Item, Result](
    work: Callable[[Item], Result],
    place: int,
    item: Item,
    done: queue.SimpleQueue[tuple[int, Result] | BaseException],
) -> None:
    try:
        done.put((place, work(item)))
    except BaseException as error:
        done.put(error)
