"""One campaign of a pool under way: it thinks, waits for time, or has a result."""

from __future__ import annotations

import traceback
from typing import Any

from slowlab.campaign.errors import Reply
from slowlab.campaign.pool_results import Ending, Entry, PoolResult, Steps
from slowlab.campaign.session import FailureKind, ToolCall


class Run:
    """One campaign under way; one thread at a time may touch it.

    Attributes:
        entry: the campaign.
        result: how it ended, once it has.
        crash: what went wrong in the pool itself while it thought, if anything did.
        ticks: its clock when time last passed.
    """

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.result: PoolResult | None = None
        self.crash: BaseException | None = None
        self.ticks = entry.session.facility.tick
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

    @property
    def target(self) -> int:
        """The tick to which its time is to pass."""
        pending = self.entry.session.pending
        return self.ticks if pending is None else pending.target_tick

    def take_time(self) -> bool:
        """Note the clock after time has passed; whether the campaign has nothing to wait for.

        That is so at its target, after a failure, and where its clock no longer moves.
        """
        session, before = self.entry.session, self.ticks
        self.ticks = session.facility.tick
        stands_still = self.ticks == before
        return session.failure is not None or stands_still or self.ticks >= self.target

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
