"""When a failed attempt is made again, and after how long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from slowlab.agents.outages import AttemptFault
from slowlab.config import ConfigModel

_AT_ONCE = frozenset({AttemptFault.TIMED_OUT, AttemptFault.LENGTH_STOP, AttemptFault.EMPTY})


class RetryPolicy(ConfigModel):
    """Attempts and waits of one call.

    What may pass by itself (429, 5xx, lost connections, cut and garbled answers) is tried again
    after a wait, a time-out at once, a request that was refused never. An answer without use, or
    from somewhere else than expected, is tried again a little.

    Source: SlowLab, harness, for five attempts and the waits.
    """

    attempts: int = Field(default=5, ge=1, le=20, description="Most attempts of one call.")
    waits_s: tuple[Annotated[float, Field(ge=0, le=3_600)], ...] = Field(
        default=(2.0, 4.0, 8.0, 16.0, 32.0),
        min_length=1,
        max_length=20,
        description="Wait after the first, second, ... failure, s; the last one repeats.",
    )
    retry_after_cap_s: float = Field(
        default=120.0,
        ge=0,
        le=3_600,
        description="Longest wait that an endpoint may ask for with Retry-After, s.",
    )
    length_stops: int = Field(
        default=1, ge=0, le=2, description="Further attempts after an answer was cut by its limit."
    )
    empty_answers: int = Field(
        default=1, ge=0, le=2, description="Further attempts after an empty answer."
    )
    wrong_servers: int = Field(
        default=1,
        ge=0,
        le=2,
        description="Further attempts after another model or provider answered.",
    )

    def next_wait_s(
        self,
        fault: AttemptFault,
        earlier: Sequence[AttemptFault],
        retry_after_s: float | None = None,
    ) -> float | None:
        """How long to wait before the next attempt.

        Args:
            fault: why the latest attempt failed.
            earlier: why the attempts of the same call before it failed, without the latest.
            retry_after_s: wait that the endpoint asks for, s.

        Returns:
            The wait, s; None: give up.
        """
        if fault is AttemptFault.REFUSED or len(earlier) + 1 >= self.attempts:
            return None
        if list(earlier).count(fault) >= self._again(fault):
            return None
        if fault in _AT_ONCE:
            return 0.0
        wait = self.waits_s[min(len(earlier), len(self.waits_s) - 1)]
        return max(wait, min(retry_after_s or 0.0, self.retry_after_cap_s))

    def _again(self, fault: AttemptFault) -> int:
        """Most further attempts after a kind of fault."""
        limits = {
            AttemptFault.LENGTH_STOP: self.length_stops,
            AttemptFault.EMPTY: self.empty_answers,
            AttemptFault.WRONG_MODEL: self.wrong_servers,
            AttemptFault.WRONG_PROVIDER: self.wrong_servers,
        }
        return limits.get(fault, self.attempts)
