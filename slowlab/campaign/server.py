"""One campaign served to an agent in another process: lines in, lines out.

:mod:`slowlab.campaign.isolation` prepares the process, :mod:`slowlab.campaign.wire` holds the
protocol; here are the streams between them.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from typing import BinaryIO

from slowlab.campaign.isolation import Channel
from slowlab.campaign.wire import MAX_LINE_BYTES, ExitCode, LineTooLong, Opened, Wire

_PIECE = 65_536
_log = logging.getLogger(__name__)


def serve(open_campaign: Callable[[], Opened], channel: Channel) -> ExitCode:
    """Answer requests until the connection ends.

    A line is carried out only when it has come in whole. When the client goes away without closing,
    the campaign stays as it is, and its journal can be resumed.

    Args:
        open_campaign: opens the campaign when the client says hello.
        channel: the connection.

    Returns:
        ``closed`` after a close, ``protocol_error`` where the client broke the protocol or went
        away, ``infrastructure_failure`` where the campaign could not go on.
    """
    wire = Wire(open_campaign)
    try:
        return _converse(wire, channel)
    except BrokenPipeError:
        _log.warning("the client went away while it was answered")
        return ExitCode.PROTOCOL_ERROR
    finally:
        if wire.session is not None:
            wire.session.close()


def _converse(wire: Wire, channel: Channel) -> ExitCode:
    while True:
        line = read_line(channel.incoming)
        if line is None:
            _log.warning("the client went away without closing")
            return ExitCode.PROTOCOL_ERROR
        answer = wire.answer(line)
        channel.outgoing.write(answer.line)
        channel.outgoing.flush()
        if answer.ends is not None:
            return answer.ends


def read_line(stream: BinaryIO) -> bytes | LineTooLong | None:
    """The next whole line without its end; None at the end of the stream.

    What follows the last line end is no line: its sender did not finish it. Of a line that is too
    long only size and hash are kept.
    """
    line = stream.readline(MAX_LINE_BYTES + 1)
    if line.endswith(b"\n"):
        return line[:-1]
    if len(line) <= MAX_LINE_BYTES:
        return None
    size, digest = 0, hashlib.sha256()
    while True:
        ended = line.endswith(b"\n")
        digest.update(line.removesuffix(b"\n"))
        size += len(line) - ended
        if ended:
            return LineTooLong(size, digest.hexdigest())
        line = stream.readline(_PIECE)
        if not line:
            return None
