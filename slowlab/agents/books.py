"""The books of a purse: what was reserved, spent and lost sight of, and what caps still allow.

Pure bookkeeping without any file. Money is counted in whole units of 1e-9 USD, so that sums do not
depend on the order of parallel jobs; a reservation is rounded up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Any

from pydantic import Field

from slowlab.agents.outages import CapReachedError
from slowlab.agents.prices import Cost
from slowlab.config import ConfigModel

_UNITS = 10**9


class Caps(ConfigModel):
    """What language models may cost in all; null is no cap."""

    usd: float | None = Field(default=None, ge=0, description="Most money, USD.")
    calls: int | None = Field(default=None, ge=0, description="Most attempts of calls.")
    characters: int | None = Field(default=None, ge=0, description="Most characters of prompts.")


class UnknownPriceError(CapReachedError):
    """A call of unknown price under a cap in USD; nothing was sent."""


class BooksError(ValueError):
    """An entry that does not fit the books."""


@dataclass(frozen=True)
class Amount:
    """What an attempt uses at most.

    Attributes:
        usd: USD; None where its price is unknown.
        calls: attempts.
        characters: characters of the prompt.
    """

    usd: float | None
    calls: int
    characters: int


@dataclass(frozen=True)
class PurseTotals:
    """What all jobs have used so far.

    Attributes:
        spent_usd: known costs, USD.
        unknown_calls: attempts whose cost is unknown, though they may have been billed.
        unknown_usd: most that those can have cost, USD; None where no price is known for some.
        reserved_calls: attempts under way, or interrupted.
        reserved_usd: most that those can cost, USD; None where no price is known for some.
        calls: all attempts.
        characters: characters of all their prompts.
    """

    spent_usd: float
    unknown_calls: int
    unknown_usd: float | None
    reserved_calls: int
    reserved_usd: float | None
    calls: int
    characters: int

    def sentence(self) -> str:
        """The totals in words; an unknown cost is called unknown."""
        parts = [f"USD {self.spent_usd:.4f} spent"]
        if self.unknown_calls:
            parts.append(
                f"{self.unknown_calls:,} calls of unknown cost{_at_most(self.unknown_usd)}"
            )
        if self.reserved_calls:
            parts.append(f"{self.reserved_calls:,} under way{_at_most(self.reserved_usd)}")
        parts.append(f"{self.calls:,} calls and {self.characters:,} characters in all")
        return ", ".join(parts)


class Event(StrEnum):
    """What an entry says.

    ``reserve``: an attempt is about to be made. ``resend``: it is made again, because nobody knows
    what became of it. ``settle``: its cost is known, or known to stay unknown.
    """

    RESERVE = "reserve"
    RESEND = "resend"
    SETTLE = "settle"


@dataclass(frozen=True)
class _Sum:
    """A number of attempts and what they cost at most.

    Attributes:
        calls: attempts.
        units: bound of their cost, of those with a price.
        unpriced: attempts without a price.
    """

    calls: int = 0
    units: int = 0
    unpriced: int = 0

    def plus(self, worst: int | None, calls: int) -> _Sum:
        """With attempts added, or taken away where the number is negative."""
        if worst is None:
            return replace(self, calls=self.calls + calls, unpriced=self.unpriced + calls)
        sign = 1 if calls > 0 else -1
        return replace(self, calls=self.calls + calls, units=self.units + sign * worst)

    @property
    def usd(self) -> float | None:
        """The bound, USD, or None."""
        return None if self.unpriced else self.units / _UNITS


@dataclass
class _Line:
    """One key in the books."""

    worst: int | None
    amount: Amount
    open: bool = True


class Books:
    """All keys and their sums."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}
        self._spent = 0
        self._unknown = _Sum()
        self._reserved = _Sum()
        self._calls = 0
        self._characters = 0

    def is_known(self, key: str) -> bool:
        """Whether anything was booked under a key."""
        return key in self._lines

    def is_open(self, key: str) -> bool:
        """Whether a key is reserved and not settled."""
        return key in self._lines and self._lines[key].open

    def totals(self) -> PurseTotals:
        """All sums."""
        return PurseTotals(
            spent_usd=self._spent / _UNITS,
            unknown_calls=self._unknown.calls,
            unknown_usd=self._unknown.usd,
            reserved_calls=self._reserved.calls,
            reserved_usd=self._reserved.usd,
            calls=self._calls,
            characters=self._characters,
        )

    def check(self, worst: Amount, caps: Caps) -> None:
        """Make sure that one more attempt stays within the caps.

        Raises:
            UnknownPriceError: its price is unknown and there is a cap in USD.
            CapReachedError: it might pass a cap.
        """
        used = {"calls": self._calls, "characters": self._characters}
        for name, booked in used.items():
            cap, more = getattr(caps, name), getattr(worst, name)
            if cap is not None and booked + more > cap:
                raise CapReachedError(
                    f"the cap of {cap:,} {name} is reached: {booked:,} are used, the next call "
                    f"takes {more:,}"
                )
        if caps.usd is None:
            return
        if worst.usd is None or self._unknown.unpriced or self._reserved.unpriced:
            whose = "the model" if worst.usd is None else "a model that was asked before"
            raise UnknownPriceError(
                f"the price of {whose} is unknown, so a cap in USD cannot be kept: give its "
                "price, or free: true, in models.yaml, or take the cap away"
            )
        committed = self._spent + self._unknown.units + self._reserved.units
        if committed + _units_up(worst.usd) > _units_up(caps.usd):
            raise CapReachedError(
                f"the cap of USD {caps.usd:g} is reached: USD {committed / _UNITS:.6f} are spent, "
                f"reserved or of unknown fate, the next call may cost USD {worst.usd:.6f}"
            )

    def enter(self, entry: Mapping[str, Any]) -> None:
        """Book one entry; what was booked before changes nothing.

        Raises:
            BooksError: it is no entry, or one that cannot follow the others.
        """
        try:
            event, key = Event(entry["event"]), entry["key"]
            if event is Event.RESERVE:
                self._reserve(key, Amount(entry["usd"], entry["calls"], entry["characters"]))
            elif event is Event.RESEND:
                self._resend(key)
            else:
                self._settle(key, entry["usd"])
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise BooksError(f"no entry of a purse: {error}") from None

    def _reserve(self, key: str, worst: Amount) -> None:
        if self.is_known(key):
            return
        units = None if worst.usd is None else _units_up(worst.usd)
        self._lines[key] = _Line(units, worst)
        self._send(self._lines[key])

    def _resend(self, key: str) -> None:
        """The attempt of before may have been billed; nobody will ever tell how much."""
        line = self._lines[key]
        if line.open:
            self._reserved = self._reserved.plus(line.worst, -line.amount.calls)
            self._unknown = self._unknown.plus(line.worst, line.amount.calls)
        line.open = True
        self._send(line)

    def _send(self, line: _Line) -> None:
        self._reserved = self._reserved.plus(line.worst, line.amount.calls)
        self._calls += line.amount.calls
        self._characters += line.amount.characters

    def _settle(self, key: str, usd: float | None) -> None:
        if self.is_known(key) and not self.is_open(key):
            return
        if not self.is_known(key):  # the purse was removed since: the cost is booked all the same
            self._reserve(key, Amount(usd, 1, 0))
        line = self._lines[key]
        line.open = False
        self._reserved = self._reserved.plus(line.worst, -line.amount.calls)
        if usd is None:
            self._unknown = self._unknown.plus(line.worst, line.amount.calls)
        else:
            self._spent += _units_up(usd)


def reserve_entry(key: str, worst: Amount) -> dict[str, Any]:
    """The entry of an attempt that is about to be made."""
    amounts = {"usd": worst.usd, "calls": worst.calls, "characters": worst.characters}
    return {"event": Event.RESERVE.value, "key": key, **amounts}


def resend_entry(key: str) -> dict[str, Any]:
    """The entry of an attempt that is made again."""
    return {"event": Event.RESEND.value, "key": key}


def settle_entry(key: str, cost: Cost) -> dict[str, Any]:
    """The entry of a cost."""
    return {"event": Event.SETTLE.value, "key": key, "usd": cost.usd, "source": cost.source.value}


def _units_up(usd: float) -> int:
    """USD in whole units, rounded up; exact for what a person writes."""
    if usd < 0:
        raise ValueError("a cost below 0")
    return int((Decimal(repr(usd)) * _UNITS).to_integral_value(ROUND_CEILING))


def _at_most(usd: float | None) -> str:
    return " (no bound: price unknown)" if usd is None else f" (at most USD {usd:.4f})"
