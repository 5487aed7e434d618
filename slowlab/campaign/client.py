"""The other end of the wire, in Python: start a server process and talk to it.

For methods of ours that play through a process of their own. A foreign agent needs none of this;
see ``examples/agent.py``.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import TracebackType
from typing import Any, Self

from slowlab.campaign.isolation import ALLOWED_ENVIRONMENT
from slowlab.campaign.wire import ExitCode
from slowlab.canonical import JsonLimits, StrictJsonError, canonical_bytes, loads_strict

_REPLY_LIMITS = JsonLimits(max_bytes=64 * 1024 * 1024)
_PATIENCE_S = 10.0


class ServerEnding(StrEnum):
    """How a server process ended.

    ``closed``: as agreed. ``protocol_error``, ``infrastructure_failure``: it said so.
    ``timed_out``: a reply did not come in time and the process was ended. ``lost``: it died
    otherwise, or sent something that is no reply.
    """

    CLOSED = "closed"
    PROTOCOL_ERROR = "protocol_error"
    INFRASTRUCTURE_FAILURE = "infrastructure_failure"
    TIMED_OUT = "timed_out"
    LOST = "lost"


_BY_EXIT_CODE = {
    ExitCode.CLOSED: ServerEnding.CLOSED,
    ExitCode.PROTOCOL_ERROR: ServerEnding.PROTOCOL_ERROR,
    ExitCode.INFRASTRUCTURE_FAILURE: ServerEnding.INFRASTRUCTURE_FAILURE,
}


class ServerEndedError(RuntimeError):
    """There is no server any more to answer.

    Attributes:
        ending: how it ended.
    """

    def __init__(self, ending: ServerEnding) -> None:
        super().__init__(f"the server process has ended: {ending.value}")
        self.ending = ending

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor."""
        return type(self), (self.ending,)


class ServerProcess:
    """A running server and the conversation with it; close it, or use it as a context.

    Attributes:
        ending: how the process ended; None while it runs.
    """

    def __init__(self, process: subprocess.Popen[bytes], reply_timeout_s: float) -> None:
        """Use :meth:`start`."""
        self._process = process
        self._timeout_s = reply_timeout_s
        self._next_id = 1
        self._received = b""
        self.ending: ServerEnding | None = None

    @classmethod
    def start(
        cls,
        options: Sequence[str],
        *,
        reply_timeout_s: float = 600.0,
        command: Sequence[str] | None = None,
    ) -> Self:
        """Start a server process.

        Args:
            options: as for ``slowlab serve``.
            reply_timeout_s: longest time to wait for a reply, s.
            command: what to start instead of ``slowlab serve``.

        Raises:
            OSError: the process cannot be started.
        """
        command = command or (sys.executable, "-m", "slowlab", "serve")
        process = subprocess.Popen(
            [*command, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={name: os.environ[name] for name in ALLOWED_ENVIRONMENT if name in os.environ},
        )
        return cls(process, reply_timeout_s)

    def hello(self) -> dict[str, Any]:
        """Open the campaign; a reply as for :meth:`request`, with the task as its result."""
        return self.request("hello")

    def dispatch(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Send one action."""
        return self.request("dispatch", action=dict(action))

    def close(self) -> dict[str, Any]:
        """Settle the campaign and let the process end."""
        return self.request("close")

    def request(self, operation: str, **members: Any) -> dict[str, Any]:
        """Send one request and wait for its reply.

        Returns:
            ``{"ok": true, "result": ...}`` or ``{"ok": false, "error": ...}``.

        Raises:
            ServerEndedError: there is no reply, because the process has ended or was ended.
            CanonicalError: the request has no canonical JSON form; nothing was sent.
        """
        if self.ending is not None:
            raise ServerEndedError(self.ending)
        number = self._next_id
        line = canonical_bytes({"id": number, "op": operation, **members}) + b"\n"
        self._next_id += 1
        self._send(line)
        reply = self._parse(self._receive(), number)
        failed = reply.get("error", {}).get("kind") == ServerEnding.INFRASTRUCTURE_FAILURE
        closed = operation == "close" and reply["ok"]
        if failed or closed:
            self._await_end(closed=closed)
        return reply

    def stop(self) -> None:
        """End the process, if it has not ended; the campaign stays as it is."""
        if self.ending is None:
            self._end(ServerEnding.LOST)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except (BrokenPipeError, OSError):
            self._await_end()
            raise ServerEndedError(self.ending or ServerEnding.LOST) from None

    def _receive(self) -> bytes:
        """The next whole line."""
        assert self._process.stdout is not None
        descriptor, deadline = self._process.stdout.fileno(), time.monotonic() + self._timeout_s
        while b"\n" not in self._received:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([descriptor], [], [], left)[0]:
                self._end(ServerEnding.TIMED_OUT)
                raise ServerEndedError(ServerEnding.TIMED_OUT)
            piece = os.read(descriptor, 1 << 16)
            if not piece:
                self._await_end()
                raise ServerEndedError(self.ending or ServerEnding.LOST)
            self._received += piece
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _parse(self, line: bytes, number: int) -> dict[str, Any]:
        """The reply in a line; its id must be that of the request, or null."""
        try:
            reply = loads_strict(line, _REPLY_LIMITS)
            sound = reply.pop("id") in (number, None) and isinstance(reply["ok"], bool)
        except (StrictJsonError, AttributeError, KeyError, TypeError):
            sound = False
        if not sound:
            self._end(ServerEnding.LOST)
            raise ServerEndedError(ServerEnding.LOST)
        return reply

    def _await_end(self, *, closed: bool = False) -> None:
        """Wait for a process that is about to end, and read its exit code.

        A process that ends well without having been closed is lost.
        """
        try:
            code = self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._end(ServerEnding.LOST)
            return
        ending = _BY_EXIT_CODE.get(code, ServerEnding.LOST)
        self._end(ServerEnding.LOST if ending is ServerEnding.CLOSED and not closed else ending)

    def _end(self, ending: ServerEnding) -> None:
        """Fix the ending and leave no process behind."""
        self.ending = self.ending or ending
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    continue  # unsent bytes of a request that nobody can answer
