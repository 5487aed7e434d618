"""A conversation with a language model, of which nothing is lost and nothing is paid for twice.

The order of every call is: firewall, record of the call, record of the attempt, reservation in the
purse, request, record of the answer, its cost in the purse. Each step is durable before the next
one. A process killed anywhere between two of them goes on after a restart from what is recorded:
an answer is taken from the transcript; an attempt without an answer is made again under its key
where the endpoint honours keys, and otherwise the purse books what it may have cost as unknown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from slowlab.agents.attempts import (
    CallAttempts,
    failure_payload,
    recorded_cost,
    reply_payload,
)
from slowlab.agents.client import AttemptFailedError, ModelClient
from slowlab.agents.firewall import Firewall, FirewallError
from slowlab.agents.messages import ModelCall, ModelReply, Stage
from slowlab.agents.models import ModelConfig
from slowlab.agents.outages import AttemptFault, OutageError
from slowlab.agents.prices import Cost
from slowlab.agents.purse import Amount, Purse
from slowlab.agents.timing import AttemptTimes
from slowlab.agents.transcript import Transcript
from slowlab.agents.transcript_format import BLOCKED, TranscriptKind, call_payload, timing_path

_USABLE = (AttemptFault.LENGTH_STOP, AttemptFault.EMPTY)
"""Faults after which, in the end, what came is used as it is."""


class Dialogue:
    """One conversation; see the module. For one thread at a time.

    Args:
        transcript: where everything is recorded; closed with the dialogue.
        model: the model that is asked.
        client: asks it; stays open.
        purse: what may be spent; stays open.
        firewall: checks every prompt.
        sleep: waits between attempts, s.
    """

    def __init__(
        self,
        transcript: Transcript,
        model: ModelConfig,
        client: ModelClient,
        purse: Purse,
        firewall: Firewall,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._transcript = transcript
        self._model = model
        self._client = client
        self._purse = purse
        self._firewall = firewall
        self._sleep = sleep
        self._times = AttemptTimes(timing_path(transcript.path))

    def ask(self, stage: Stage, call: ModelCall) -> ModelReply:
        """Ask the model, or take the answer that is recorded.

        Args:
            stage: where in the campaign the call is made.
            call: the question.

        Raises:
            FirewallError: the prompt must not be sent; nothing was.
            CapReachedError: the call could cost more than is allowed; nothing was sent.
            OutageError: no answer could be had.
            JournalError: the transcript could not be written.
            PurseError, OSError: the purse cannot be used.
        """
        self._check(call)
        payload = call_payload(stage, call, self._transcript.texts)
        record = self._transcript.put(TranscriptKind.CALL, payload)
        attempts = CallAttempts(record.digest, self._model.idempotency)
        reply = self._follow(attempts)
        while reply is None:
            reply = self._attempt(call, attempts)
        return reply

    def note(self, kind: TranscriptKind, payload: Mapping[str, Any]) -> None:
        """Record something that is no call.

        Args:
            kind: what it is.
            payload: plain data.

        Raises:
            JournalError: the transcript could not be written.
        """
        self._transcript.put(kind, payload)

    def close(self) -> None:
        """Close the transcript."""
        self._transcript.close()

    def _check(self, call: ModelCall) -> None:
        try:
            self._firewall.check_call(call)
        except FirewallError as error:
            self.note(TranscriptKind.FLAG, {"flag": BLOCKED, "detail": str(error)})
            raise

    def _follow(self, attempts: CallAttempts) -> ModelReply | None:
        """Go through the recorded attempts of a call; the answer, if there is one."""
        transcript = self._transcript
        while (record := transcript.expected) is not None:
            if record.kind is TranscriptKind.ATTEMPT and not attempts.under_way:
                attempts.follow(transcript.take().payload)
            elif record.kind is TranscriptKind.REPLY and attempts.under_way:
                self._purse.settle(attempts.key, recorded_cost(transcript.take().payload))
                return ModelReply.from_payload(record.payload["reply"])
            elif record.kind is TranscriptKind.FAILED_ATTEMPT and attempts.under_way:
                self._close_attempt(attempts, transcript.take().payload)
            else:
                transcript.set_aside(f"a {record.kind} is recorded where an attempt belongs")
        return None

    def _attempt(self, call: ModelCall, attempts: CallAttempts) -> ModelReply | None:
        """Ask once, or once more; None where it is to be tried again."""
        if not attempts.under_way:
            self._transcript.put(TranscriptKind.ATTEMPT, attempts.begin())
        self._reserve(call, attempts.key)
        came = self._send(call, attempts)
        if isinstance(came, AttemptFailedError):
            return self._handle(came, attempts)
        return self._answer(attempts, came, self._model.cost(came.usage))

    def _send(self, call: ModelCall, attempts: CallAttempts) -> ModelReply | AttemptFailedError:
        """Ask once; the answer, or why there is none."""
        with self._times.attempt(attempts) as outcome:
            try:
                reply = self._client.send(call, attempts.key)
            except AttemptFailedError as error:
                outcome.text = error.fault.value
                return error
            outcome.text = "reply"
            return reply

    def _reserve(self, call: ModelCall, key: str) -> None:
        """Book the worst case; where keys are not honoured, every sending may be billed anew."""
        worst = Amount(self._model.worst_case_usd(call), 1, call.characters)
        book = self._purse.reserve if self._model.idempotency else self._purse.resend
        book(key, worst)

    def _answer(
        self,
        attempts: CallAttempts,
        reply: ModelReply,
        cost: Cost,
        used_although: AttemptFault | None = None,
    ) -> ModelReply:
        """Record an answer, and only then its cost."""
        payload = reply_payload(attempts.number, reply, cost, used_although)
        self._transcript.put(TranscriptKind.REPLY, payload)
        self._purse.settle(attempts.key, cost)
        return reply

    def _handle(self, error: AttemptFailedError, attempts: CallAttempts) -> ModelReply | None:
        """Record a failure and wait; or use what came although it failed; or give up."""
        fault, cost = error.fault, error.cost(self._model)
        wait_s = self._model.retries.next_wait_s(fault, attempts.faults, error.retry_after_s)
        if wait_s is None and error.reply is not None and fault in _USABLE:
            return self._answer(attempts, error.reply, cost, used_although=fault)
        payload = failure_payload(attempts.number, fault, error.detail, error.reply, cost)
        self._transcript.put(TranscriptKind.FAILED_ATTEMPT, payload)
        self._close_attempt(attempts, payload)
        attempts.faults.append(fault)
        if wait_s is None:
            raise OutageError(
                f"{self._model.name} gave no answer in {len(attempts.faults)} attempt(s); the last "
                f"failed: {error}"
            )
        self._sleep(wait_s)
        return None

    def _close_attempt(self, attempts: CallAttempts, failure: Mapping[str, Any]) -> None:
        """Book the cost of a failed attempt, unless its key is used again."""
        key = attempts.key
        if attempts.fail(failure):
            self._purse.settle(key, recorded_cost(failure))
