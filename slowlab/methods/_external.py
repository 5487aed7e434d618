"""Methods that are programs of their own, in any language: they speak the wire format.

The program is started once per campaign, writes requests to its standard output and reads replies
from its standard input, as a client of ``slowlab serve`` does. However it ends, its campaign is
settled with what there is: a program that crashes, hangs or breaks the protocol before it has
recommended gets the flagged fallback as its own result.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Generator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from slowlab.campaign.agent_process import AgentGone, AgentProcess, AgentTimeout
from slowlab.campaign.errors import Reply
from slowlab.campaign.session import ToolCall
from slowlab.campaign.settlement import CampaignStatus
from slowlab.campaign.wire import (
    FORMAT,
    Answer,
    Conversation,
    Operation,
    Refusal,
    Request,
    answer_to,
    farewell,
    greeting,
)
from slowlab.canonical import canonical_json
from slowlab.config import ConfigModel
from slowlab.methods._base import Campaign, Method, MethodError
from slowlab.tools.artifacts import ArtifactFolder

_EXIT_PATIENCE_S = 5.0


class ExternalEnding(StrEnum):
    """How a program ended.

    ``closed``: it said so. ``crashed``: it ended by a signal or with an exit code other than 0.
    ``timed_out``: it thought longer than its limit. ``protocol_error``: it broke the rules of the
    wire so that the connection was ended. ``went_away``: it ended, or closed its output, without
    saying so.
    """

    CLOSED = "closed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    PROTOCOL_ERROR = "protocol_error"
    WENT_AWAY = "went_away"


class ExternalSettings(ConfigModel):
    """How a program is started."""

    command: tuple[str, ...] = Field(
        min_length=1, description="Program and arguments; python stands for SlowLab's own."
    )
    time_limit_s: float = Field(
        default=60.0, gt=0, le=86_400, description="Longest thinking time for one request, s."
    )


class ExternalMethod(Method):
    """A method that is a program; its generator returns an :class:`ExternalEnding`.

    Attributes:
        log: private file for its standard error; None drops it.
    """

    Settings = ExternalSettings
    settings: ExternalSettings

    def __init__(
        self, settings: ConfigModel, artifacts: ArtifactFolder, log: Path | None = None
    ) -> None:
        super().__init__(settings, artifacts)
        self.log = log

    def play(
        self, campaign: Campaign, rng: np.random.Generator
    ) -> Generator[Any, Reply, ExternalEnding]:
        """Start the program and pass on what it asks for.

        Raises:
            OSError: it cannot be started.
        """
        seed = str(int(rng.integers(2**63)))
        process = AgentProcess.start(
            self.settings.command,
            variables={"SLOWLAB_WIRE": FORMAT, "SLOWLAB_SEED": seed},
            log=self.log,
        )
        ending = None
        try:
            ending = yield from _converse(process, campaign, self.settings.time_limit_s)
        finally:
            process.stop(gently=ending is ExternalEnding.CLOSED)
        return ending


def build_external(
    command: Sequence[str],
    time_limit_s: float,
    artifacts: ArtifactFolder,
    log: Path | None = None,
) -> ExternalMethod:
    """A method for a command of a study file.

    Args:
        command: program and arguments.
        time_limit_s: longest thinking time for one request, s.
        artifacts: not used by programs, but part of every method.
        log: private file for its standard error; None drops it.

    Raises:
        MethodError: there is no such program.
    """
    program = command[0]
    if program != "python" and shutil.which(program) is None:
        raise MethodError(f"command {program!r}: no such program")
    settings = ExternalSettings(command=tuple(command), time_limit_s=time_limit_s)
    return ExternalMethod(settings, artifacts, log)


def _converse(
    process: AgentProcess, campaign: Campaign, time_limit_s: float
) -> Generator[Any, Reply, ExternalEnding]:
    """Answer requests until the program has ended or must be ended."""
    conversation = Conversation()
    try:
        while True:
            deadline = time.monotonic() + time_limit_s
            line = process.receive(deadline)
            if line is None:
                return _silent_ending(process)
            taken = conversation.take(line)
            if isinstance(taken, Request):
                answer = answer_to(taken.id, (yield from _reply(taken, campaign)))
            else:
                answer = taken.answer
            if isinstance(taken, Request) and taken.operation is Operation.CLOSE:
                _say_farewell(process, answer, time_limit_s)
                return ExternalEnding.CLOSED
            process.send(answer.line, time.monotonic() + time_limit_s)
            if isinstance(taken, Refusal) and answer.ends is not None:
                return ExternalEnding.PROTOCOL_ERROR
    except AgentTimeout:
        return ExternalEnding.TIMED_OUT
    except AgentGone:
        return _silent_ending(process)


def _say_farewell(process: AgentProcess, answer: Answer, time_limit_s: float) -> None:
    """Send the last reply, which a program need not wait for."""
    with contextlib.suppress(AgentGone, AgentTimeout):
        process.send(answer.line, time.monotonic() + time_limit_s)


def _silent_ending(process: AgentProcess) -> ExternalEnding:
    """How a program ended that has closed a pipe."""
    code = process.await_exit(_EXIT_PATIENCE_S)
    return ExternalEnding.CRASHED if code else ExternalEnding.WENT_AWAY


def _reply(request: Request, campaign: Campaign) -> Generator[Any, Reply, Reply]:
    """Answer one request; what concerns the campaign itself is yielded."""
    if request.operation is Operation.HELLO:
        return greeting(campaign.task)
    if request.operation is Operation.CLOSE:
        return _farewell(campaign)
    return (yield _item(request))


def _item(request: Request) -> Mapping[str, Any] | ToolCall | str:
    """What is yielded for a request: JSON text where the action is no object."""
    if request.call is not None:
        return request.call
    if isinstance(request.action, dict):
        return request.action
    return canonical_json(request.action)


def _farewell(campaign: Campaign) -> Reply:
    """How the campaign will be settled, as far as it is public."""
    history = campaign.history
    over = history.day == campaign.calendar["campaign_days"]
    status = CampaignStatus.FINISHED if over else CampaignStatus.CLOSED
    told = [
        exchange.reply["result"]["recommendation"]
        for exchange in history.exchanges
        if exchange.reply["ok"] and "recommendation" in exchange.reply["result"]
    ]
    counts = bool(told) and told[-1] == "accepted"
    return farewell(status, history.day, recommendation_counts=counts)
