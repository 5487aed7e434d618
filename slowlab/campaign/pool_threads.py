"""Methods that think in threads of their own, so that waiting for something outside costs nobody.

A campaign is either here, then only its thread touches it, or with whoever took it from
:meth:`Thinkers.come_back`. What a campaign shares with others while it thinks is read only
(contract, artifacts, compiled step); it compiles nothing and steps nothing.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Iterable

from slowlab.campaign.pool_run import Run


class Thinkers:
    """Campaigns that think, a limited number of them at the same time.

    Args:
        workers: most threads at the same time.
        limit_s: longest time for which a method may think, s; None without a limit.
    """

    def __init__(self, workers: int, limit_s: float | None) -> None:
        self._workers = workers
        self._limit_s = limit_s
        self._waiting: deque[Run] = deque()
        self._begun: dict[Run, float] = {}
        self._done: queue.SimpleQueue[Run] = queue.SimpleQueue()

    @property
    def busy(self) -> bool:
        """Whether anybody thinks or is about to."""
        return bool(self._waiting or self._begun)

    def add(self, runs: Iterable[Run]) -> None:
        """Let campaigns go on, as soon as a thread is free for each."""
        self._waiting.extend(runs)
        while self._waiting and len(self._begun) < self._workers:
            run = self._waiting.popleft()
            self._begun[run] = time.monotonic()
            # Daemons, because a method that hangs must not keep the process from ending.
            threading.Thread(target=_think, args=(run, self._done), daemon=True).start()

    def come_back(self, wait_s: float | None = None) -> list[Run]:
        """Campaigns that have come back: they wait for time or have ended.

        Args:
            wait_s: how long to wait for the first one, s; None for as long as it takes.

        Returns:
            In the order in which they came, those that had to be ended at last. May be empty after
            less than ``wait_s``.

        Raises:
            BaseException: whatever went wrong in a thread other than an exception of a method.
        """
        found = [run for run in self._arrived(wait_s) if self._begun.pop(run, None) is not None]
        for run in found:
            if run.crash is not None:
                raise run.crash
        found += self._overdue()
        self.add(())
        return found

    def _arrived(self, wait_s: float | None) -> list[Run]:
        """Everybody in the queue; waits for one, or until the oldest thinker is overdue."""
        if self._limit_s is not None and self._begun:
            left = self._limit_s - (time.monotonic() - min(self._begun.values())) + 0.001
            wait_s = max(0.0, left if wait_s is None else min(wait_s, left))
        found: list[Run] = []
        try:
            while True:
                found.append(self._done.get(timeout=0.0 if found else wait_s))
        except queue.Empty:
            return found

    def _overdue(self) -> list[Run]:
        """End those who have thought for too long."""
        if self._limit_s is None:
            return []
        now = time.monotonic()
        late = [run for run, begun in self._begun.items() if now - begun > self._limit_s]
        for run in late:
            del self._begun[run]
            run.overdue(self._limit_s)
        return late


def _think(run: Run, done: queue.SimpleQueue[Run]) -> None:
    """Think and report back."""
    try:
        run.think()
    except BaseException as error:
        run.crash = error
    done.put(run)
