"""Many campaigns at once: the pool.

A method is a generator that yields an action (or a :class:`ToolCall`) and receives a reply. The
pool answers everything that costs no time, gathers the campaigns that wait for an advance and lets
their time pass together, in full lanes. What a campaign gets depends on itself alone: neither the
number of campaigns nor their order nor the number of workers changes a byte of any journal.

**One worker: lockstep.** One method after the other thinks until it waits for time; then time
passes for all of them.

**Several workers: no rounds.** Methods think in threads of their own, and whoever waits for time is
stepped meanwhile in the calling thread, a day at a time, so that newcomers join at the next day and
nobody waits for a slow thinker. Those who have waited longest come first.

A fault in one method ends its own campaign, with a typed ending. Wall-clock enters in one place, a
time limit for methods that hang, and its only outcome is an infrastructure failure, which is
missing data and never a score.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from slowlab.campaign.pool_results import Ending, Entry, PoolProgress, PoolResult, Steps
from slowlab.campaign.pool_run import Run
from slowlab.campaign.pool_threads import Thinkers
from slowlab.campaign.session import DayProgress, FailureKind

PATIENCE_S = 0.03
"""How long a campaign waits for others to share a step with it; about one day of stepping."""


def run_pool(
    entries: Sequence[Entry],
    *,
    workers: int = 1,
    time_limit_s: float | None = None,
    progress: Callable[[PoolProgress], None] | None = None,
    on_day: DayProgress | None = None,
) -> list[PoolResult]:
    """Run campaigns to their ends and close their journals.

    Args:
        entries: the campaigns.
        workers: methods that think at the same time; more than one helps where they wait for
            something outside, such as a language model.
        time_limit_s: longest time for which a method may think between two advances, s.
        progress: called after every joint advance.
        on_day: called while time passes, with the days of the present joint advance.

    Returns:
        One result for each entry, in order.

    Raises:
        ValueError: two entries share a name.
    """
    if len({entry.name for entry in entries}) != len(entries):
        raise ValueError("two campaigns of a pool share a name")
    runs = [Run(entry) for entry in entries]
    advance = _Advance(runs, progress, on_day)
    thinkers = Thinkers(workers, time_limit_s)
    try:
        if workers == 1:
            _run_in_lockstep(runs, thinkers if time_limit_s is not None else None, advance)
        else:
            _run_without_rounds(runs, thinkers, advance)
    finally:
        for run in runs:
            run.close()
    return [run.result for run in runs if run.result is not None]


class _Advance:
    """Lets time pass for campaigns of a pool and tells how far the pool is."""

    def __init__(
        self,
        runs: Sequence[Run],
        progress: Callable[[PoolProgress], None] | None,
        on_day: DayProgress | None,
    ) -> None:
        self._runs = runs
        self._progress = progress
        self._on_day = on_day

    def __call__(self, runs: Sequence[Run], days: int | None = None) -> list[Run]:
        """Let time pass for campaigns that wait for it, together where they are of one kind.

        Args:
            runs: who waits for time.
            days: most calendar days that pass; None for the whole way of each.

        Returns:
            Those that have nothing more to wait for, with the reply taken.
        """
        kinds: dict[int, list[Run]] = {}
        for run in runs:
            kinds.setdefault(run.entry.session.stepping.group, []).append(run)
        for group in kinds.values():
            try:
                _step(group, days, self._on_day)
            except Exception:
                _step_one_by_one(group, days)
        finished = [run for run in runs if run.take_time() or days is None]
        for run in finished:
            run.finish()
        self._tell()
        return finished

    def _tell(self) -> None:
        if self._progress is not None:
            ended = sum(run.result is not None for run in self._runs)
            ticks = sum(run.ticks for run in self._runs)
            self._progress(PoolProgress(len(self._runs), ended, ticks))


def _run_in_lockstep(runs: Sequence[Run], thinkers: Thinkers | None, advance: _Advance) -> None:
    """All think, one after the other; then time passes for all. With thinkers, under a limit."""
    while active := _under_way(runs):
        if thinkers is None:
            for run in active:
                run.think()
        else:
            thinkers.add(active)
            while thinkers.busy:
                thinkers.come_back()
        advance(_under_way(active))


def _run_without_rounds(runs: Sequence[Run], thinkers: Thinkers, advance: _Advance) -> None:
    """Step whoever waits for time while the others think."""
    thinkers.add(runs)
    while thinkers.busy:
        line = _gather(thinkers)  # the longest wait first
        while line:
            chosen, line = _next_in(line)
            finished = advance(chosen, days=1)
            thinkers.add(_under_way(finished))
            line += _under_way(thinkers.come_back(0.0))
            line += [run for run in chosen if run not in finished]
    advance([])


def _gather(thinkers: Thinkers) -> list[Run]:
    """Wait until somebody waits for time, and a moment longer for others that may share a step."""
    line: list[Run] = []
    deadline = None
    while thinkers.busy and not (line and _fills_a_step(line)):
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            break
        line += _under_way(thinkers.come_back(left))
        if line and deadline is None:
            deadline = time.monotonic() + PATIENCE_S
    return line


def _under_way(runs: Sequence[Run]) -> list[Run]:
    """Those of some campaigns that have not ended."""
    return [run for run in runs if run.result is None]


def _fills_a_step(line: Sequence[Run]) -> bool:
    return len(line) >= line[0].entry.session.stepping.campaigns_at_once


def _next_in(line: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """Who is stepped now, campaigns of one kind and no more than fill a step, and who is not."""
    stepping = line[0].entry.session.stepping
    kin = [run for run in line if run.entry.session.stepping.group == stepping.group]
    chosen = kin[: stepping.campaigns_at_once]
    return chosen, [run for run in line if run not in chosen]


def _step(runs: Sequence[Run], days: int | None, on_day: DayProgress | None = None) -> None:
    """Step campaigns of one kind to their targets, or to the end of a day on their ways."""
    requests = []
    for run in runs:
        facility, target = run.entry.session.facility, run.target
        if days is not None:
            length = facility.ticks_per_day
            target = min(target, (facility.tick // length + days) * length)
        requests.append((facility, target))
    runs[0].entry.session.stepping.advance(requests, on_day)


def _step_one_by_one(runs: Sequence[Run], days: int | None) -> None:
    """After an exception in a joint advance: find the campaign at fault, spare the others.

    Stepping goes from where each facility stands, and its bytes do not depend on company.
    """
    for run in runs:
        try:
            _step([run], days)
        except Exception as error:
            run.entry.session.fail(FailureKind.STEPPING, repr(error))


__all__ = [
    "Ending",
    "Entry",
    "PoolProgress",
    "PoolResult",
    "Steps",
    "run_pool",
]
