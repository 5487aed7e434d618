"""The one kind of error of the preregistration."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 10


class LockError(ValueError):
    """Something does not fit the lock, or cannot be locked; the message names every file."""


def refuse(what: str, problems: Sequence[str]) -> None:
    """Raise a :class:`LockError` that lists problems, one a line, if there are any.

    Args:
        what: first line of the message.
        problems: whole sentences.

    Raises:
        LockError: there is at least one problem.
    """
    if not problems:
        return
    shown = [f"  {problem}" for problem in problems[:_SHOWN]]
    more = [f"  and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
    raise LockError("\n".join([what, *shown, *more]))
