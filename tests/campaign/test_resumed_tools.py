"""Tool calls in journals: tools of a resumed campaign, and calls that no journal can hold."""

from __future__ import annotations

from collections import UserDict

import numpy as np

from slowlab.campaign.errors import Reason, Reply
from slowlab.campaign.journal import Durability, Journal, read_journal
from slowlab.campaign.pool import Ending, Entry, run_pool
from slowlab.campaign.replay import catch_up, replay_journals
from slowlab.campaign.session import FailureKind, ToolCall
from tests.campaign.sessions import (
    END,
    FakeStepping,
    advance,
    cut,
    fake_session,
    start,
)


class CountingTools:
    """Answers with the number of the call, so that a lost call is seen."""

    def __init__(self):
        self.calls = 0

    def __call__(self, call):
        self.calls += 1
        return Reply.success({"call": self.calls, "tool": call.name})


def test_tools_are_brought_to_where_they_stood(campaign, tmp_path):
    """A resumed campaign goes on with tools that remember; without tools, uses are passed over."""
    with Journal.open(tmp_path / "a") as journal:
        session = fake_session(campaign(), FakeStepping(), journal)
        tools = CountingTools()
        for item in (start(0), advance(10)):
            session.dispatch(item)
            session.use_tool(ToolCall("runs", {}), tools)
    for tools in (CountingTools(), None):
        with Journal.open(tmp_path / "a") as journal:
            session = fake_session(campaign(), FakeStepping(), journal)
            assert catch_up(session, journal, tools=tools).actions == 2
            assert session.failure is None
            assert not journal.following
            assert session.requests == (4 if tools else 2)
    assert tools is None


def test_tools_that_answer_otherwise_freeze_a_resumed_campaign(campaign, tmp_path):
    with Journal.open(tmp_path / "a") as journal:
        session = fake_session(campaign(), FakeStepping(), journal)
        session.use_tool(ToolCall("runs", {}), CountingTools())
    with Journal.open(tmp_path / "a") as journal:
        session = fake_session(campaign(), FakeStepping(), journal)
        catch_up(session, journal, tools=lambda call: Reply.success({"call": 7}))
    assert session.failure.kind is FailureKind.DIVERGED


class BrokenMapping(UserDict):
    """Arguments that cannot be read."""

    def __iter__(self):
        raise RuntimeError


def calls_that_are_no_plain_data():
    """Tool calls that no journal can hold."""
    itself = []
    itself += [itself, itself]
    values = (float("nan"), np.int64(1), object(), "\ud800", 10**400, {1: 2}, itself)
    arguments = [{"n": value} for value in values]
    arguments += [{1: 2}, [("n", 1)], None, BrokenMapping(n=1)]
    return [ToolCall("runs", item) for item in arguments] + [ToolCall(7, {})]


def test_a_tool_call_that_is_no_plain_data_is_refused(campaign, tmp_path):
    """It is an error of the method: the campaign goes on, and can be resumed and replayed."""
    bad, tools = calls_that_are_no_plain_data(), CountingTools()
    with Journal.open(tmp_path / "a", durability=Durability.PROCESS) as journal:
        session = fake_session(campaign(), FakeStepping(), journal)
        for item in (start(0), advance(10)):
            session.dispatch(item)
            for call in bad:
                reply = session.use_tool(call, tools)
                assert not reply.ok
                assert reply.error.reason is Reason.MALFORMED
            assert session.use_tool(ToolCall("runs", {}), tools).ok
        assert session.failure is None
        assert tools.calls == 2
        assert session.settle().rejections == {}
    content = read_journal(tmp_path / "a")
    before_the_end = len(content.records) - 1
    for tools in (CountingTools(), None):
        path = cut(tmp_path / "a", tmp_path / f"cut-{tools is None}", before_the_end)
        with Journal.open(path, durability=Durability.PROCESS) as journal:
            session = fake_session(campaign(), FakeStepping(), journal)
            assert catch_up(session, journal, tools=tools).actions == 2
            assert session.failure is None
            assert not journal.following
            assert session.dispatch(advance(20)).ok

    def opened(header, comparison):
        return fake_session(campaign(), FakeStepping(), comparison)

    (report,) = replay_journals({tmp_path / "a": content}, opened)
    assert report.passed


def test_a_method_may_go_on_after_a_tool_call_that_is_no_plain_data(campaign):
    def method():
        reply = yield ToolCall("runs", {"n": float("inf")})
        assert reply.error.reason is Reason.MALFORMED
        yield advance(END)

    session = fake_session(campaign(), FakeStepping())
    (result,) = run_pool([Entry("a", session, method(), tools=CountingTools())])
    assert result.ending is Ending.SETTLED
