"""The wire protocol, without any input or output: a line comes in, a line goes out.

One JSON object a line, in UTF-8. Requests are ``{"id":1,"op":"hello"}``,
``{"id":2,"op":"dispatch","action":{...}}`` and ``{"id":3,"op":"close"}``; replies have the same id
and are canonical JSON. The rules, in the order in which they are checked:

1. A line that the strict reader refuses (or that has more than :data:`MAX_LINE_BYTES`), and a line
   that is no request, is answered by a protocol error; nothing has changed. Its id is null where it
   could not be read.
2. Ids count from 1 without a gap. A line whose id could not be read may or may not have been
   counted by its sender, so the next id may be either. Any other id ends the connection: client
   and server no longer agree on what has been done.
3. ``hello`` comes first, and once. ``dispatch`` passes its action to the campaign, whose replies
   are described in the task. ``close`` settles the campaign and ends the connection.
4. After :data:`MAX_PROTOCOL_ERRORS` protocol errors, and after as many actions as a session takes,
   the connection is ended.
5. An infrastructure failure ends the connection. No detail of it is told.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

from slowlab.campaign.errors import ErrorKind, Reply
from slowlab.campaign.replay import Resumed
from slowlab.campaign.session import FROZEN, Session
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
_FIELDS = {"hello": {"id", "op"}, "dispatch": {"id", "op", "action"}, "close": {"id", "op"}}
_log = logging.getLogger(__name__)


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
class Opened:
    """An open campaign.

    Attributes:
        session: the campaign.
        resumed: where it stands, if it was begun before.
    """

    session: Session
    resumed: Resumed | None = None


class _ProtocolError(Exception):
    """A line that cannot be carried out."""

    def __init__(self, fault: WireFault, message: str, *, ends: bool = False) -> None:
        super().__init__(message)
        self.fault = fault
        self.ends = ends


class Wire:
    """One connection; see the module.

    Args:
        open_campaign: opens the campaign when the client says hello; an exception is an
            infrastructure failure.
    """

    def __init__(self, open_campaign: Callable[[], Opened]) -> None:
        self._open_campaign = open_campaign
        self.session: Session | None = None
        self._next_id = 1
        self._uncounted = 0
        self._errors = 0

    def answer(self, line: bytes | LineTooLong) -> Answer:
        """Answer one line (without its line end)."""
        request_id: int | None = None
        try:
            request = self._read(line)
            request_id = request["id"]
            self._count(request_id)
            return self._carry_out(request)
        except _ProtocolError as error:
            return self._refuse(line, request_id, error)
        except Exception:
            _log.exception("a request could not be answered")
            return self._reply(request_id, FROZEN)

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

    def _carry_out(self, request: dict[str, Any]) -> Answer:
        operation = request.get("op")
        if not isinstance(operation, str) or operation not in _FIELDS:
            message = f"op must be one of {', '.join(_FIELDS)}"
            raise _ProtocolError(WireFault.NO_REQUEST, message)
        if set(request) != _FIELDS[operation]:
            message = f"{operation} has exactly the members {', '.join(sorted(_FIELDS[operation]))}"
            raise _ProtocolError(WireFault.NO_REQUEST, message)
        if operation == "hello":
            return self._hello(request["id"])
        if self.session is None:
            raise _ProtocolError(WireFault.WRONG_ORDER, "say hello first")
        if operation == "close":
            return self._close(request["id"], self.session)
        if self.session.exhausted:
            message = f"no more than {self.session.requests} actions are taken"
            raise _ProtocolError(WireFault.TOO_MANY_ACTIONS, message, ends=True)
        reply = self.session.dispatch(canonical_json(request["action"]))
        return self._reply(request["id"], reply)

    def _hello(self, request_id: int) -> Answer:
        if self.session is not None:
            raise _ProtocolError(WireFault.WRONG_ORDER, "hello was said before")
        try:
            opened = self._open_campaign()
        except Exception:
            _log.exception("the campaign could not be opened")
            return self._reply(request_id, FROZEN)
        self.session = opened.session
        if self.session.failure is not None:
            return self._reply(request_id, FROZEN)
        result: dict[str, Any] = {"format": FORMAT, "task": self.session.task()}
        if opened.resumed is not None:
            result["resumed"] = vars(opened.resumed)
        return self._reply(request_id, Reply.success(result))

    def _close(self, request_id: int, session: Session) -> Answer:
        settlement = session.settle()
        if settlement is None or session.failure is not None:
            return self._reply(request_id, FROZEN)
        result = {
            "status": settlement.status.value,
            "day": settlement.day,
            "recommendation_counts": not settlement.flagged,
        }
        answer = self._reply(request_id, Reply.success(result))
        return Answer(answer.line, ExitCode.CLOSED)

    def _reply(self, request_id: int | None, reply: Reply) -> Answer:
        failed = reply.error is not None and reply.error.kind is ErrorKind.INFRASTRUCTURE_FAILURE
        if failed and self.session is not None:
            self.session.settle()  # a failure that the executor reported is an end too
        line = canonical_bytes({"id": request_id, **reply.payload()}) + b"\n"
        return Answer(line, ExitCode.INFRASTRUCTURE_FAILURE if failed else None)

    def _refuse(
        self, line: bytes | LineTooLong, request_id: int | None, error: _ProtocolError
    ) -> Answer:
        self._errors += 1
        ends = error.ends or self._errors >= MAX_PROTOCOL_ERRORS
        fault, message = error.fault, str(error)
        if ends and not error.ends:
            fault = WireFault.TOO_MANY_ERRORS
            message += f"; after {self._errors} protocol errors the connection is ended"
        described = {"kind": ErrorKind.PROTOCOL_ERROR.value, "reason": fault, "message": message}
        reply = {"ok": False, "error": described}
        if self.session is not None and not self.session.refuse(_trace(line, fault), reply):
            return self._reply(request_id, FROZEN)
        content = canonical_bytes({"id": request_id, **reply}) + b"\n"
        return Answer(content, ExitCode.PROTOCOL_ERROR if ends else None)


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _trace(line: bytes | LineTooLong, fault: WireFault) -> dict[str, Any]:
    """What is kept of a line that was refused."""
    if isinstance(line, bytes):
        line = LineTooLong(len(line), hashlib.sha256(line).hexdigest())
    return {"fault": fault.value, "bytes": line.size, "sha256": line.sha256}
