"""What goes into a pool of campaigns and what comes out of it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from slowlab.campaign.errors import Reply
from slowlab.campaign.session import Failure, Session, ToolHandler

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
