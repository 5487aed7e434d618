"""The protocol document says what the code does."""

import re

import pytest

from slowlab.campaign.actions import ACTION_LIMITS, allowed_fields
from slowlab.campaign.budget import ActionKind
from slowlab.campaign.errors import ErrorKind, Reason
from slowlab.campaign.rounding import DECIMALS
from slowlab.campaign.settlement import FallbackReason
from slowlab.world.facility_books import UnitEvent, UnitPhase
from slowlab.world.task import Feedback
from tests.campaign.protocol_document import DOCUMENT, EXAMPLE, render


@pytest.fixture(scope="module")
def text():
    return DOCUMENT.read_text(encoding="utf-8")


def column(text, header, number=1):
    """Names in back-ticks in one column of the table with a header."""
    table = text[text.index(header) :].split("\n\n")[0].splitlines()[2:]
    return [re.findall(r"`([a-z_]+)`", row.split("|")[number]) for row in table]


def test_the_examples_are_what_the_executor_answers(text):
    assert len(EXAMPLE.findall(text)) >= 7
    assert render(text) == text, "run: python -m tests.campaign.protocol_document"


def test_every_action_stands_with_its_fields_and_costs(text):
    header = "| action | fields |"
    names = [row[0] for row in column(text, header)]
    assert names == list(ActionKind)
    for name, fields in zip(names, column(text, header, 2), strict=True):
        required, optional = allowed_fields(ActionKind(name), Feedback.FULL)
        assert tuple(fields) == required + optional
    rows = text[text.index(header) :].splitlines()[2:7]
    for name, row in zip(names, rows, strict=True):
        assert ("decision" in row.split("|")[4]) == ActionKind(name).is_decision


def test_every_reason_mode_and_ending_stands(text):
    assert [row[0] for row in column(text, "| reason | refused because")] == list(Reason)
    assert {row[0] for row in column(text, "| mode | states")} == set(Feedback)
    given = [row[0] for row in column(text, "| the agent's last recommendation", 3) if row]
    assert sorted(given) == sorted(FallbackReason)
    for name in (*ErrorKind, *UnitPhase, *UnitEvent):
        assert f"`{name}`" in text


def test_numbers_are_those_of_the_contract(text, contract):
    budget, calendar = contract.budget, contract.calendar
    flat = " ".join(text.split())
    for words in (
        f"{budget.interface_calls} calls, {budget.decision_calls} decisions, ",
        f" decisions, {budget.starts} starts",
        f"the last {budget.reserved_interface_calls} calls",
        f"at most {budget.raw_records_per_read} reading times",
        f"At most {budget.days_per_daily_read} days",
        f"once they are {budget.record_delay_days} days old",
        f"at the latest on day {calendar.latest_start_day}",
        f"on day {calendar.campaign_days} only",
        f"{calendar.tick_seconds} s steps",
        f"n/{calendar.ticks_per_day}",
        f"{ACTION_LIMITS.max_bytes:,} bytes",
        f"{ACTION_LIMITS.max_depth} levels",
        f"{ACTION_LIMITS.max_number_chars} characters",
    ):
        assert words in flat
    assert DECIMALS == 6
    assert budget.reserved_decision_calls == 1
    assert calendar.cleanup_days == 2
