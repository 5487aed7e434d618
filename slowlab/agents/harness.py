"""The harness: leads a language model through one campaign.

Stage 0 asks for a recommendation before any experiment, stage 1 for the day-0 design, stage 2 for
one step after another, and stage 3, when budgets run out, for nothing but a recommendation. What a
model says is read by one rule (:mod:`slowlab.agents.parser`); what it is told is put together by
another one (:mod:`slowlab.agents.assembly`). The harness is a function of the campaign's replies
and the model's answers and of nothing else, so that a recorded campaign can be followed and
repeated.

Which policy counts in the end: a recommendation of the last day; or else the incumbent that the
model named last, which the harness then recommends itself; or else the recommendation from before
the experiments, which the campaign falls back to by its own rule.

Source: SlowLab, harness, stages. Incumbent, probes and the end of error loops are ours.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from enum import StrEnum, auto
from typing import Any

from slowlab.agents.acting import Acting, HarnessDialogue, is_accepted
from slowlab.agents.harness_limits import Cause, ErrorStreak, HarnessCounts, Limits
from slowlab.agents.memory import Conversation, Turn, kept_text, said
from slowlab.agents.messages import Message, ModelCall, ModelReply, Stage
from slowlab.agents.notices import (
    DESIGN_IS_COMPLETE,
    INITIAL_IS_KEPT,
    assignment_notice,
    endgame_notice,
)
from slowlab.agents.parser import Decision, ReplyError, parse_call, parse_text
from slowlab.agents.profile import HarnessProfile, ReplyFormat
from slowlab.agents.prompting import Prompting
from slowlab.agents.recommending import Asked, Asking
from slowlab.agents.rendering import Rendering
from slowlab.agents.reply_forms import ReplyType, reply_forms
from slowlab.agents.results import ResultKind, ShownResult, format_error, notice, reply_result
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.budget import ActionKind
from slowlab.campaign.errors import Reply
from slowlab.campaign.session import ToolCall
from slowlab.methods._base import Campaign, Steps
from slowlab.world.policy import Policy


class AgentEnding(StrEnum):
    """How a campaign ended.

    ``recommended``: the model gave a recommendation on the last day. ``incumbent``: the harness
    recommended the incumbent for it. ``no_recommendation``: there was none, and the campaign's own
    fallback counts.
    """

    RECOMMENDED = "recommended"
    INCUMBENT = "incumbent"
    NO_RECOMMENDATION = "no_recommendation"


class _Progress(StrEnum):
    """What a turn led to: it goes on, the stage is complete, or no prompt may be sent any more."""

    GOES_ON = auto()
    COMPLETE = auto()
    NOT_ASKED = auto()


_Turning = Generator[Mapping[str, Any] | ToolCall, Reply, _Progress]
_Ending = Generator[Mapping[str, Any] | ToolCall, Reply, AgentEnding]


class Harness:
    """Leads a model through one campaign; see the module.

    Args:
        profile: the harness profile.
        dialogue: the conversation with the model.
        campaign: what the model may know; its history is kept up to date between two yields.
        generation_seed: sent with every call; None where none is.
        reference: the fixed reference policy, for profiles that tell it.

    Attributes:
        counts: what happened so far.

    Raises:
        ValueError: the profile tells the reference, and there is none.
    """

    def __init__(
        self,
        profile: HarnessProfile,
        dialogue: HarnessDialogue,
        campaign: Campaign,
        generation_seed: int | None,
        reference: Policy | None = None,
    ) -> None:
        self.counts = HarnessCounts()
        self._profile = profile
        self._dialogue = dialogue
        self._campaign = campaign
        self._acting = Acting(dialogue, self.counts)
        self._conversation = Conversation()
        self._limits = Limits(profile.budgets, campaign.history, self.counts)
        self._prompting = Prompting(
            profile=profile,
            rendering=Rendering(profile, reference),
            campaign=campaign,
            limits=self._limits,
            conversation=self._conversation,
            generation_seed=generation_seed,
        )
        self._streak = ErrorStreak(profile.budgets.identical_errors)
        self._probe_days_passed = 0

    @property
    def incumbent(self) -> Policy | None:
        """The policy that the model named as its best so far."""
        return self._conversation.incumbent

    def initial(self) -> Policy | None:
        """Ask for the recommendation from before the experiments.

        Returns:
            A valid policy, or None where no attempt gave one.
        """
        asking = self._asking(Stage.INITIAL, self._profile.budgets.initial_attempts)
        *before, first = self._prompting.prompt(Stage.INITIAL)
        asked = asking.policy(before, first.content)
        policy = None if asked.policy is None else asked.policy.model_dump()
        payload = {"policy": policy, "attempts": asked.attempts}
        self._dialogue.note(TranscriptKind.INITIAL, payload)
        if asked.policy is not None:
            decision = Decision(
                ReplyType.INITIAL_RECOMMENDATION, policy=asked.policy, reason=asked.reason
            )
            self._enter(decision, notice(INITIAL_IS_KEPT))
        return asked.policy

    def design(self) -> Steps:
        """Let the model make its day-0 design."""
        budgets = self._profile.budgets
        for used in range(budgets.design_calls):
            if self._all_planted() or self._streak.reached:
                break
            progress = yield from self._turn(Stage.DESIGN, budgets.design_calls - used)
            if progress is not _Progress.GOES_ON:
                break
        if self._streak.reached:
            self._flag("identical_errors", Stage.DESIGN.value)
            self._streak.clear()

    def assigned(self) -> None:
        """Tell the feedback mode, which the campaign's task now names."""
        task = self._campaign.task
        mode = task["feedback"]["mode"]
        self._dialogue.note(TranscriptKind.ASSIGNMENT, {"feedback": mode, "task": dict(task)})
        self._conversation.tell(assignment_notice(mode))

    def season(self) -> Steps:
        """Let the model run the campaign to its end.

        Returns:
            An :class:`AgentEnding`.

        Raises:
            CampaignStoppedError: the campaign takes no more actions.
        """
        ending = yield from self._season()
        payload = {"ending": ending.value, "counts": self.counts.payload()}
        self._dialogue.note(TranscriptKind.ENDING, payload)
        return ending

    def _season(self) -> _Ending:
        while True:
            cause = self._limits.endgame()
            if self._streak.reached:
                cause = Cause.IDENTICAL_ERRORS
            if cause is not None:
                return (yield from self._endgame(cause))
            if self._pass_probe_days():
                self._probe()
                continue
            progress = yield from self._turn(Stage.SEASON)
            if progress is _Progress.COMPLETE:
                return AgentEnding.RECOMMENDED
            if progress is _Progress.NOT_ASKED:
                yield from self._to_last_day(Cause.MODEL_CALLS)
                return (yield from self._ladder())

    def _endgame(self, cause: Cause) -> _Ending:
        """Go to the last day and ask for nothing but a recommendation."""
        if cause is Cause.IDENTICAL_ERRORS:
            self._flag("identical_errors", Stage.SEASON.value)
        if cause is Cause.PROMPT_CHARACTERS:
            self._flag("context_exhausted", cause.value)
        yield from self._to_last_day(cause)
        self._conversation.tell(endgame_notice(cause))
        self._streak.clear()
        while self._limits.can_recommend() and not self._streak.reached:
            progress = yield from self._turn(Stage.FINAL)
            if progress is _Progress.COMPLETE:
                return AgentEnding.RECOMMENDED
            if progress is _Progress.NOT_ASKED:
                break
        if self._streak.reached:
            self._flag("identical_errors", Stage.FINAL.value)
        return (yield from self._ladder())

    def _to_last_day(self, cause: Cause) -> Steps:
        """Advance to the last day for the model."""
        last_day = self._campaign.calendar["campaign_days"]
        if self._campaign.history.day < last_day:
            self._flag("forced_advance", cause.value)
            yield from self._acting.act({"action": ActionKind.ADVANCE.value, "day": last_day}, None)

    def _ladder(self) -> _Ending:
        """Recommend the incumbent where there is one; else the campaign's fallback counts."""
        incumbent = self._conversation.incumbent
        if incumbent is not None and self._limits.can_recommend():
            action = {"action": ActionKind.RECOMMEND.value, "policy": incumbent.model_dump()}
            reply = yield from self._acting.act(action, None)
            if is_accepted(reply):
                self._flag("incumbent_recommended", "no recommendation of the last day")
                return AgentEnding.INCUMBENT
        return AgentEnding.NO_RECOMMENDATION

    def _turn(self, stage: Stage, design_calls: int = 0) -> _Turning:
        """Ask for one step and carry it out."""
        call = self._prompting.call(stage, self._prompting.prompt(stage, design_calls))
        if not self._limits.allows(call):
            return _Progress.NOT_ASKED
        reply = self._send(stage, call)
        try:
            decision = self._read(stage, reply)
        except ReplyError as error:
            self._wrong(error)
            self._streak.add(ResultKind.FORMAT_ERROR, error.code, error.message)
            text = kept_text(reply, self._profile.budgets.kept_reply_characters)
            self._conversation.add(Turn(text, format_error(error.code.value, error.message)))
            return _Progress.GOES_ON
        return (yield from self._carry_out(decision))

    def _carry_out(self, decision: Decision) -> _Turning:
        """Remember what was said beside the step, and take it."""
        self._remember(decision)
        if decision.kind is ReplyType.DESIGN_COMPLETE:
            self._streak.clear()
            self._enter(decision, notice(DESIGN_IS_COMPLETE))
            return _Progress.COMPLETE
        if decision.tool is not None:
            reply = yield from self._acting.use(decision.tool, self._reason(decision))
        else:
            reply = yield from self._acting.act(decision.action or {}, self._reason(decision))
        self._enter(decision, reply_result(reply, tool=decision.tool is not None))
        if reply.error is None:
            self._streak.clear()
        else:
            self._streak.add(reply.error.kind, reply.error.reason, reply.error.message)
        return _Progress.COMPLETE if is_accepted(reply) else _Progress.GOES_ON

    def _pass_probe_days(self) -> bool:
        """Whether a day has come since the last turn from which a probe is asked for.

        Days that one advance has passed together are asked about once.
        """
        day = self._campaign.history.day
        passed = sum(probe <= day for probe in self._profile.probe_days)
        due = passed > self._probe_days_passed
        self._probe_days_passed = passed
        return due and self._limits.left()["model_calls"] > 1

    def _probe(self) -> None:
        """Ask for an interim recommendation, which is only logged."""
        asking = self._asking(Stage.PROBE, self._profile.budgets.probe_attempts)
        *before, first = self._prompting.prompt(Stage.PROBE)
        asked = asking.policy(before, first.content)
        self.counts.probes += 1
        self._note_probe(asked)

    def _note_probe(self, asked: Asked) -> None:
        policy = None if asked.policy is None else asked.policy.model_dump()
        day = self._campaign.history.day
        payload = {"day": day, "policy": policy, "reason": asked.reason}
        self._dialogue.note(TranscriptKind.PROBE, payload)

    def _asking(self, stage: Stage, attempts: int) -> Asking:
        """How a policy is asked for apart from the campaign."""

        def ask(messages: tuple[Message, ...]) -> ModelReply | None:
            call = self._prompting.call(stage, messages)
            kept = stage is Stage.PROBE and self._limits.characters_are_short()
            return self._send(stage, call) if self._limits.allows(call) and not kept else None

        def question(latest: ShownResult | None) -> str:
            return self._prompting.question(stage).text(latest)

        budgets = self._profile.budgets
        return Asking(
            ask=ask,
            read=lambda reply: self._read(stage, reply),
            wrong=self._wrong,
            question=question,
            attempts=attempts,
            kept_characters=budgets.kept_reply_characters,
            reason_characters=budgets.reason_characters,
        )

    def _send(self, stage: Stage, call: ModelCall) -> ModelReply:
        reply = self._dialogue.ask(stage, call)
        self.counts.book(call)
        return reply

    def _read(self, stage: Stage, reply: ModelReply) -> Decision:
        """Read a reply by the profile's form; raises ReplyError."""
        forms = reply_forms(stage, self._campaign.task, self._profile)
        if self._profile.reply_format is ReplyFormat.FUNCTION_CALLS:
            return parse_call(reply, forms)
        return parse_text(reply.text, forms)

    def _wrong(self, error: ReplyError) -> None:
        """Count and record a reply that was no answer."""
        self.counts.format_errors += 1
        kind, code = ResultKind.FORMAT_ERROR.value, error.code.value
        payload = {"kind": kind, "code": code, "message": error.message}
        self._dialogue.note(TranscriptKind.ERROR, payload)

    def _remember(self, decision: Decision) -> None:
        """Take new notes and a new incumbent."""
        talk = self._conversation
        if decision.notes is not None and decision.notes != talk.notes:
            talk.notes = decision.notes
            self.counts.notes_updates += 1
        if decision.incumbent is not None and decision.incumbent != talk.incumbent:
            talk.incumbent = decision.incumbent
            self.counts.incumbents += 1
            policy = decision.incumbent.model_dump()
            self._dialogue.note(TranscriptKind.INCUMBENT, {"policy": policy})

    def _enter(self, decision: Decision, result: ShownResult) -> None:
        """Append a turn to the conversation."""
        step = said(decision, self._profile.budgets.reason_characters)
        tool = None if decision.tool is None else decision.tool.name
        self._conversation.add(Turn(step, result, tool))

    def _reason(self, decision: Decision) -> str | None:
        most = self._profile.budgets.reason_characters
        return decision.reason[:most] if decision.reason else None

    def _all_planted(self) -> bool:
        """Whether a crop was started in every compartment."""
        planted = {crop.unit for crop in self._campaign.history.crops()}
        return planted >= set(self._campaign.units)

    def _flag(self, flag: str, detail: str) -> None:
        self.counts.flags.append(flag)
        self._dialogue.note(TranscriptKind.FLAG, {"flag": flag, "detail": detail})
