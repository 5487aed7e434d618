"""Why a campaign failed: one class each, by rules alone.

A campaign *failed* if it has no score, if a fallback counts in the place of its recommendation
(*lost*), or if its recommendation scores no better than the policy without experiments (*weak*).
The class is that of the first rule that holds, in the order of :class:`FailureClass`; a campaign
that did not fail has none, whatever went wrong on its way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from slowlab.agents.transcript_format import BLOCKED, TranscriptKind
from slowlab.analysis.campaign_facts import CampaignFacts, idle_share
from slowlab.campaign.budget import ActionKind
from slowlab.campaign.pool_results import Ending
from slowlab.campaign.settlement import CampaignStatus, FallbackReason
from slowlab.world.contract import Contract

MOST = 0.5
"""From this share on, answers that led to nothing or idle compartments explain a failure."""
PROTOCOL_ERROR = "protocol_error"
"""How a program ends that broke the rules of the wire."""


class FailureClass(StrEnum):
    """Why a campaign failed, in the order in which the rules are tried.

    Attributes:
        FIREWALL: a prompt would have held what must stay hidden.
        INFRASTRUCTURE: it was not run, the machinery failed, or a scoring run did.
        BUDGET: calls, decisions or the prompt budget ran out before its end.
        FORMAT: most answers led to nothing, rather because they could not be used than because the
            action was rejected; or the last ones all failed alike.
        RULES: its recommendation was invalid, or most answers led to nothing, rather because the
            action was rejected.
        SAFETY: a crop was lost to a safety stop; of weak campaigns only.
        PREMATURE_FINISH: it ended before the last day, or was weak and left compartments idle for
            most of the time.
        NO_RECOMMENDATION: it gave none, for no reason named above.
        CAPABILITY_GAP: it was weak, for no reason named above.
        NONE: it did not fail.
    """

    FIREWALL = "firewall"
    INFRASTRUCTURE = "infrastructure"
    BUDGET = "budget"
    FORMAT = "format"
    RULES = "rules"
    SAFETY = "safety"
    PREMATURE_FINISH = "premature_finish"
    NO_RECOMMENDATION = "no_recommendation"
    CAPABILITY_GAP = "capability_gap"
    NONE = "none"


@dataclass(frozen=True)
class Failure:
    """The class of a campaign and what shows it.

    Attributes:
        kind: the class.
        evidence: values of the study's tables that decided.
        records: numbers of the records of its transcript or journal behind them, ascending; empty
            where the steps were not kept, and where no single record shows it.
    """

    kind: FailureClass
    evidence: str = ""
    records: tuple[int, ...] = ()


def classify(facts: CampaignFacts, contract: Contract) -> Failure:
    """The class of one campaign.

    Args:
        facts: what is known of it.
        contract: rules of the task.
    """
    if _blocked(facts):
        kind, evidence = FailureClass.FIREWALL, f"blocked calls: {facts.count(BLOCKED)}"
    elif technical := _technical(facts):
        kind, evidence = FailureClass.INFRASTRUCTURE, technical
    elif not (_lost(facts) or _weak(facts)):
        return Failure(FailureClass.NONE)
    else:
        found = ((kind, rule(facts, contract)) for kind, rule in _RULES)
        kind, evidence = next((kind, words) for kind, words in found if words)
    return Failure(kind, evidence, _records(kind, facts.steps))


def _blocked(facts: CampaignFacts) -> bool:
    failed = facts.word("status") == CampaignStatus.INFRASTRUCTURE_FAILURE
    return failed and facts.count(BLOCKED) > 0


def _technical(facts: CampaignFacts) -> str:
    if facts.campaign is None:
        return "no such campaign"
    if facts.word("status") not in (CampaignStatus.FINISHED, CampaignStatus.CLOSED):
        return f"status: {facts.word('status') or 'none'}, ending: {facts.word('ending')}"
    return f"no score: {facts.missing}" if facts.score is None else ""


def _lost(facts: CampaignFacts) -> bool:
    return facts.word("fallback_reason") != ""


def _weak(facts: CampaignFacts) -> bool:
    return facts.gain is not None and facts.gain <= 0.0


def _budget(facts: CampaignFacts, contract: Contract) -> str:
    """What ran out. A harness also goes to the last day after answers that all failed alike."""
    if facts.count("context_exhausted"):
        return "prompt budget used up"
    if facts.count("forced_advance") and not facts.count("identical_errors"):
        return "sent to the last day because a budget was used up"
    if facts.word("ending") == Ending.REQUEST_LIMIT:
        return f"ending: {Ending.REQUEST_LIMIT}"
    limits = contract.budget
    free_calls = limits.interface_calls - limits.reserved_interface_calls
    free_decisions = limits.decision_calls - limits.reserved_decision_calls
    if _lost(facts) and facts.count("calls") >= free_calls:
        return f"calls: {facts.count('calls')} of {limits.interface_calls}"
    if _lost(facts) and facts.count("decisions") >= free_decisions:
        return f"decisions: {facts.count('decisions')} of {limits.decision_calls}"
    return ""


def _format(facts: CampaignFacts, _: Contract) -> str:
    errors, refused, asked = _wasted(facts)
    if facts.count("identical_errors"):
        return f"ended by errors that were all alike; unusable answers: {errors} of {asked}"
    if errors >= refused and _mostly_wasted(facts):
        return f"unusable answers: {errors}, rejected actions: {refused}, of {asked}"
    return f"ending: {PROTOCOL_ERROR}" if facts.word("ending") == PROTOCOL_ERROR else ""


def _rules(facts: CampaignFacts, _: Contract) -> str:
    if facts.word("fallback_reason") == FallbackReason.INVALID_RECOMMENDATION:
        return f"fallback: {FallbackReason.INVALID_RECOMMENDATION}"
    errors, refused, asked = _wasted(facts)
    often = refused > errors and _mostly_wasted(facts)
    return f"rejected actions: {refused}, unusable answers: {errors}, of {asked}" if often else ""


def _wasted(facts: CampaignFacts) -> tuple[int, int, int]:
    """Unusable answers, rejected actions, and all answers; calls for a numerical method."""
    asked = facts.count("calls" if facts.agent is None else "answers")
    return facts.count("format_errors"), facts.count("rejections"), asked


def _mostly_wasted(facts: CampaignFacts) -> bool:
    errors, refused, asked = _wasted(facts)
    return errors + refused > 0 and errors + refused >= MOST * asked


def _safety(facts: CampaignFacts, _: Contract) -> str:
    stopped = facts.crops[facts.crops["reason"] == "safety_stop"]
    if _lost(facts) or stopped.empty:
        return ""
    names = ", ".join(f"{row.unit}/{row.run_index}" for row in stopped.itertuples())
    return f"safety stops of compartment/crop {names}"


def _premature(facts: CampaignFacts, contract: Contract) -> str:
    if facts.word("fallback_reason") == FallbackReason.DEADLINE_NOT_REACHED:
        return f"fallback: {FallbackReason.DEADLINE_NOT_REACHED}"
    share = idle_share(facts, contract)
    early = not _lost(facts) and share >= MOST
    return f"share of idle days: {share:.2f}, crops: {len(facts.crops)}" if early else ""


def _no_recommendation(facts: CampaignFacts, _: Contract) -> str:
    lost = f"fallback: {facts.word('fallback_reason')}, ending: {facts.word('ending')}"
    return lost if _lost(facts) else ""


def _gap(facts: CampaignFacts, _: Contract) -> str:
    return f"gain over the policy without experiments: {facts.gain:.2f} EUR/m2"


_RULES: tuple[tuple[FailureClass, Callable[[CampaignFacts, Contract], str]], ...] = (
    (FailureClass.BUDGET, _budget),
    (FailureClass.FORMAT, _format),
    (FailureClass.RULES, _rules),
    (FailureClass.SAFETY, _safety),
    (FailureClass.PREMATURE_FINISH, _premature),
    (FailureClass.NO_RECOMMENDATION, _no_recommendation),
    (FailureClass.CAPABILITY_GAP, _gap),
)
"""Rules for campaigns that are lost or weak; each returns its evidence, empty where it fails."""


def _records(kind: FailureClass, steps: pd.DataFrame) -> tuple[int, ...]:
    """Numbers of the records that show a class."""
    if steps.empty or kind not in _SHOWN_BY:
        return ()
    return tuple(int(number) for number in steps.loc[_SHOWN_BY[kind](steps), "sequence"])


def _flags(*names: str) -> Callable[[pd.DataFrame], pd.Series]:
    words = tuple(f"flag: {name.replace('_', ' ')}" for name in names)
    return lambda steps: (steps["kind"] == TranscriptKind.FLAG) & steps["action"].isin(words)


_BY_KIND = tuple(str(kind) for kind in (*ActionKind, "unreadable"))
_SHOWN_BY: dict[FailureClass, Callable[[pd.DataFrame], pd.Series]] = {
    FailureClass.FIREWALL: _flags(BLOCKED),
    FailureClass.BUDGET: _flags("forced_advance", "context_exhausted"),
    FailureClass.FORMAT: lambda steps: steps["kind"] == TranscriptKind.ERROR,
    FailureClass.RULES: lambda steps: steps["kind"].isin(_BY_KIND) & (steps["ok"] == "no"),
    FailureClass.PREMATURE_FINISH: lambda steps: steps["kind"] == ActionKind.START,
    FailureClass.NO_RECOMMENDATION: lambda steps: steps["kind"] == TranscriptKind.ENDING,
    FailureClass.CAPABILITY_GAP: lambda steps: steps["kind"] == ActionKind.RECOMMEND,
}
"""Which steps show a class."""
