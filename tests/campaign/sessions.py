"""What the tests of sessions share: stepping of fakes, scripts, and campaigns on a short task."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from slowlab.campaign.journal import Journal
from slowlab.campaign.journal_format import Head, RecordKind, head_path, read_bytes
from slowlab.campaign.opening import CampaignSpec, Opener
from slowlab.campaign.pool import Steps
from slowlab.campaign.session import Session
from slowlab.config import config_sha256
from slowlab.world.contract import load_contract
from slowlab.world.partitions import load_partitions
from slowlab.world.sensors import load_sensors
from slowlab.world.site_distribution import load_sites
from slowlab.world.task import Feedback
from slowlab.world.weather_source import WeatherSource
from tests.simulations import short_contract, short_simulator

POLICY = load_contract().fixed_reference.model_dump()
HEADER = {"format": "fake"}
END = 365
"""Last day of a campaign."""


class FakeStepping:
    """Steps fake facilities, and remembers how many came together.

    Attributes:
        group: number of the kind.
        campaigns_at_once: as many share a step.
        together: number of facilities in each call.
        faults: facilities at which an exception is raised, by id.
    """

    def __init__(self, group: int = 1) -> None:
        self.group = group
        self.campaigns_at_once = 16
        self.together: list[int] = []
        self.faults: set[int] = set()

    def advance(self, requests: Sequence[tuple[Any, int]], on_day: Any = None) -> None:
        """Step every facility to its own tick."""
        self.together.append(len(requests))
        for facility, tick in requests:
            if id(facility) in self.faults:
                raise FloatingPointError("the solver gave up at 12.345678")
            facility.advance(tick)
            if on_day is not None:
                on_day(1, 1)


def start(unit: int, **changes: float) -> dict[str, Any]:
    """Plant the fixed reference with some fields changed."""
    return {"action": "start", "unit": unit, "policy": POLICY | changes}


def advance(day: float) -> dict[str, Any]:
    """Let time pass."""
    return {"action": "advance", "day": day}


def script(end: float, *, warmth: float = 22.0) -> list[Any]:
    """A campaign with every action, a rejected one and one that is no JSON."""
    return [
        start(0, day_temperature_c=warmth),
        start(1),
        {"action": "stop", "unit": 3},
        advance(0),
        advance(end / 6),
        {"action": "observe", "unit": 0, "variable": "air_temperature_c", "resolution": "daily"},
        {"action": "stop", "unit": 1},
        {"action": "advance", "day": float("nan")},
        advance(end / 2),
        {"action": "observe", "unit": 1},
        {"action": "dance \U0001f331\u2028\x00"},
        advance(end),
        {"action": "recommend", "policy": POLICY},
    ]


def play(actions: Iterable[Any], replies: list[Any] | None = None) -> Steps:
    """A method that does what it is told, and keeps the replies."""
    for action in actions:
        reply = yield action
        if replies is not None:
            replies.append(reply.payload())


def fake_session(executor: Any, stepping: FakeStepping, journal: Journal | None = None) -> Session:
    """A session on a fake facility, with a header."""
    session = Session(executor, journal, stepping)
    session.recorder.put(RecordKind.HEADER, HEADER)
    return session


def short_spec(site: int = 0, feedback: Feedback = Feedback.FULL) -> CampaignSpec:
    """A campaign of twelve days on a development site."""
    return CampaignSpec(
        partition="development",
        site=site,
        feedback=feedback,
        shuffle_key="test",
        contract=short_contract(),
        sensors=load_sensors(),
        distribution=load_sites(),
    )


@functools.cache
def opener() -> Opener:
    """Opens short campaigns on the simulator that is compiled once per test run."""
    made = Opener(load_partitions(), WeatherSource(), {})
    rules = f"{config_sha256(short_contract())} {config_sha256(load_sensors())}"
    made.simulators[rules] = short_simulator()
    return made


def cut(path: Path, target: Path, count: int) -> Path:
    """A copy of a journal as it was after ``count`` records."""
    lines = path.read_bytes().splitlines(keepends=True)[:count]
    target.write_bytes(b"".join(lines))
    head_path(target).unlink(missing_ok=True)
    if count:
        records = Journal.open(path)
        digest = records.recorded[count - 1].digest
        records.close()
        head_path(target).write_bytes(Head(count, digest).to_bytes())
    return target


def files(path: Path) -> tuple[bytes, bytes | None]:
    """Bytes of a journal and its head."""
    return path.read_bytes(), read_bytes(head_path(path))
