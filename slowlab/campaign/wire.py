"""The wire protocol, without any input or output: a line comes in, a line goes out.

One JSON object a line, in UTF-8. Requests are ``{"id":1,"op":"hello"}``,
``{"id":2,"op":"dispatch","action":{...}}``, ``{"id":3,"op":"tool","tool":"runs","arguments":{}}``
and ``{"id":4,"op":"close"}``; replies have the same id and are canonical JSON. The rules, in the
order in which they are checked:

1. A line that the strict reader refuses (or that has more than :data:`MAX_LINE_BYTES`), and a line
   that is no request, is answered by a protocol error; nothing has changed. Its id is null where it
   could not be read.
2. Ids count from 1 without a gap. A line whose id could not be read may or may not have been
   counted by its sender, so the next id may be either. Any other id ends the connection: client
   and server no longer agree on what has been done.
3. ``hello`` comes first, and once. ``dispatch`` passes its action to the campaign, whose replies
   are described in the task, and ``tool`` a call to the analysis tools. ``close`` settles the
   campaign and ends the connection.
4. After :data:`MAX_PROTOCOL_ERRORS` protocol errors, and after as many actions as a session takes,
   the connection is ended.
5. An infrastructure failure ends the connection. No detail of it is told.

:class:`Conversation` holds the rules about lines and knows no campaign, so that a request can be
answered whenever its reply is there. :class:`Wire` puts one session behind it and answers at once.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

from slowlab.campaign.errors import FROZEN, ErrorInfo, ErrorKind, Reason, Reply
from slowlab.campaign.replay import Resumed
from slowlab.campaign.session import Session, ToolCall, ToolHandler
from slowlab.campaign.settlement import CampaignStatus
from slowlab.canonical import (
    JsonLimits,
    StrictJsonError,
    canonical_bytes,
    canonical_json,
    loads_strict,
)

FORMAT = "slowlab-wire-1"
MAX_LINE_BYTES = 262_144
"""Longest line; an honest request has about 300 bytes."""
MAX_PROTOCOL_ERRORS = 100

_LIMITS = JsonLimits(max_bytes=MAX_LINE_BYTES, max_depth=32, max_number_chars=400)
_log = logging.getLogger(__name__)


class Operation(StrEnum):
    """What a request asks for."""

    HELLO = "hello"
    DISPATCH = "dispatch"
    TOOL = "tool"
    CLOSE = "close"


_MEMBERS = {
    Operation.HELLO: {"id", "op"},
    Operation.DISPATCH: {"id", "op", "action"},
    Operation.TOOL: {"id", "op", "tool", "arguments"},
    Operation.CLOSE: {"id", "op"},
}


class WireFault(StrEnum):
    """Why a line is no request, or no request at this moment."""

    UNREADABLE = "unreadable"
    NO_REQUEST = "no_request"
    WRONG_ID = "wrong_id"
    WRONG_ORDER = "wrong_order"
    TOO_MANY_ERRORS = "too_many_errors"
    TOO_MANY_ACTIONS = "too_many_actions"


class ExitCode(IntEnum):
    """How a server process ends."""

    CLOSED = 0
    PROTOCOL_ERROR = 2
    INFRASTRUCTURE_FAILURE = 3


@dataclass(frozen=True)
class LineTooLong:
    """A line that was not kept.

    Attributes:
        size: its bytes.
        sha256: their hash.
    """

    size: int
    sha256: str


@dataclass(frozen=True)
class Answer:
    """What to send, and whether to end.

    Attributes:
        line: the reply with its line end.
        ends: the exit code where the connection ends after it.
    """

    line: bytes
    ends: ExitCode | None = None


@dataclass(frozen=True)
class Request:
    """A line that is a request at this moment.

    Attributes:
        id: its number, which the reply repeats.
        operation: what it asks for.
        action: of a dispatch, as plain data.
        call: of a tool request.
    """

    id: int
    operation: Operation
    action: Any = None
    call: ToolCall | None = None


@dataclass(frozen=True)
class Refusal:
    """A line that cannot be carried out.

    Attributes:
        answer: the protocol error to send.
        reply: the same without its id, as plain data.
        trace: what may be kept of the line: fault, size and hash, never its text.
        request_id: its id, where it could be read.
    """

    answer: Answer
    reply: dict[str, Any]
    trace: dict[str, Any]
    request_id: int | None


@dataclass(frozen=True)
class Opened:
    """An open campaign.

    Attributes:
        session: the campaign.
        resumed: where it stands, if it was begun before.
        tools: answers calls of analysis tools; None where there are none.
    """

    session: Session
    resumed: Resumed | None = None
    tools: ToolHandler | None = None


NO_TOOLS = Reply.failure(
    ErrorInfo(
        ErrorKind.INVALID_ACTION,
        Reason.UNKNOWN_ACTION,
        "analysis tools are not offered on this connection",
    )
)
"""The answer to a tool call where there are no tools."""


class _ProtocolError(Exception):
    """A line that cannot be carried out."""

    def __init__(self, fault: WireFault, message: str, *, ends: bool = False) -> None:
        super().__init__(message)
        self.fault = fault
        self.ends = ends


class Conversation:
    """The rules about lines of one connection; see the module. It knows no campaign."""

    def __init__(self) -> None:
        self._greeted = False
        self._next_id = 1
        self._uncounted = 0
        self._errors = 0

    def take(self, line: bytes | LineTooLong) -> Request | Refusal:
        """Read one line (without its line end)."""
        request_id: int | None = None
        try:
            data = self._read(line)
            request_id = data["id"]
            self._count(data["id"])
            return self._request(data)
        except _ProtocolError as error:
            return self._refuse(line, request_id, error)

    def too_many_actions(self, line: bytes | LineTooLong, request: Request, taken: int) -> Refusal:
        """Refuse a request because the campaign takes no more; this ends the connection."""
        message = f"no more than {taken} actions are taken"
        error = _ProtocolError(WireFault.TOO_MANY_ACTIONS, message, ends=True)
        return self._refuse(line, request.id, error)

    def _read(self, line: bytes | LineTooLong) -> dict[str, Any]:
        """The request in a line."""
        if isinstance(line, LineTooLong):
            self._uncounted += 1
            message = f"the line has more than {MAX_LINE_BYTES} bytes"
            raise _ProtocolError(WireFault.UNREADABLE, message)
        try:
            data = loads_strict(line, _LIMITS)
        except StrictJsonError as error:
            self._uncounted += 1
            message = f"the line is not acceptable JSON: {error}"
            raise _ProtocolError(WireFault.UNREADABLE, message) from None
        if not isinstance(data, dict) or not _is_id(data.get("id")):
            self._uncounted += 1
            message = "a request is an object with a whole number, from 1, as id"
            raise _ProtocolError(WireFault.NO_REQUEST, message)
        return data

    def _count(self, request_id: int) -> None:
        first, last = self._next_id, self._next_id + self._uncounted
        if not first <= request_id <= last:
            known = f"{first}" if first == last else f"{first} to {last}"
            message = f"the id must be {known}: ids count from 1 without a gap"
            raise _ProtocolError(WireFault.WRONG_ID, message, ends=True)
        self._next_id, self._uncounted = request_id + 1, 0

    def _request(self, data: dict[str, Any]) -> Request:
        """The request, if its members are right and it comes at the right moment."""
        name = data.get("op")
        if not isinstance(name, str) or name not in list(Operation):
            message = f"op must be one of {', '.join(Operation)}"
            raise _ProtocolError(WireFault.NO_REQUEST, message)
        operation, members = Operation(name), _MEMBERS[Operation(name)]
        if set(data) != members:
            message = f"{operation} has exactly the members {', '.join(sorted(members))}"
            raise _ProtocolError(WireFault.NO_REQUEST, message)
        call = _tool_call(data) if operation is Operation.TOOL else None
        if operation is Operation.HELLO and self._greeted:
            raise _ProtocolError(WireFault.WRONG_ORDER, "hello was said before")
        if operation is not Operation.HELLO and not self._greeted:
            raise _ProtocolError(WireFault.WRONG_ORDER, "say hello first")
        self._greeted = True
        return Request(data["id"], operation, data.get("action"), call)

    def _refuse(
        self, line: bytes | LineTooLong, request_id: int | None, error: _ProtocolError
    ) -> Refusal:
        self._errors += 1
        ends = error.ends or self._errors >= MAX_PROTOCOL_ERRORS
        fault, message = error.fault, str(error)
        if ends and not error.ends:
            fault = WireFault.TOO_MANY_ERRORS
            message += f"; after {self._errors} protocol errors the connection is ended"
        described = {"kind": ErrorKind.PROTOCOL_ERROR.value, "reason": fault, "message": message}
        reply = {"ok": False, "error": described}
        content = canonical_bytes({"id": request_id, **reply}) + b"\n"
        answer = Answer(content, ExitCode.PROTOCOL_ERROR if ends else None)
        return Refusal(answer, reply, _trace(line, fault), request_id)


def answer_to(request_id: int | None, reply: Reply) -> Answer:
    """A reply as a line; an infrastructure failure ends the connection."""
    failed = reply.error is not None and reply.error.kind is ErrorKind.INFRASTRUCTURE_FAILURE
    line = canonical_bytes({"id": request_id, **reply.payload()}) + b"\n"
    return Answer(line, ExitCode.INFRASTRUCTURE_FAILURE if failed else None)


def greeting(task: Mapping[str, Any], resumed: Resumed | None = None) -> Reply:
    """The reply to ``hello``."""
    result: dict[str, Any] = {"format": FORMAT, "task": dict(task)}
    if resumed is not None:
        result["resumed"] = vars(resumed)
    return Reply.success(result)


def farewell(status: CampaignStatus, day: float, *, recommendation_counts: bool) -> Reply:
    """The reply to ``close``."""
    counts = {"recommendation_counts": recommendation_counts}
    return Reply.success({"status": status.value, "day": day, **counts})


class Wire:
    """One connection to one session; see the module.

    Args:
        open_campaign: opens the campaign when the client says hello; an exception is an
            infrastructure failure.
    """

    def __init__(self, open_campaign: Callable[[], Opened]) -> None:
        self._open_campaign = open_campaign
        self._conversation = Conversation()
        self._tools: ToolHandler | None = None
        self.session: Session | None = None

    def answer(self, line: bytes | LineTooLong) -> Answer:
        """Answer one line (without its line end)."""
        taken = self._conversation.take(line)
        request_id = taken.request_id if isinstance(taken, Refusal) else taken.id
        try:
            if isinstance(taken, Refusal):
                return self._refuse(taken)
            return self._carry_out(line, taken)
        except Exception:
            _log.exception("a request could not be answered")
            return self._reply(request_id, FROZEN)

    def _carry_out(self, line: bytes | LineTooLong, request: Request) -> Answer:
        session = self.session
        if request.operation is Operation.HELLO:
            return self._hello(request.id)
        if session is None:  # it could not be opened
            return self._reply(request.id, FROZEN)
        if request.operation is Operation.CLOSE:
            return self._close(request.id, session)
        if session.exhausted:
            refusal = self._conversation.too_many_actions(line, request, session.requests)
            return self._refuse(refusal)
        if request.call is not None:
            return self._reply(request.id, session.use_tool(request.call, self._tools or _no_tools))
        return self._reply(request.id, session.dispatch(canonical_json(request.action)))

    def _hello(self, request_id: int) -> Answer:
        try:
            opened = self._open_campaign()
        except Exception:
            _log.exception("the campaign could not be opened")
            return self._reply(request_id, FROZEN)
        self.session, self._tools = opened.session, opened.tools
        if self.session.failure is not None:
            return self._reply(request_id, FROZEN)
        return self._reply(request_id, greeting(self.session.task(), opened.resumed))

    def _close(self, request_id: int, session: Session) -> Answer:
        settlement = session.settle()
        if settlement is None or session.failure is not None:
            return self._reply(request_id, FROZEN)
        counts = not settlement.flagged
        reply = farewell(settlement.status, settlement.day, recommendation_counts=counts)
        return Answer(self._reply(request_id, reply).line, ExitCode.CLOSED)

    def _reply(self, request_id: int | None, reply: Reply) -> Answer:
        answer = answer_to(request_id, reply)
        if answer.ends is not None and self.session is not None:
            self.session.settle()  # a failure that the executor reported is an end too
        return answer

    def _refuse(self, refusal: Refusal) -> Answer:
        """Answer a line that is no request, and keep a trace of it."""
        if self.session is not None and not self.session.refuse(refusal.trace, refusal.reply):
            return self._reply(refusal.request_id, FROZEN)
        return refusal.answer


def _no_tools(call: ToolCall) -> Reply:
    return NO_TOOLS


def _tool_call(data: dict[str, Any]) -> ToolCall:
    """The call in a tool request; whether the tool exists is for the tools to say."""
    if not isinstance(data["tool"], str) or not isinstance(data["arguments"], dict):
        message = "tool is a text and arguments an object"
        raise _ProtocolError(WireFault.NO_REQUEST, message)
    return ToolCall(data["tool"], data["arguments"])


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _trace(line: bytes | LineTooLong, fault: WireFault) -> dict[str, Any]:
    """What is kept of a line that was refused."""
    if isinstance(line, bytes):
        line = LineTooLong(len(line), hashlib.sha256(line).hexdigest())
    return {"fault": fault.value, "bytes": line.size, "sha256": line.sha256}
