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

from slowlab.agents.step_words import unit_words
from slowlab.agents.steps import TOTALS
from slowlab.agents.transcript_format import BLOCKED, TranscriptKind
from slowlab.analysis.campaign_facts import CampaignFacts, idle_share
from slowlab.campaign.budget import ActionKind
from slowlab.campaign.pool_results import Ending
from slowlab.campaign.settlement import CampaignStatus, FallbackReason
from slowlab.world.contract import Contract

SAFETY_STOP = "safety_stop"
"""How a crop ends that a safety rule stopped, in the table of crops."""
PROTOCOL_ERROR = "protocol_error"
"""How a program ends that broke the rules of the wire."""


class FailureClass(StrEnum):
    """Why a campaign failed, in the order in which the rules are tried.

    Attributes:
        FIREWALL: a prompt would have held what must stay hidden.
        INFRASTRUCTURE: it was not run, the machinery failed, or a scoring run did.
        BUDGET: calls, decisions or the prompt budget ran out before its end.
        FORMAT: most answers led to nothing, or the last ones all failed alike, and rather because
            they could not be used than because the action was rejected.
        RULES: its recommendation was invalid; or as before, rather because the action was rejected.
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
    return Failure(kind, evidence, _records(kind, facts))


def _blocked(facts: CampaignFacts) -> bool:
    return facts.campaign is not None and _broke_off(facts) and facts.count(BLOCKED) > 0


def _broke_off(facts: CampaignFacts) -> bool:
    """Whether it was not settled; one that the harness breaks off has no status at all."""
    return facts.word("status") not in (CampaignStatus.FINISHED, CampaignStatus.CLOSED)


def _technical(facts: CampaignFacts) -> str:
    if facts.campaign is None:
        return "no such campaign"
    if _broke_off(facts):
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
    if errors >= refused and (alike := _alike(facts)):
        return f"{alike}unusable answers: {errors} of {asked}"
    if errors >= refused and _mostly_wasted(facts):
        return f"unusable answers: {errors}, rejected actions: {refused}, of {asked}"
    return f"ending: {PROTOCOL_ERROR}" if facts.word("ending") == PROTOCOL_ERROR else ""


def _rules(facts: CampaignFacts, _: Contract) -> str:
    if facts.word("fallback_reason") == FallbackReason.INVALID_RECOMMENDATION:
        return f"fallback: {FallbackReason.INVALID_RECOMMENDATION}"
    errors, refused, asked = _wasted(facts)
    alike = _alike(facts)
    often = refused > errors and (alike or _mostly_wasted(facts))
    words = f"{alike}rejected actions: {refused}, unusable answers: {errors}, of {asked}"
    return words if often else ""


def _alike(facts: CampaignFacts) -> str:
    """What to say of a harness that ended the campaign after errors that were all alike."""
    return "ended by errors that were all alike; " if facts.count("identical_errors") else ""


def _wasted(facts: CampaignFacts) -> tuple[int, int, int]:
    """Unusable answers, rejected actions, and all answers; calls for a numerical method."""
    asked = facts.count("calls" if facts.agent is None else "answers")
    return facts.count("format_errors"), facts.count("rejections"), asked


def _mostly_wasted(facts: CampaignFacts) -> bool:
    errors, refused, asked = _wasted(facts)
    return errors + refused > 0 and errors + refused >= facts.most_share * asked


def _safety(facts: CampaignFacts, _: Contract) -> str:
    stopped = [] if _lost(facts) else _stopped(facts)
    names = ", ".join(f"{unit}/{number}" for unit, number in stopped)
    return f"safety stops of compartment/crop {names}" if stopped else ""


def _stopped(facts: CampaignFacts) -> list[tuple[int, int]]:
    """Compartment and number of the crops that were lost to a safety stop."""
    rows = facts.crops[facts.crops["reason"] == SAFETY_STOP]
    return [(int(row.unit), int(row.run_index)) for row in rows.itertuples()]


def _premature(facts: CampaignFacts, contract: Contract) -> str:
    if facts.word("fallback_reason") == FallbackReason.DEADLINE_NOT_REACHED:
        return f"fallback: {FallbackReason.DEADLINE_NOT_REACHED}"
    share = idle_share(facts, contract)
    early = not _lost(facts) and share >= facts.most_share
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


def _records(kind: FailureClass, facts: CampaignFacts) -> tuple[int, ...]:
    """Numbers of the records that show a class."""
    steps = facts.steps
    if steps.empty:
        return ()
    return tuple(int(number) for number in steps.loc[_SHOWN_BY[kind](facts), "sequence"])


def _flags(*names: str) -> Callable[[CampaignFacts], pd.Series]:
    words = tuple(f"flag: {name.replace('_', ' ')}" for name in names)
    return lambda facts: _of_kind(facts, TranscriptKind.FLAG) & facts.steps["action"].isin(words)


def _of_kind(facts: CampaignFacts, *kinds: str) -> pd.Series:
    return facts.steps["kind"].isin([str(kind) for kind in kinds])


def _refused(facts: CampaignFacts) -> pd.Series:
    return _of_kind(facts, *ActionKind, "unreadable") & (facts.steps["ok"] == "no")


def _where_it_broke_off(facts: CampaignFacts) -> pd.Series:
    """The last record of a campaign that the machinery ended; a scoring run has none."""
    last = facts.steps["sequence"] == facts.steps["sequence"].max()
    return last & (facts.campaign is not None and _broke_off(facts))


def _plantings_and_losses(facts: CampaignFacts) -> pd.Series:
    """Where the crops that were lost were planted, and where their ends were read."""
    steps = facts.steps
    shown = pd.Series(False, index=steps.index)
    for unit, number in _stopped(facts):
        here = steps["action"].str.match(rf"(?:plant|read) {unit_words(unit)}\b")
        for kind, words in (
            (ActionKind.START, f"crop {number} planted"),
            (TOTALS, f"crop {number} {SAFETY_STOP.replace('_', ' ')},"),
        ):
            told = steps["outcome"].str.contains(words, regex=False)
            shown |= _of_kind(facts, kind) & here & told
    return shown


_SHOWN_BY: dict[FailureClass, Callable[[CampaignFacts], pd.Series]] = {
    FailureClass.FIREWALL: _flags(BLOCKED),
    FailureClass.INFRASTRUCTURE: _where_it_broke_off,
    FailureClass.BUDGET: _flags("forced_advance", "context_exhausted"),
    FailureClass.FORMAT: lambda facts: _of_kind(facts, TranscriptKind.ERROR),
    FailureClass.RULES: _refused,
    FailureClass.SAFETY: _plantings_and_losses,
    FailureClass.PREMATURE_FINISH: lambda facts: _of_kind(facts, ActionKind.START),
    FailureClass.NO_RECOMMENDATION: lambda facts: _of_kind(facts, TranscriptKind.ENDING),
    FailureClass.CAPABILITY_GAP: lambda facts: _of_kind(facts, ActionKind.RECOMMEND),
}
"""Which steps show a class."""
