"""Lines to and from an agent's process, whatever it does."""

from __future__ import annotations

import hashlib
import itertools
import os
import signal
import time

import pytest

from slowlab.campaign.agent_process import AgentGone, AgentProcess, AgentTimeout, LineBuffer
from slowlab.campaign.wire import MAX_LINE_BYTES, LineTooLong


def soon(seconds=10.0):
    return time.monotonic() + seconds


@pytest.fixture
def agent():
    """Starts shell scripts and ends them."""
    started = []

    def start(script, **options):
        started.append(AgentProcess.start(["sh", "-c", script], **options))
        return started[-1]

    yield start
    for process in started:
        process.stop()
        process.stop()  # a second time does nothing


@pytest.mark.parametrize("size", [7, 1000, 65_536, 10**7])
def test_lines_come_whole_however_they_are_cut(size):
    long = b"y" * (MAX_LINE_BYTES + 1)
    just = b"z" * MAX_LINE_BYTES
    content = b"one\n\n" + long + b"\n" + just + b"\nunfinished"
    lines, buffer = [], LineBuffer()
    for begin in range(0, len(content), size):
        buffer.feed(content[begin : begin + size])
        lines += itertools.takewhile(lambda line: line is not None, iter(buffer.next, 0))
    too_long = LineTooLong(len(long), hashlib.sha256(long).hexdigest())
    assert lines == [b"one", b"", too_long, just]
    assert buffer.unread == len(b"unfinished")


def test_an_endless_line_takes_no_memory():
    buffer = LineBuffer()
    for _ in range(100):
        buffer.feed(b"x" * 65_536)
        assert buffer.next() is None
        assert buffer.unread <= MAX_LINE_BYTES


def test_there_and_back(agent):
    process = agent('read -r line; echo "$line $line"; echo last; printf cut')
    process.send(b"word\n", soon())
    assert process.receive(soon()) == b"word word"
    assert process.receive(soon()) == b"last"
    assert process.receive(soon()) is None
    assert process.await_exit(5) == 0


def test_a_deaf_agent_does_not_hold_us(agent):
    process = agent("sleep 60")
    with pytest.raises(AgentTimeout):
        process.send(b"x" * (1 << 20) + b"\n", soon(0.3))
    with pytest.raises(AgentTimeout):
        process.receive(soon(0.1))


def test_an_agent_that_talks_while_it_is_told(agent):
    """It writes more than a pipe holds before it reads."""
    process = agent("head -c 300000 /dev/zero | tr '\\0' 'a'; echo; read -r line; echo done")
    process.send(b"x" * 200_000 + b"\n", soon())
    assert isinstance(process.receive(soon()), LineTooLong)
    assert process.receive(soon()) == b"done"


def test_an_agent_that_has_ended(agent):
    process = agent("exit 3")
    assert process.await_exit(5) == 3
    assert process.receive(soon()) is None
    with pytest.raises(AgentGone):
        process.send(b"x\n", soon())


def test_the_exit_code_of_a_signal_is_negative(agent):
    assert agent("kill -TERM $$").await_exit(5) == -signal.SIGTERM
    assert agent("sleep 60").await_exit(0.05) is None


def test_a_log_that_cannot_be_opened(tmp_path):
    with pytest.raises(OSError, match="directory"):
        AgentProcess.start(["true"], log=tmp_path)


def test_gently_means_that_it_may_end_by_itself(tmp_path):
    told = tmp_path / "told"
    process = AgentProcess.start(["sh", "-c", f"cat; echo bye > {told}"])
    process.stop(gently=True)
    assert told.read_text() == "bye\n"
    with pytest.raises(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)
