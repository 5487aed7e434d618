"""A session: one campaign behind its journal. Every request and every reply passes through here.

A request is recorded before it is carried out and its reply before anybody sees it. What time costs
is split in two, :meth:`Session.begin` and :meth:`Session.finish`, so that many campaigns can be
stepped together between them.

A fault of the machinery (an exception in the executor or in stepping, a journal that cannot be
written, a resumed campaign that takes another course) freezes the session: the cause is kept
privately as a :class:`Failure`, and the agent gets an infrastructure failure that says nothing
about it. Such a reply is not recorded, so the campaign can be resumed from its journal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from slowlab.campaign.actions import plain_data, read_payload
from slowlab.campaign.errors import FROZEN, ActionRejected, ErrorInfo, ErrorKind, Reason, Reply
from slowlab.campaign.journal_format import JournalError, JournalFault, RecordKind
from slowlab.canonical import JsonLimits, canonical_json, loads_strict

if TYPE_CHECKING:
    from slowlab.campaign.executor import Executor, PendingAdvance
    from slowlab.campaign.settlement import Settlement
    from slowlab.world.facility import Facility
    from slowlab.world.simulator import Simulator
    from slowlab.world.task import Feedback

REQUEST_LIMIT = 10_000
"""Requests that a session takes. Far above every budget: it ends an agent that repeats for ever
what costs nothing, such as unknown actions."""

TOOL_CALL_LIMITS = JsonLimits(max_depth=32, max_number_chars=400)
"""Size, depth and number length of a tool call as plain data."""

DayProgress = Callable[[int, int], None]
"""Called while campaigns are stepped, with the days done and the days to do."""

_log = logging.getLogger(__name__)


class Recorder(Protocol):
    """Where records go: a journal, a comparison with one, or nowhere."""

    def put(self, kind: RecordKind, payload: Any) -> None:
        """Take a record."""

    def close(self) -> None:
        """Let go of the file."""


class Stepping(Protocol):
    """What lets time pass for campaigns of one kind, all at once.

    Attributes:
        group: campaigns with the same number may be stepped together.
        campaigns_at_once: as many cost no more than one.
    """

    group: int
    campaigns_at_once: int

    def advance(
        self, requests: Sequence[tuple[Facility, int]], on_day: DayProgress | None = None
    ) -> None:
        """Step every facility to its own tick."""


class SimulatorStepping:
    """Steps the facilities of one simulator."""

    def __init__(self, simulator: Simulator) -> None:
        self.group = id(simulator)
        compartments = simulator.contract.facility.compartments
        self.campaigns_at_once = max(1, simulator.stepper.width // compartments)
        self._simulator = simulator

    def advance(
        self, requests: Sequence[tuple[Facility, int]], on_day: DayProgress | None = None
    ) -> None:
        """Step every facility to its own tick."""
        from slowlab.world.facility import advance_together

        advance_together(self._simulator, requests, on_day)


class NoRecorder:
    """Keeps nothing."""

    def put(self, kind: RecordKind, payload: Any) -> None:
        """Forget the record."""

    def close(self) -> None:
        """Do nothing."""


class FailureKind(StrEnum):
    """Why a session is frozen.

    ``facility``: the executor reported it, for example a state that is not finite. ``executor`` and
    ``stepping``: an exception. ``journal``: a record could not be kept. ``diverged``: a resumed
    campaign took another course than its journal. ``time_limit``: a method took too long.
    ``model_outage``: a language model could not be had. ``firewall``: a prompt would have held what
    must stay hidden. ``spending_cap``: the next call could have cost more than is allowed.
    """

    FACILITY = "facility"
    EXECUTOR = "executor"
    STEPPING = "stepping"
    JOURNAL = "journal"
    DIVERGED = "diverged"
    TIME_LIMIT = "time_limit"
    MODEL_OUTAGE = "model_outage"
    FIREWALL = "firewall"
    SPENDING_CAP = "spending_cap"


@dataclass(frozen=True)
class Failure:
    """Why a session is frozen. Private: the detail may hold anything.

    Attributes:
        kind: the cause.
        detail: the cause in words.
    """

    kind: FailureKind
    detail: str


@dataclass(frozen=True)
class ToolCall:
    """The use of an analysis tool, which costs no time and no call.

    Attributes:
        name: the tool.
        arguments: its arguments, plain data.
    """

    name: str
    arguments: Mapping[str, Any]

    def payload(self) -> dict[str, Any]:
        """Plain data for the journal."""
        return {"tool": self.name, "arguments": dict(self.arguments)}


ToolHandler = Callable[[ToolCall], Reply]
"""Answers tool calls of one campaign."""


class Session:
    """One campaign behind its journal; see the module.

    Args:
        executor: answers the actions.
        recorder: takes the records; by default nothing is kept.
        stepping: lets time pass; by default the facility's simulator.

    Attributes:
        failure: why the session is frozen, or None.
        pending: the advance that waits for time, or None.
        requests: number of actions so far.
    """

    def __init__(
        self,
        executor: Executor,
        recorder: Recorder | None = None,
        stepping: Stepping | None = None,
    ) -> None:
        self.executor = executor
        self.facility = executor.facility
        self.recorder: Recorder = recorder if recorder is not None else NoRecorder()
        self.stepping = stepping or SimulatorStepping(self.facility.simulator)
        self.failure: Failure | None = None
        self.pending: PendingAdvance | None = None
        self.requests = 0

    @property
    def exhausted(self) -> bool:
        """Whether the session has taken as many requests as it takes."""
        return self.requests >= REQUEST_LIMIT

    def task(self) -> dict[str, Any]:
        """The public task description."""
        return self.executor.task()

    def begin(self, payload: object) -> Reply | PendingAdvance:
        """Take one action and answer it, unless it lets time pass.

        Args:
            payload: plain data, or JSON as text or UTF-8 bytes.

        Returns:
            The reply, or the advance that :meth:`finish` answers once the facility has been stepped
            to its ``target_tick``.
        """
        if self.pending is not None:
            raise RuntimeError("the last advance is not finished yet")
        if self.failure is not None:
            return FROZEN
        with self._guarded(FailureKind.EXECUTOR):
            self.requests += 1
            outcome = self._carry_out(payload)
            self.pending = None if isinstance(outcome, Reply) else outcome
            return outcome
        return FROZEN

    def finish(self) -> Reply:
        """Answer the pending advance, after the facility has been stepped."""
        if self.failure is not None:
            self.pending = None
            return FROZEN
        if self.pending is None:
            raise RuntimeError("there is no advance to finish")
        self.pending = None
        with self._guarded(FailureKind.EXECUTOR):
            return self._answer(self.executor.finish())
        return FROZEN

    def dispatch(self, payload: object, on_day: DayProgress | None = None) -> Reply:
        """Take one action, let time pass where it asks for it, and answer."""
        outcome = self.begin(payload)
        if isinstance(outcome, Reply):
            return outcome
        with self._guarded(FailureKind.STEPPING):
            self.stepping.advance([(self.facility, outcome.target_tick)], on_day)
        return self.finish()

    def refuse(self, content: Mapping[str, Any], reply: Mapping[str, Any]) -> bool:
        """Record something that is no action at all, and what was answered.

        Args:
            content: what is kept of it: never the text itself.
            reply: the answer.

        Returns:
            Whether the session is sound.
        """
        with self._guarded(FailureKind.JOURNAL):
            self.requests += 1
            self.recorder.put(RecordKind.REFUSED, {**content, "reply": dict(reply)})
        return self.failure is None

    def repeat_malformed(self) -> None:
        """Let the executor count a recorded action that was no acceptable JSON."""
        with self._guarded(FailureKind.EXECUTOR):
            self.executor.begin("")

    def use_tool(self, call: ToolCall, handler: ToolHandler) -> Reply:
        """Record the use of a tool and its answer.

        A call that is no plain data is the caller's mistake. It is refused before it reaches the
        tools, and only the refusal is recorded.
        """
        if self.failure is not None:
            return FROZEN
        try:
            payload = _recordable(call)
        except ActionRejected as problem:
            error = ErrorInfo(ErrorKind.INVALID_ACTION, problem.reason, problem.message)
            reply = Reply.failure(error)
            sound = self.refuse({"fault": "tool_call"}, reply.payload())
            return reply if sound else FROZEN
        with self._guarded(FailureKind.EXECUTOR):
            self.requests += 1
            self.recorder.put(RecordKind.TOOL_REQUEST, payload)
            reply = handler(call)
            self.recorder.put(RecordKind.TOOL_REPLY, reply.payload())
            return reply
        return FROZEN

    def freeze_initial_recommendation(self, raw: object) -> str | None:
        """Take the recommendation from before the experiments as the fallback.

        Args:
            raw: a policy as the agent gave it.

        Returns:
            What is wrong with it, in which case the fallback stays as it was; None if it was taken
            or the session is frozen.
        """
        if self.failure is None:
            with self._guarded(FailureKind.EXECUTOR):
                text = canonical_text({"policy": raw})
                policy = None if text is None else loads_strict(text)["policy"]
                self.recorder.put(RecordKind.INITIAL, {"policy": policy})
                return self.executor.freeze_initial_recommendation(policy)
        return None

    def assign_feedback(self, feedback: Feedback) -> bool:
        """Tell the feedback mode after the day-0 design; whether that worked."""
        if self.failure is None:
            with self._guarded(FailureKind.EXECUTOR):
                self.recorder.put(RecordKind.ASSIGNMENT, {"feedback": feedback.value})
                self.executor.assign_feedback(feedback)
        return self.failure is None

    def settle(self) -> Settlement | None:
        """End the campaign and record its settlement.

        A failure that the executor itself reported is settled too, without a policy. Returns None
        where the session is frozen for another reason: then it can be resumed.
        """
        if self.failure is None or self.failure.kind is FailureKind.FACILITY:
            with self._guarded(FailureKind.EXECUTOR):
                settlement = self.executor.settle()
                self.recorder.put(RecordKind.SETTLEMENT, settlement.payload())
                return settlement
        return None

    def fail(self, kind: FailureKind, detail: str) -> None:
        """Freeze the session; the first cause is kept."""
        if self.failure is None:
            self.failure = Failure(kind, detail)

    def close(self) -> None:
        """Let go of the journal."""
        self.recorder.close()

    def _carry_out(self, payload: object) -> Reply | PendingAdvance:
        """Record the action in its one written form, and begin it."""
        text = canonical_text(payload)
        if text is None:  # changes nothing, so that one record of it and its reply will do
            reply = self.executor.begin(payload)
            content = {"reason": Reason.MALFORMED.value, "reply": reply.payload()}
            self.recorder.put(RecordKind.REFUSED, content)
            return reply
        self.recorder.put(RecordKind.REQUEST, loads_strict(text))
        outcome = self.executor.begin(text)
        return self._answer(outcome) if isinstance(outcome, Reply) else outcome

    def _answer(self, reply: Reply) -> Reply:
        self.recorder.put(RecordKind.REPLY, reply.payload())
        if reply.error is not None and reply.error.kind is ErrorKind.INFRASTRUCTURE_FAILURE:
            self.fail(FailureKind.FACILITY, "the executor reported an infrastructure failure")
        return reply

    @contextmanager
    def _guarded(self, kind: FailureKind) -> Iterator[None]:
        """Freeze the session instead of raising."""
        try:
            yield
        except JournalError as error:
            diverged = error.fault is JournalFault.MISMATCH
            self.fail(FailureKind.DIVERGED if diverged else FailureKind.JOURNAL, str(error))
            _log.error("session frozen: %s", error)
        except Exception as error:
            self.fail(kind, repr(error))
            _log.exception("session frozen")


def _recordable(call: ToolCall) -> dict[str, Any]:
    """A tool call as plain data; raises ActionRejected where it is none."""
    message = "a tool call has a text as its name and an object as its arguments"
    if isinstance(call.name, str) and isinstance(call.arguments, Mapping):
        try:
            payload = call.payload()
            plain_data(payload, TOOL_CALL_LIMITS)
            return payload
        except ActionRejected:
            raise
        except Exception:  # whatever a mapping of the method's own raises
            message = "the arguments of a tool call cannot be read"
    raise ActionRejected(Reason.MALFORMED, message, charged=False)


def canonical_text(payload: object) -> str | None:
    """The one written form of an action, or None for what is not acceptable JSON.

    Args:
        payload: plain data, or JSON as text or UTF-8 bytes.
    """
    try:
        read_payload(payload)
    except ActionRejected as rejected:
        if rejected.reason is Reason.MALFORMED:
            return None
    return canonical_json(loads_strict(payload) if isinstance(payload, str | bytes) else payload)
