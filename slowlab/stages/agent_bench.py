"""Benchmark of many campaigns of language models at once, against one campaign alone.

The stand-ins answer over a real local endpoint after a fixed time, and everything else is what a
study uses: client, harness, transcripts, pool, and the simulator on development sites. Four
scripts in two feedback conditions have eight call patterns of unequal length.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from slowlab.agents.books import Caps
from slowlab.agents.client import ModelClient
from slowlab.agents.connection import Connection
from slowlab.agents.course import course
from slowlab.agents.harness import Harness
from slowlab.agents.models import model_config
from slowlab.agents.profile import load_profile
from slowlab.agents.purse import Purse
from slowlab.agents.standins import model_name, serve_stand_ins
from slowlab.campaign.errors import Reply
from slowlab.campaign.history import History
from slowlab.campaign.opening import Opener
from slowlab.campaign.pool import Ending, Entry, run_pool
from slowlab.campaign.session import Session
from slowlab.methods._base import Campaign, watched
from slowlab.plan.entries import DEFAULT_HARNESS
from slowlab.plan.study import Setting
from slowlab.stages.campaigns import campaign_spec, counted_tools
from slowlab.stages.hidden_values import hidden_values
from slowlab.stages.materials import Materials
from slowlab.world.policy import Policy
from slowlab.world.task import Feedback

PATTERNS = tuple(
    itertools.product(
        ("grower", "two_wave", "staggered", "verbose"), (Feedback.FULL, Feedback.ENDPOINT)
    )
)
"""Script and feedback condition of the campaigns, in turn."""
LIMIT = 1.5
"""Together, as many times the longest campaign alone is allowed beside the stepping."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class PatternTime:
    """One campaign of a call pattern, run alone.

    Attributes:
        script: the stand-in.
        feedback: the condition.
        calls: answered calls.
        wall_s: from its first step to its end, s.
    """

    script: str
    feedback: str
    calls: int
    wall_s: float


@dataclass(frozen=True)
class AgentBench:
    """Measured figures.

    Attributes:
        campaigns: number of campaigns.
        delay_s: time that every answer takes, s.
        alone: one campaign of each call pattern, one after the other.
        stepping_s: the recorded actions of all campaigns again, without model and harness, s.
        together_s: all campaigns at once, s.
        together_cpu_s: processor time of that, with the stand-ins, s.
    """

    campaigns: int
    delay_s: float
    alone: tuple[PatternTime, ...]
    stepping_s: float
    together_s: float
    together_cpu_s: float

    @property
    def longest_alone_s(self) -> float:
        """The longest campaign alone, s."""
        return max(item.wall_s for item in self.alone)

    @property
    def allowed_s(self) -> float:
        """What all campaigns together may take, s."""
        return LIMIT * self.longest_alone_s + self.stepping_s

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        bounds = {"longest_alone_s": self.longest_alone_s, "allowed_s": self.allowed_s}
        return {**asdict(self), **bounds}


def bench_agents(
    *, campaigns: int = 32, delay_s: float = 0.2, progress: Progress = lambda text: None
) -> AgentBench:
    """Measure campaigns alone, their stepping, and all of them together.

    Args:
        campaigns: number of campaigns.
        delay_s: time that every answer takes, s.
        progress: told what is being measured.

    Raises:
        RuntimeError: a campaign did not end as it should, or came out otherwise in company.
    """
    numbers = range(campaigns)
    materials = Materials.load(Setting(study="bench", partition="development"))
    with tempfile.TemporaryDirectory() as folder, _Bench.open(materials, delay_s) as bench:
        bench.warm_up()
        alone = []
        for number in numbers[: len(PATTERNS)]:
            script, feedback = PATTERNS[number]
            progress(f"{script}, {feedback}, alone")
            wall_s, (play,) = bench.play([number], Path(folder) / "alone")
            calls = play.harness.counts.model_calls
            alone.append(PatternTime(script, feedback.value, calls, wall_s))
        progress(f"{campaigns} campaigns together")
        cpu_s = time.process_time()
        together_s, plays = bench.play(numbers, Path(folder) / "together")
        cpu_s = time.process_time() - cpu_s
        _check_equal(Path(folder) / "alone", Path(folder) / "together")
        progress("stepping alone")
        stepping_s = bench.step_again(plays)
    return AgentBench(campaigns, delay_s, tuple(alone), stepping_s, together_s, cpu_s)


@dataclass
class _Play:
    """One campaign under way."""

    number: int
    session: Session
    history: History
    harness: Harness
    entry: Entry


@dataclass
class _Bench:
    """Opens and plays campaigns."""

    materials: Materials
    connections: dict[str, Connection]
    profile: Any = field(default_factory=lambda: load_profile(DEFAULT_HARNESS))

    @classmethod
    @contextmanager
    def open(cls, materials: Materials, delay_s: float) -> Iterator[_Bench]:
        """Serve the stand-ins and connect to those that are needed."""
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            base_url = stack.enter_context(serve_stand_ins(delay_s))
            purse = stack.enter_context(closing(Purse.open(folder / "purse", Caps())))
            connections = {}
            for script in dict.fromkeys(script for script, _ in PATTERNS):
                model = model_config(model_name(script))
                client = stack.enter_context(closing(ModelClient(model, base_url)))
                connections[script] = Connection(model, client, purse)
            yield cls(materials, connections)

    @cached_property
    def opener(self) -> Opener:
        """Opens campaigns on one compiled step."""
        return Opener.make(self.materials.partitions, self.materials.weather)

    def warm_up(self) -> None:
        """Compile before anything is timed."""
        session = self._session(0)
        session.dispatch({"action": "advance", "day": 1})
        session.close()

    def play(self, numbers: Sequence[int], folder: Path) -> tuple[float, list[_Play]]:
        """Play campaigns at once; the time from the first step to the last end, s."""
        with ExitStack() as dialogues:
            plays = [self._open(number, folder, dialogues) for number in numbers]
            begun = time.perf_counter()
            self._run([play.entry for play in plays])
            return time.perf_counter() - begun, plays

    def step_again(self, plays: Sequence[_Play]) -> float:
        """Repeat recorded actions on fresh facilities, s."""
        entries = []
        for play in plays:
            actions = [item.action for item in play.history.exchanges if item.action is not None]
            entries.append(Entry(play.entry.name, self._session(play.number), _repeat(actions)))
        begun = time.perf_counter()
        self._run(entries)
        return time.perf_counter() - begun

    def _run(self, entries: Sequence[Entry]) -> None:
        results = run_pool(entries, workers=max(2, len(entries)))
        for result in results:
            if result.ending is not Ending.SETTLED:
                raise RuntimeError(f"{result.name}: {result.ending}\n{result.error}")

    def _session(self, number: int) -> Session:
        _, feedback = PATTERNS[number % len(PATTERNS)]
        return self.opener.open(campaign_spec(self.materials, number // len(PATTERNS), feedback))

    def _open(self, number: int, folder: Path, dialogues: ExitStack) -> _Play:
        script, feedback = PATTERNS[number % len(PATTERNS)]
        site = number // len(PATTERNS)
        spec = campaign_spec(self.materials, site, Feedback.UNASSIGNED)
        session = self.opener.open(spec)
        history = History(session.task())
        tools = counted_tools(self.materials, history, number)
        hidden = hidden_values(self.materials.sites([site])[0])
        path = folder / f"{number}.transcript.jsonl"
        connection = self.connections[script]
        dialogue = dialogues.enter_context(
            connection.dialogue(path, {"kind": "bench", "number": number}, hidden)
        )
        harness = Harness(self.profile, dialogue, Campaign(history), number)
        steps = watched(_steps(harness, session, history, feedback), history)
        entry = Entry(f"{number}: {script}, {feedback}", session, steps, tools)
        return _Play(number, session, history, harness, entry)


def _check_equal(alone: Path, together: Path) -> None:
    """Whether campaigns said the same alone and in company, to the last byte."""
    for path in sorted(alone.glob("*.transcript.jsonl")):
        if path.read_bytes() != (together / path.name).read_bytes():
            raise RuntimeError(f"campaign {path.name} came out otherwise in company")


def _steps(
    harness: Harness, session: Session, history: History, feedback: Feedback
) -> Generator[Any, Reply, Any]:
    """The whole course of one campaign."""

    def freeze(policy: Policy) -> None:
        session.freeze_initial_recommendation(policy.model_dump())

    def assign() -> dict[str, Any]:
        session.assign_feedback(feedback)
        return session.task()

    return course(harness, Campaign(history), freeze_initial=freeze, assign=assign)


def _repeat(actions: Sequence[Any]) -> Generator[Any, Reply, None]:
    for action in actions:
        _ = yield action  # taken and dropped: an iterator could not be sent a reply
