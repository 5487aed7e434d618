"""Progress of long jobs as lines on standard error, a few for each job."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from slowlab.campaign.pool import PoolProgress

_STEP = 0.25


@dataclass
class PoolReporter:
    """Says how far the campaigns of a job are, at every quarter.

    Attributes:
        name: what is run.
        ticks: length of one campaign.
        said: share that was last said.
    """

    name: str
    ticks: int
    said: float = 0.0

    def __call__(self, progress: PoolProgress) -> None:
        """Take where the pool stands."""
        share = progress.ticks / (self.ticks * progress.campaigns)
        if share >= self.said + _STEP:
            self.said = share
            print(f"{self.name}: {share:.0%} of {progress.campaigns} campaigns", file=sys.stderr)


@dataclass
class LaneReporter:
    """Says how far an evaluation is, at every quarter.

    Attributes:
        name: what is scored.
        said: share that was last said.
    """

    name: str
    said: float = 0.0

    def __call__(self, done: int, total: int) -> None:
        """Take the lane-days done and to do."""
        if total and done / total >= self.said + _STEP:
            self.said = done / total
            print(f"{self.name}: {done / total:.0%} of {total:,} compartment-days", file=sys.stderr)
