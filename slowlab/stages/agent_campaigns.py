"""Run the campaigns of a language model: one shared beginning a site, one branch a condition.

The recommendation before any experiment and the day-0 design are asked once, without a feedback
condition. Every condition goes on from there: its transcript begins with the records of the
beginning, its campaign repeats the recorded actions on a fresh facility. All branches of a job are
played at the same time, so that a drift of the model meets all conditions alike.

Source: SlowLab, branching; the conditions side by side are ours.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowlab.agents.connection import Connection, durability_of
from slowlab.agents.course import course
from slowlab.agents.dialogue import Dialogue
from slowlab.agents.firewall import FirewallError
from slowlab.agents.harness import Harness
from slowlab.agents.outages import CapReachedError, OutageError
from slowlab.agents.transcript import fork
from slowlab.campaign.errors import Reply
from slowlab.campaign.history import History
from slowlab.campaign.journal import Journal
from slowlab.campaign.opening import Opener
from slowlab.campaign.pool import Entry, PoolProgress, run_pool
from slowlab.campaign.session import FailureKind, Session
from slowlab.methods._base import Campaign, watched
from slowlab.plan.agents import profile_of
from slowlab.plan.study import INITIAL
from slowlab.stages.campaigns import (
    CampaignJob,
    CampaignRecord,
    CountedTools,
    campaign_spec,
    counted_tools,
    fresh_journal,
    seed_key,
    stop_at_method_error,
    with_retries,
)
from slowlab.stages.hidden_values import hidden_values
from slowlab.stages.materials import Materials
from slowlab.stages.progress import PoolReporter
from slowlab.world.policy import Policy
from slowlab.world.task import Feedback

_FAILURES = {
    OutageError: FailureKind.MODEL_OUTAGE,
    FirewallError: FailureKind.FIREWALL,
    CapReachedError: FailureKind.SPENDING_CAP,
}

Branch = tuple[str, int]
"""Feedback condition, or ``initial`` for the shared beginning, and site."""


class SpendingCapError(RuntimeError):
    """The caps of the study do not allow the next call; what was paid for is kept."""


@dataclass(frozen=True)
class AgentFolders:
    """Where a job keeps what must survive it.

    Attributes:
        transcripts: folder of the transcripts of this method and repeat.
        journals: folder of the journals of each condition.
    """

    transcripts: Path
    journals: dict[str, Path]

    def transcript(self, branch: Branch) -> Path:
        """The transcript of a branch, or of the shared beginning."""
        mode, site = branch
        return self.transcripts / f"site-{site:03d}.{mode}.transcript.jsonl"


@dataclass(frozen=True)
class AgentCampaigns:
    """What the campaigns of a job came to.

    Attributes:
        records: one for each condition and site.
        initial: what was recommended before any experiment, by site; None where nothing valid was.
        failures: sites whose beginning failed for technical reasons, with the kind of failure.
    """

    records: dict[Branch, CampaignRecord]
    initial: dict[int, Policy | None]
    failures: dict[int, str]


@dataclass
class _Play:
    """One branch, or one beginning, under way."""

    session: Session
    history: History
    tools: CountedTools
    harness: Harness
    feedback: Feedback | None
    initial: Policy | None = None

    def entry(self, name: str) -> Entry:
        """The campaign for a pool; a beginning is not settled."""
        steps = watched(_steps(self), self.history)
        return Entry(name, self.session, steps, self.tools, settle=self.feedback is not None)


@dataclass(frozen=True)
class AgentStage:
    """Plays the campaigns of one job.

    Attributes:
        materials: what the study's setting names.
        job: method, repeat and sites; its condition is ``initial``.
        feedback: the conditions.
        connection: to the model.
        folders: where transcripts and journals lie.
    """

    materials: Materials
    job: CampaignJob
    feedback: tuple[str, ...]
    connection: Connection
    folders: AgentFolders

    def run(self) -> AgentCampaigns:
        """Play the beginnings, then all branches.

        Raises:
            SpendingCapError: a cap was reached; the job goes on when it is raised.
            MethodFailedError: the harness raised an exception.
            JournalError: a transcript is damaged.
            OSError: a file cannot be written.
        """
        opener = Opener.make(self.materials.partitions, self.materials.weather)
        plays: dict[Branch, _Play] = {}

        def run(branches: Sequence[Branch]) -> dict[Branch, CampaignRecord]:
            return self._together(opener, branches, plays)

        begun = with_retries(run, [(INITIAL, site) for site in self.job.sites])
        self._check(begun)
        failures = {
            site: record.result.failure.kind.value
            for (_, site), record in begun.items()
            if record.result.failure is not None
        }
        branches = [(mode, site) for site in self.job.sites for mode in self.feedback]
        records = with_retries(run, [branch for branch in branches if branch[1] not in failures])
        self._check(records)
        for mode, site in branches:
            if site in failures:
                records[mode, site] = begun[INITIAL, site]
        initial = {site: plays[INITIAL, site].initial for site in self.job.sites}
        return AgentCampaigns(records, initial, failures)

    def _check(self, records: dict[Branch, CampaignRecord]) -> None:
        """Stop the job where going on needs a person."""
        for (mode, site), record in records.items():
            where = f"{self.job.entry.name}, {mode}, repeat {self.job.repeat}"
            stop_at_method_error(record, where, site)
            failure = record.result.failure
            if failure is not None and failure.kind is FailureKind.SPENDING_CAP:
                raise SpendingCapError(f"{where}, site {site}: {failure.detail}")

    def _together(
        self, opener: Opener, branches: Sequence[Branch], plays: dict[Branch, _Play]
    ) -> dict[Branch, CampaignRecord]:
        """Play some branches at the same time."""
        if not branches:
            return {}
        what = "beginnings" if branches[0][0] == INITIAL else "campaigns"
        name = f"{self.job.entry.name}, repeat {self.job.repeat}, {what}"
        with ExitStack() as dialogues:
            for branch in branches:
                plays[branch] = self._open(opener, branch, dialogues)
            results = run_pool(
                [plays[branch].entry(f"{branch[0]} {branch[1]}") for branch in branches],
                workers=min(len(branches), self.connection.parallel_calls),
                progress=self._reporter(name),
            )
        return {
            branch: CampaignRecord(
                branch[1], plays[branch].history, result, tuple(plays[branch].tools.uses)
            )
            for branch, result in zip(branches, results, strict=True)
        }

    def _open(self, opener: Opener, branch: Branch, dialogues: ExitStack) -> _Play:
        """One campaign with its own session, transcript and streams."""
        mode, site = branch
        session = opener.open(
            campaign_spec(self.materials, site, Feedback.UNASSIGNED), self._journal(branch)
        )
        history = History(session.task())
        key = seed_key(self.materials, self.job, site, "tools")
        tools = counted_tools(self.materials, history, key.seed())
        dialogue = dialogues.enter_context(self._dialogue(branch, session))
        harness = Harness(
            profile_of(self.job.entry),
            dialogue,
            Campaign(history),
            self._generation_seed(site),
            self.materials.contract.fixed_reference,
        )
        feedback = None if mode == INITIAL else Feedback(mode)
        return _Play(session, history, tools, harness, feedback)

    def _journal(self, branch: Branch) -> Journal | None:
        """A fresh journal; the beginning needs none, its branches repeat it."""
        mode, site = branch
        if mode == INITIAL:
            return None
        return fresh_journal(self.folders.journals[mode] / f"site-{site:03d}.jsonl")

    def _dialogue(self, branch: Branch, session: Session) -> Dialogue:
        """The conversation of a branch; it begins with what was said before the branches part."""
        mode, site = branch
        path = self.folders.transcript(branch)
        if mode != INITIAL:
            begun = self.folders.transcript((INITIAL, site))
            fork(begun, path, durability=durability_of(self.connection.model))
        hidden = hidden_values(self.materials.sites([site])[0])
        return self.connection.dialogue(path, self._header(site, session), hidden)

    def _header(self, site: int, session: Session) -> dict[str, Any]:
        """What a transcript says about itself; the same for a beginning and its branches."""
        setting, entry = self.materials.setting, self.job.entry
        profile = profile_of(entry)
        return {
            "kind": "campaign",
            "study": setting.study,
            "partition": setting.partition,
            "site": site,
            "method": entry.name,
            "repeat": self.job.repeat,
            "model": self.connection.public_model(),
            "harness": profile.model_dump(mode="json"),
            "generation_seed": self._generation_seed(site),
            "reference": self.materials.contract.fixed_reference.model_dump(),
            "task": session.task(),
        }

    def _generation_seed(self, site: int) -> int:
        """The seed that is sent with every call of a site and repeat, in all conditions."""
        return seed_key(self.materials, self.job, site, "generation").seed() % 2**31

    def _reporter(self, name: str) -> Callable[[PoolProgress], None]:
        """Says how far the campaigns are and what they have used."""
        ticks = self.materials.contract.calendar.campaign_ticks
        report = PoolReporter(name, ticks)

        def say(progress: PoolProgress) -> None:
            said = report.said
            report(progress)
            if report.said > said:
                print(f"{name}: {self.connection.spent()}", file=sys.stderr)

        return say


def _steps(play: _Play) -> Generator[Any, Reply, Any]:
    """The harness at work; what ends a campaign for technical reasons freezes its session."""
    session, feedback = play.session, play.feedback

    def freeze_initial(policy: Policy) -> None:
        play.initial = policy
        session.freeze_initial_recommendation(policy.model_dump())

    def assign() -> dict[str, Any] | None:
        if feedback is None:
            return None
        session.assign_feedback(feedback)
        return session.task()

    campaign = Campaign(play.history)
    try:
        return (
            yield from course(play.harness, campaign, freeze_initial=freeze_initial, assign=assign)
        )
    except tuple(_FAILURES) as error:
        kind = next(kind for known, kind in _FAILURES.items() if isinstance(error, known))
        session.fail(kind, str(error))
        return None
