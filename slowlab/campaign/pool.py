"""Many campaigns in lockstep: the pool.

A method is a generator that yields an action (or a :class:`ToolCall`) and receives a reply. The
pool answers everything that costs no time, gathers the campaigns that wait for an advance and lets
their time pass together, in full lanes. What a campaign gets depends on itself alone: neither the
number of campaigns nor their order nor the number of workers changes a byte of any journal.

A fault in one method ends its own campaign, with a typed ending. Wall-clock enters in one place, a
time limit for methods that hang, and its only outcome is an infrastructure failure, which is
missing data and never a score.
"""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from slowlab.campaign.errors import Reply
from slowlab.campaign.session import (
    DayProgress,
    Failure,
    FailureKind,
    Session,
    ToolCall,
    ToolHandler,
)

if TYPE_CHECKING:
    from slowlab.campaign.settlement import Settlement

Steps = Generator[Any, Reply, Any]
"""A method at work: yields actions (plain data) and tool calls, receives replies. What it returns
is kept as a remark."""


class Ending(StrEnum):
    """How a campaign of a pool ended.

    ``settled``: the method returned and the campaign was settled. ``left_open``: it returned, and
    the campaign is not to be settled. ``method_error``: it raised an exception. ``request_limit``:
    it went on for ever; settled with what there was. ``infrastructure_failure``: the session is
    frozen; missing data.
    """

    SETTLED = "settled"
    LEFT_OPEN = "left_open"
    METHOD_ERROR = "method_error"
    REQUEST_LIMIT = "request_limit"
    INFRASTRUCTURE_FAILURE = "infrastructure_failure"


@dataclass(frozen=True)
class Entry:
    """One campaign of a pool.

    Attributes:
        name: unique in the pool.
        session: the campaign.
        steps: the method.
        tools: answers its tool calls; None where it has no tools.
        settle: whether to settle the campaign when the method returns.
    """

    name: str
    session: Session
    steps: Steps
    tools: ToolHandler | None = None
    settle: bool = True


@dataclass(frozen=True)
class PoolResult:
    """How one campaign ended.

    Attributes:
        name: the entry's.
        ending: how.
        settlement: where the campaign was settled; also after a failure of its facility, then
            without a policy.
        failure: why the session is frozen, where it is. Private.
        error: traceback of the method's exception, where it raised one. Private.
        requests: actions and tool calls of the method.
        returned: what the method returned, if it came to its end.
    """

    name: str
    ending: Ending
    settlement: Settlement | None = None
    failure: Failure | None = None
    error: str | None = None
    requests: int = 0
    returned: Any = None


@dataclass(frozen=True)
class PoolProgress:
    """Where a pool stands.

    Attributes:
        campaigns: number of campaigns.
        ended: how many of them have ended.
        ticks: ticks that all campaigns together have behind them.
    """

    campaigns: int
    ended: int
    ticks: int


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
        on_day: called while time passes.

    Returns:
        One result for each entry, in order.

    Raises:
        ValueError: two entries share a name.
    """
    if len({entry.name for entry in entries}) != len(entries):
        raise ValueError("two campaigns of a pool share a name")
    runs = [_Run(entry) for entry in entries]
    try:
        while active := [run for run in runs if run.result is None]:
            _think(active, workers, time_limit_s)
            _advance([run for run in active if run.result is None], on_day)
            if progress is not None:
                ended = sum(run.result is not None for run in runs)
                ticks = sum(run.entry.session.facility.tick for run in runs)
                progress(PoolProgress(len(runs), ended, ticks))
    finally:
        for run in runs:
            run.close()
    return [run.result for run in runs if run.result is not None]


class _Run:
    """One campaign under way: it waits for a reply, for time, or has a result."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.result: PoolResult | None = None
        self.crash: BaseException | None = None
        self._reply: Reply | None = None
        self._returned: Any = None

    def think(self) -> None:
        """Let the method go on until it waits for time or has ended."""
        entry, session = self.entry, self.entry.session
        while self.result is None:
            try:
                item = next(entry.steps) if self._reply is None else entry.steps.send(self._reply)
            except StopIteration as end:
                self._returned = end.value
                self._end(Ending.SETTLED if entry.settle else Ending.LEFT_OPEN)
                return
            except Exception:
                self._end(Ending.METHOD_ERROR, error=traceback.format_exc())
                return
            if session.exhausted:
                self._end(Ending.REQUEST_LIMIT)
                return
            outcome = self._answer(item)
            if session.failure is not None:
                self._end(Ending.INFRASTRUCTURE_FAILURE)
            elif not isinstance(outcome, Reply):
                return
            else:
                self._reply = outcome

    def finish(self) -> None:
        """Take the reply to an advance, now that time has passed."""
        self._reply = self.entry.session.finish()
        if self.entry.session.failure is not None:
            self._end(Ending.INFRASTRUCTURE_FAILURE)

    def overdue(self, limit_s: float) -> None:
        """End a campaign whose method has not come back in time."""
        detail = f"the method thought for more than {limit_s:g} s"
        self.entry.session.fail(FailureKind.TIME_LIMIT, detail)
        self._end(Ending.INFRASTRUCTURE_FAILURE, close_method=False)

    def close(self) -> None:
        """Let go of method and journal."""
        if self.result is None:
            _close_method(self.entry.steps)
        self.entry.session.close()

    def _answer(self, item: Any) -> Any:
        if isinstance(item, ToolCall) and self.entry.tools is not None:
            return self.entry.session.use_tool(item, self.entry.tools)
        return self.entry.session.begin(item)

    def _end(self, ending: Ending, *, error: str | None = None, close_method: bool = True) -> None:
        """Fix the result, once; settle where there is something to settle."""
        if close_method:
            _close_method(self.entry.steps)
        session, settlement = self.entry.session, None
        if ending not in (Ending.LEFT_OPEN, Ending.METHOD_ERROR):
            settlement = session.settle()
        if session.failure is not None:
            ending = Ending.INFRASTRUCTURE_FAILURE
        if self.result is None:
            self.result = PoolResult(
                self.entry.name,
                ending,
                settlement,
                session.failure,
                error,
                session.requests,
                self._returned,
            )
            session.close()


def _close_method(steps: Steps) -> None:
    """Close a generator, whatever it does about that."""
    try:
        steps.close()
    except Exception:
        return  # it has been told; its campaign has ended either way


def _think(runs: Sequence[_Run], workers: int, limit_s: float | None) -> None:
    """Let all methods go on until each waits for time or has ended."""
    if workers == 1 and limit_s is None:
        for run in runs:
            run.think()
        return
    waiting, busy = deque(runs), dict[_Run, float]()
    done: queue.SimpleQueue[_Run] = queue.SimpleQueue()
    while waiting or busy:
        while waiting and len(busy) < workers:
            run = waiting.popleft()
            busy[run] = time.monotonic()
            # Daemons, because a method that hangs must not keep the process from ending.
            threading.Thread(target=_think_aside, args=(run, done), daemon=True).start()
        for finished in _come_back(done, busy, limit_s):
            busy.pop(finished, None)
            if finished.crash is not None:
                raise finished.crash
        for run in [run for run in busy if limit_s is not None and _age(busy[run]) > limit_s]:
            del busy[run]
            run.overdue(limit_s or 0.0)


def _think_aside(run: _Run, done: queue.SimpleQueue[_Run]) -> None:
    """Think in a thread of its own and report back."""
    try:
        run.think()
    except BaseException as error:
        run.crash = error
    done.put(run)


def _come_back(
    done: queue.SimpleQueue[_Run], busy: dict[_Run, float], limit_s: float | None
) -> list[_Run]:
    """All methods that have come back; waits for one, or until the oldest one is overdue."""
    wait = None
    if limit_s is not None:
        wait = max(0.0, limit_s - max(map(_age, busy.values()))) + 0.001
    found = []
    try:
        while True:
            found.append(done.get(timeout=0.0 if found else wait))
    except queue.Empty:
        return found


def _age(begun: float) -> float:
    return time.monotonic() - begun


def _advance(runs: Sequence[_Run], on_day: DayProgress | None) -> None:
    """Let time pass for all campaigns that wait for it, together where they are of one kind."""
    groups: dict[int, list[_Run]] = {}
    for run in runs:
        groups.setdefault(run.entry.session.stepping.group, []).append(run)
    for group in groups.values():
        try:
            _step(group, on_day)
        except Exception:
            _step_one_by_one(group)
    for run in runs:
        run.finish()


def _step(runs: Sequence[_Run], on_day: DayProgress | None = None) -> None:
    sessions = [run.entry.session for run in runs]
    requests = [(s.facility, s.pending.target_tick) for s in sessions if s.pending is not None]
    sessions[0].stepping.advance(requests, on_day)


def _step_one_by_one(runs: Sequence[_Run]) -> None:
    """After an exception in a joint advance: find the campaign at fault, spare the others.

    Stepping goes from where each facility stands, and its bytes do not depend on company.
    """
    for run in runs:
        try:
            _step([run])
        except Exception as error:
            run.entry.session.fail(FailureKind.STEPPING, repr(error))
