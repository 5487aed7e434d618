"""The executor: takes one action after another and answers it, for one campaign.

Everything that costs no time is answered at once by :meth:`Executor.begin`. An advance is answered
in two parts, so that many campaigns can be stepped together: ``begin`` returns a
:class:`PendingAdvance`, the facility is stepped to its tick, and :meth:`Executor.finish` answers.

A rejected action changes nothing but the budget. Any error while time moves freezes the campaign: a
technical failure is missing data, never a result. Misuse by the harness (a second ``begin`` while
an advance is pending, a mode assigned too late) raises, because no agent can cause it.

Source: SlowLab, action interface; budgets and reserve in :mod:`slowlab.campaign.budget`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slowlab.campaign.actions import (
    Action,
    Advance,
    Observe,
    Recommend,
    Start,
    Stop,
    parse_action,
    read_payload,
)
from slowlab.campaign.budget import BudgetAccount
from slowlab.campaign.errors import (
    CLOSED,
    FROZEN,
    ActionRejected,
    ErrorInfo,
    ErrorKind,
    Reason,
    Reply,
)
from slowlab.campaign.history import History
from slowlab.campaign.operations import check_advance, observe, start, stop
from slowlab.campaign.settlement import (
    CampaignStatus,
    Fallback,
    PolicySource,
    Settlement,
    settled_policy,
)
from slowlab.campaign.views import CampaignSetting, View
from slowlab.world.contract import Contract
from slowlab.world.economics import Prices
from slowlab.world.policy import Policy, PolicyError, parse_policy
from slowlab.world.sensors import SensorSpec
from slowlab.world.task import Feedback

if TYPE_CHECKING:
    from slowlab.world.facility import Facility

Stepping = Callable[["Facility", int], None]
"""Steps one facility to a tick."""


class CampaignMisuse(RuntimeError):
    """The harness did something that a campaign does not allow at this moment."""


@dataclass(frozen=True)
class PendingAdvance:
    """An advance that waits for its facility.

    Attributes:
        target_tick: the tick to which the facility is to be stepped.
    """

    target_tick: int


class Executor:
    """One campaign; see the module. Use :meth:`open`.

    Attributes:
        facility: the private facility.
        status: where the campaign stands.
        pending: the advance that waits for time, or None.
        history: everything the agent has seen.
    """

    def __init__(
        self,
        facility: Facility,
        setting: CampaignSetting,
        feedback: Feedback,
        fallback: Fallback,
        stepping: Stepping,
    ) -> None:
        self.facility = facility
        self.status = CampaignStatus.RUNNING
        self.pending: PendingAdvance | None = None
        self._contract = setting.contract
        self._view = View(facility, setting, _checked(feedback, setting))
        self._setting = setting
        self._fallback = fallback
        self._stepping = stepping
        self._account = BudgetAccount(setting.contract.budget)
        self._rejections: Counter[str] = Counter()
        self._recommended: list[Recommend] = []
        self._waiting: dict[str, Any] = {}
        self._failure: str | None = None
        self._settlement: Settlement | None = None
        self.history = History(self.task())

    @classmethod
    def open(
        cls,
        facility: Facility,
        contract: Contract,
        sensors: SensorSpec,
        prices: Prices,
        feedback: Feedback,
        fallback: Policy,
        *,
        shuffle_key: str = "",
        draft: bool = False,
        stepping: Stepping | None = None,
    ) -> Executor:
        """Open a campaign on a facility at tick 0.

        Args:
            facility: the facility, with kept records where the mode releases any.
            contract: the rules.
            sensors: the channels.
            prices: the site's own prices.
            feedback: what the agent may see; ``unassigned`` where it branches after day 0.
            fallback: the frozen policy that counts without a valid recommendation.
            shuffle_key: text from the seed tree; needed by the shuffled mode only.
            draft: whether the site is a draft.
            stepping: lets time pass in :meth:`dispatch`; by default the facility's own simulator.

        Raises:
            CampaignMisuse: the shuffled mode without a key.
            PolicyError: the fallback is not a valid policy.
        """
        parse_policy(fallback, contract.policy)
        setting = CampaignSetting(contract, sensors, prices, draft, shuffle_key)
        return cls(facility, setting, feedback, Fallback(fallback), stepping or _step_alone)

    def task(self) -> dict[str, Any]:
        """The public description of the task in the campaign's feedback mode."""
        return self._view.task()

    @property
    def feedback(self) -> Feedback:
        """The feedback mode."""
        return self._view.feedback

    def begin(self, payload: object) -> Reply | PendingAdvance:
        """Take one action; answer it unless time has to pass.

        Args:
            payload: JSON text, its UTF-8 bytes, or plain data.

        Raises:
            CampaignMisuse: an advance is pending.
        """
        if self.pending is not None:
            raise CampaignMisuse("the last advance is not finished yet")
        if self.status is not CampaignStatus.RUNNING:
            return self._refusal_at_the_end()
        try:
            kind, fields = read_payload(payload)
        except ActionRejected as problem:
            return self._record(None, self._error(problem))
        sent = {"action": kind.value, **fields}
        try:
            action = parse_action(kind, fields, self._contract, self.feedback)
            self._account.check(kind, closing=self._is_closing(action))
            result = self._carry_out(action)
        except ActionRejected as problem:
            self._account.charge_rejection(kind)
            return self._record(sent, self._error(problem))
        self._account.charge(kind)
        if isinstance(result, PendingAdvance):
            self.pending, self._waiting = result, sent
            return result
        return self._answer(sent, result)

    def finish(self) -> Reply:
        """Answer the pending advance, after the facility has been stepped to its tick.

        Raises:
            CampaignMisuse: no advance is pending.
        """
        pending, sent = self.pending, self._waiting
        if pending is None:
            raise CampaignMisuse("there is no advance to finish")
        self.pending = None
        report = self.facility.failure()
        if report is not None:
            self.fail(f"{report.kind.value} at tick {report.tick}: {report.message}")
        elif self.facility.tick != pending.target_tick:
            self.fail(f"the facility stands at {self.facility.tick}, not {pending.target_tick}")
        if self.status is not CampaignStatus.RUNNING:
            return self._record(sent, self._refusal_at_the_end())
        return self._answer(sent, self._view.state())

    def dispatch(self, payload: object) -> Reply:
        """Take one action, let time pass where it asks for it, and answer."""
        outcome = self.begin(payload)
        if isinstance(outcome, Reply):
            return outcome
        try:
            self._stepping(self.facility, outcome.target_tick)
        except Exception as error:
            self.fail(repr(error))
        return self.finish()

    def assign_feedback(self, feedback: Feedback) -> None:
        """Tell the feedback mode after the day-0 design.

        Raises:
            CampaignMisuse: a mode is assigned already, time has passed, or the mode is none.
        """
        if self.feedback is not Feedback.UNASSIGNED or feedback is Feedback.UNASSIGNED:
            raise CampaignMisuse("a feedback mode is assigned once, to a campaign without one")
        if self.facility.tick != 0 or self.pending is not None:
            raise CampaignMisuse("a feedback mode is assigned before time passes")
        self._view.feedback = _checked(feedback, self._setting)
        self.history.assign(self.task())

    def freeze_initial_recommendation(self, raw: object) -> str | None:
        """Take the recommendation from before the experiments as the fallback.

        Args:
            raw: a policy as the agent gave it.

        Returns:
            What is wrong with it, and the fallback stays as it was; None if it was taken.

        Raises:
            CampaignMisuse: one was taken already, or time has passed.
        """
        taken = self._fallback.source is PolicySource.INITIAL_RECOMMENDATION
        if taken or self.facility.tick != 0 or self.pending is not None:
            raise CampaignMisuse("one initial recommendation is taken, before time passes")
        try:
            policy = parse_policy(raw, self._contract.policy)
        except PolicyError as error:
            return str(error)
        self._fallback = Fallback(policy, PolicySource.INITIAL_RECOMMENDATION)
        return None

    def fail(self, detail: str) -> None:
        """Freeze the campaign after a technical failure; the first cause is kept.

        Args:
            detail: private description.
        """
        if self.status is CampaignStatus.RUNNING:
            self.status = CampaignStatus.INFRASTRUCTURE_FAILURE
            self._failure = detail

    def settle(self) -> Settlement:
        """End the campaign. A second call returns the same settlement.

        Raises:
            CampaignMisuse: an advance is pending.
        """
        if self._settlement is not None:
            return self._settlement
        if self.status is CampaignStatus.RUNNING:
            if self.pending is not None:
                raise CampaignMisuse("the last advance is not finished yet")
            ended = self._at_end()
            self.status = CampaignStatus.FINISHED if ended else CampaignStatus.CLOSED
        self._settlement = self._settled()
        return self._settlement

    def _at_end(self) -> bool:
        return self.facility.tick == self._contract.calendar.campaign_ticks

    def _is_closing(self, action: Action) -> bool:
        """Whether an action may use the reserve."""
        if isinstance(action, Advance):
            return action.tick == self._contract.calendar.campaign_ticks and not self._at_end()
        return isinstance(action, Recommend) and self._at_end()

    def _carry_out(self, action: Action) -> dict[str, Any] | PendingAdvance:
        """Check an action against the campaign's state and do it; all checks come first."""
        if isinstance(action, Start):
            return start(action, self._view)
        if isinstance(action, Stop):
            return stop(action, self._view)
        if isinstance(action, Observe):
            return observe(action, self._view)
        if isinstance(action, Recommend):
            return self._recommend(action)
        check_advance(action, self._view)
        if action.tick > self.facility.tick:
            return PendingAdvance(action.tick)
        return self._view.state()

    def _recommend(self, action: Recommend) -> dict[str, Any]:
        if not self._at_end():
            days = self._contract.calendar.campaign_days
            raise ActionRejected(
                Reason.BEFORE_DEADLINE, f"a recommendation is taken on day {days} only"
            )
        self._recommended.append(action)
        day = self._view.day()
        if action.policy is None:
            problem = f"{action.problem}; the fallback counts unless a valid one follows"
            return {"day": day, "recommendation": "invalid", "problem": problem}
        self._account.released = True
        return {"day": day, "recommendation": "accepted"}

    def _answer(self, sent: dict[str, Any], result: dict[str, Any]) -> Reply:
        return self._record(sent, Reply.success({**result, "budget": self._account.report()}))

    def _error(self, problem: ActionRejected) -> Reply:
        self._rejections[problem.reason.value] += 1
        budget = self._account.report()
        return Reply.failure(
            ErrorInfo(ErrorKind.INVALID_ACTION, problem.reason, problem.message, budget)
        )

    def _record(self, sent: dict[str, Any] | None, reply: Reply) -> Reply:
        self.history.add(sent, reply.payload())
        return reply

    def _refusal_at_the_end(self) -> Reply:
        """The reply to anything once the campaign is frozen or settled."""
        return FROZEN if self.status is CampaignStatus.INFRASTRUCTURE_FAILURE else CLOSED

    def _settled(self) -> Settlement:
        failed = self.status is CampaignStatus.INFRASTRUCTURE_FAILURE
        last = self._recommended[-1] if self._recommended else None
        outcome = settled_policy(last, self._fallback, at_end=self._at_end())
        policy, source, reason = (None, None, None) if failed else outcome
        return Settlement(
            status=self.status,
            feedback=self.feedback,
            day=self._view.day(),
            policy=policy,
            source=source,
            fallback_reason=reason,
            recommendations=len(self._recommended),
            budget=self._account.report(),
            rejections=dict(self._rejections),
            exchanged=self._view.exchange.pairs(),
            failure=self._failure,
            private=self.facility.private_report(),
        )


def _checked(feedback: Feedback, setting: CampaignSetting) -> Feedback:
    """The mode, if the setting has what it needs."""
    if feedback is Feedback.SHUFFLED and not setting.shuffle_key:
        raise CampaignMisuse("the shuffled mode needs a key from the seed tree")
    return feedback


def _step_alone(facility: Facility, tick: int) -> None:
    """Step one facility by its own simulator."""
    from slowlab.world.facility import advance_together  # brings the compiled step

    advance_together(facility.simulator, [(facility, tick)])
