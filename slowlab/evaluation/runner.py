"""Many runs: once each, in batches, on several processes, continuing from what is finished."""

from __future__ import annotations

import functools
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Self

from slowlab.canonical import canonical_json
from slowlab.config import validate_config
from slowlab.evaluation.batching import lane_chunks, simulate_together, simulator_identity
from slowlab.evaluation.shards import ShardStore
from slowlab.evaluation.years import YearOutcome, YearRun, run_key
from slowlab.world.contract import Contract
from slowlab.world.sensors import SensorSpec
from slowlab.world.simulator import Simulator
from slowlab.world.weather_source import WeatherSource

Progress = Callable[[int, int], None]
"""Called with the lane-days done and the lane-days to do of the present request."""


@dataclass
class RunCounts:
    """What a runner has done since it was opened.

    Attributes:
        lane_days: compartment-days stepped.
        seconds: wall-clock time of stepping; for information only.
        simulated: distinct runs that were stepped.
        reused: distinct runs that were found finished.
    """

    lane_days: int = 0
    seconds: float = 0.0
    simulated: int = 0
    reused: int = 0


@dataclass
class YearRunner:
    """Simulates runs for one contract. Use as a context manager: it may own processes.

    Attributes:
        contract: rules.
        sensors: instruments.
        source: of the weather years.
        store: finished runs on disk, or None to keep them in memory only.
        workers: processes; 1 simulates in this one. No result depends on it.
        progress: called after every batch.
        counts: what was done.
    """

    contract: Contract
    sensors: SensorSpec
    source: WeatherSource = field(default_factory=WeatherSource)
    store: ShardStore | None = None
    workers: int = 1
    progress: Progress | None = None
    counts: RunCounts = field(default_factory=RunCounts)

    def __enter__(self) -> Self:
        self._known = self.store.load() if self.store is not None else {}
        self._pool: ProcessPoolExecutor | None = None
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    @functools.cached_property
    def simulator(self) -> Simulator:
        """Rules and compiled step."""
        return _simulator(*self._configuration)

    def run(self, runs: Sequence[YearRun]) -> list[YearOutcome]:
        """Outcomes in the order of ``runs``; equal runs are simulated once.

        Raises:
            WeatherError: a year that does not exist.
            LaneParameterError: hidden parameters out of bounds.
            OSError: a shard cannot be written.
        """
        keys = [self.key(run) for run in runs]
        wanted = dict(zip(keys, runs, strict=True))
        missing = {key: run for key, run in wanted.items() if key not in self._known}
        self.counts.reused += len(wanted) - len(missing)
        self.counts.simulated += len(missing)
        started = time.monotonic()
        self._simulate(missing)
        self.counts.seconds += time.monotonic() - started
        return [self._known[key] for key in keys]

    def key(self, run: YearRun) -> str:
        """Identity of a run, see :func:`slowlab.evaluation.years.run_key`."""
        return run_key(run, self._identity, self._weather_sha256(run.weather))

    def _simulate(self, missing: dict[str, YearRun]) -> None:
        """Step what is missing, batch by batch, keeping each batch as soon as it is there."""
        ordered = dict(sorted(missing.items()))
        key_of = {id(run): key for key, run in ordered.items()}
        width = self.simulator.stepper.width
        chunks = list(lane_chunks(ordered.values(), width))
        total, done = sum(run.lane_days for run in ordered.values()), 0
        for chunk, outcomes in self._batches(chunks):
            found = {key_of[id(run)]: item for run, item in zip(chunk, outcomes, strict=True)}
            self._keep(found)
            done += sum(run.lane_days for run in chunk)
            if self.progress is not None:
                self.progress(done, total)
        self.counts.lane_days += total

    def _keep(self, found: dict[str, YearOutcome]) -> None:
        """Remember outcomes; failed runs are not written, so that a rerun retries them."""
        self._known |= found
        sound = {key: outcome for key, outcome in found.items() if outcome.failure is None}
        if self.store is not None and sound:
            self.store.add(sound)

    def _batches(
        self, chunks: Sequence[list[YearRun]]
    ) -> Iterator[tuple[list[YearRun], list[YearOutcome]]]:
        """Chunks with their outcomes, as they are finished."""
        if self.workers == 1 or len(chunks) < 2:
            for chunk in chunks:
                yield chunk, simulate_together(self.simulator, self.source, chunk)
            return
        jobs = {self._submit(chunk): chunk for chunk in chunks}
        for job in _as_finished(jobs):
            yield jobs[job], job.result()

    def _submit(self, chunk: list[YearRun]) -> Future[list[YearOutcome]]:
        if self._pool is None:
            # Never fork: XLA's threads do not survive it.
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, mp_context=spawn)
        return self._pool.submit(_work, self._configuration, self.source, chunk)

    @functools.cached_property
    def _configuration(self) -> tuple[str, str]:
        models = (self.contract, self.sensors)
        return tuple(canonical_json(m.model_dump(mode="json")) for m in models)  # type: ignore[return-value]

    @functools.cached_property
    def _identity(self) -> dict[str, str]:
        return simulator_identity(self.simulator)

    @functools.cached_property
    def _weather_hashes(self) -> dict[object, str]:
        return {}

    def _weather_sha256(self, label: object) -> str:
        if label not in self._weather_hashes:
            self._weather_hashes[label] = self.source.year(label).sha256  # type: ignore[arg-type]
        return self._weather_hashes[label]


def _as_finished(jobs: Iterable[Future[list[YearOutcome]]]) -> Iterator[Future[list[YearOutcome]]]:
    """Jobs as they finish; when one failed, those that have not begun are cancelled."""
    waiting = set(jobs)
    try:
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from finished
    finally:
        for job in waiting:
            job.cancel()


@functools.lru_cache(maxsize=4)
def _simulator(contract: str, sensors: str) -> Simulator:
    """A simulator for configurations given as canonical JSON; compiled once per process."""
    import json

    return Simulator.build(
        validate_config(json.loads(contract), Contract),
        validate_config(json.loads(sensors), SensorSpec),
    )


def _work(
    configuration: tuple[str, str], source: WeatherSource, runs: list[YearRun]
) -> list[YearOutcome]:
    """One batch in a process of its own."""
    return simulate_together(_simulator(*configuration), source, runs)
