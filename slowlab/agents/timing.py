"""When attempts were made and how long they took: a file beside the transcript, for people.

Nothing is read back from it and no result depends on it, so it is written as well as it goes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from slowlab.agents.attempts import CallAttempts

_UNKNOWN = "interrupted"


@dataclass
class Outcome:
    """How an attempt ended: ``reply``, a fault, or ``interrupted``."""

    text: str = _UNKNOWN


class AttemptTimes:
    """Appends a line for every attempt.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def attempt(self, attempts: CallAttempts) -> Iterator[Outcome]:
        """Time what happens in the block.

        Yields:
            Where the block says how the attempt ended.
        """
        outcome, began = Outcome(), datetime.now(UTC)
        clock = time.monotonic()
        try:
            yield outcome
        finally:
            line = {
                "key": attempts.key,
                "number": attempts.number,
                "began": began.isoformat(timespec="milliseconds"),
                "seconds": round(time.monotonic() - clock, 3),
                "outcome": outcome.text,
            }
            self._append(json.dumps(line) + "\n")

    def _append(self, line: str) -> None:
        with suppress(OSError), self.path.open("a", encoding="utf-8") as file:
            file.write(line)
