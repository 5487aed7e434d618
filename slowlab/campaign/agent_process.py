"""An agent's process and the two pipes to it: whole lines out of it and into it, never a hang.

The process gets an environment of its own, a session of its own (so that its children can be ended
with it) and a private log for what it writes to standard error. Reading and writing wait no longer
than a deadline, also where the agent does not read its replies or never ends a line. This is a
boundary between processes, not a sandbox.
"""

from __future__ import annotations

import hashlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from slowlab.campaign.isolation import SINGLE_THREAD
from slowlab.campaign.wire import MAX_LINE_BYTES, LineTooLong

KEPT_ENVIRONMENT = ("HOME", "LANG", "PATH")
"""The variables that an agent gets from ours; the folder of private files is not among them."""
_PIECE = 65_536
_UNREAD_LIMIT = 1 << 20
_GRACE_S = 2.0
_READABLE = select.POLLIN | select.POLLHUP | select.POLLERR


class AgentTimeout(Exception):
    """The agent did nothing in time."""


class AgentGone(Exception):
    """The agent does not listen any more."""


class AgentProcess:
    """A running agent; see the module. Use :meth:`start`, and :meth:`stop` whatever happens."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._to_agent, self._from_agent = process.stdin.fileno(), process.stdout.fileno()
        self._lines = LineBuffer()
        self._ended = False
        os.set_blocking(self._to_agent, False)
        os.set_blocking(self._from_agent, False)

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        variables: Mapping[str, str] | None = None,
        log: Path | None = None,
    ) -> Self:
        """Start an agent in the present folder.

        Args:
            command: program and arguments; ``python`` stands for the interpreter that runs us.
            variables: added to its environment, which is otherwise :data:`KEPT_ENVIRONMENT` and
                one thread for mathematical libraries.
            log: private file to which its standard error is appended; by default it is dropped.

        Raises:
            OSError: the program cannot be started, or the log cannot be opened.
        """
        kept = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
        program = sys.executable if command[0] == "python" else command[0]
        errors = _open_log(log)
        try:
            process = subprocess.Popen(
                [program, *command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                env={**kept, **SINGLE_THREAD, **(variables or {})},
                start_new_session=True,
            )
        finally:
            os.close(errors)
        return cls(process)

    @property
    def pid(self) -> int:
        """Number of the process, which is also that of its group."""
        return self._process.pid

    def receive(self, deadline: float) -> bytes | LineTooLong | None:
        """The next whole line without its end; None where no more will come.

        Args:
            deadline: latest moment, on the monotonic clock.

        Raises:
            AgentTimeout: no line has ended in time.
        """
        while True:
            line = self._lines.next()
            if line is not None or self._ended:
                return line
            self._wait({self._from_agent: select.POLLIN}, deadline)
            self._read()

    def send(self, line: bytes, deadline: float) -> None:
        """Send a line.

        Args:
            line: with its line end.
            deadline: latest moment, on the monotonic clock.

        Raises:
            AgentTimeout: the agent has not read it in time.
            AgentGone: it does not listen any more.
        """
        view = memoryview(line)
        while view:
            wanted = {self._to_agent: select.POLLOUT}
            if not self._ended and self._lines.unread < _UNREAD_LIMIT:
                wanted[self._from_agent] = select.POLLIN
            ready = self._wait(wanted, deadline)
            if ready.get(self._from_agent, 0) & _READABLE:
                self._read()
            if self._to_agent in ready:
                view = view[self._write(view) :]

    def await_exit(self, seconds: float) -> int | None:
        """The exit code, negative for a signal; None if it is still running after that time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if found is not None:  # not reaped: its number must stay taken until its group is ended
                crashed = found.si_code != os.CLD_EXITED
                return -found.si_status if crashed else found.si_status
            time.sleep(0.01)
        return None

    def stop(self, *, gently: bool = False) -> None:
        """End the process and its group and leave nothing behind.

        Args:
            gently: give it a moment to end by itself, after the end of its input.
        """
        if self._process.returncode is not None:
            return
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        if gently:
            self.await_exit(_GRACE_S)
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # it has ended, and all its children
            self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def _wait(self, wanted: Mapping[int, int], deadline: float) -> dict[int, int]:
        """Wait until one of the pipes is ready."""
        poll = select.poll()
        for descriptor, events in wanted.items():
            poll.register(descriptor, events)
        ready = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        if not ready:
            raise AgentTimeout
        return dict(ready)

    def _read(self) -> None:
        try:
            piece = os.read(self._from_agent, _PIECE)
        except BlockingIOError:
            return
        self._ended = not piece
        self._lines.feed(piece)

    def _write(self, view: memoryview) -> int:
        try:
            return os.write(self._to_agent, view)
        except BlockingIOError:
            return 0
        except OSError:
            raise AgentGone from None


class LineBuffer:
    """Bytes in, whole lines out; of a line that is too long only size and hash are kept."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._long: int | None = None
        self._digest = hashlib.sha256()

    @property
    def unread(self) -> int:
        """Bytes that are kept."""
        return len(self._bytes)

    def feed(self, piece: bytes) -> None:
        """Take bytes."""
        self._bytes += piece

    def next(self) -> bytes | LineTooLong | None:
        """The next whole line without its end, or None."""
        end = self._bytes.find(b"\n")
        if self._long is None and max(end, len(self._bytes) if end < 0 else 0) > MAX_LINE_BYTES:
            self._long, self._digest = 0, hashlib.sha256()
        if self._long is None:
            return None if end < 0 else self._take(end)
        content = self._take(end) if end >= 0 else self._take(len(self._bytes))
        self._long += len(content)
        self._digest.update(content)
        if end < 0:
            return None
        line = LineTooLong(self._long, self._digest.hexdigest())
        self._long = None
        return line

    def _take(self, count: int) -> bytes:
        """Take bytes away, and the line end after them."""
        content = bytes(self._bytes[:count])
        del self._bytes[: count + 1]
        return content


def _open_log(log: Path | None) -> int:
    """A descriptor for standard error; only the owner may read the file."""
    if log is None:
        return os.open(os.devnull, os.O_WRONLY)
    log.parent.mkdir(parents=True, exist_ok=True)
    return os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
