"""The client against a real endpoint that misbehaves: every failure has its name."""

import socket
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from slowlab.agents.client import AttemptFailedError, ModelClient
from slowlab.agents.completions import retry_after_s
from slowlab.agents.messages import ModelReply, Usage
from slowlab.agents.models import ModelConfig
from slowlab.agents.outages import AttemptFault
from slowlab.agents.prices import CostSource
from slowlab.canonical import canonical_bytes
from tests.agents.fault_server import FaultServer, Step
from tests.agents.model_configs import call, model


@pytest.fixture(scope="module", autouse=True)
def usual():
    """A server that does the steps of a list, and a client with the usual configuration."""
    steps = []
    with (
        FaultServer(then=lambda _: steps.pop(), honours_keys=False) as server,
        closing(ModelClient(model(), server.base_url)) as client,
    ):
        ask.usual = (steps, client)
        yield


def ask(step: Step, config: ModelConfig | None = None) -> ModelReply:
    """One attempt at a server that does one step."""
    if config is None:
        steps, client = ask.usual
        steps.append(step)
        return client.send(call(), "key-1")
    with (
        FaultServer([step]) as server,
        closing(ModelClient(config, server.base_url)) as client,
    ):
        return client.send(call(), "key-1")


def failure(step: Step, config: ModelConfig | None = None) -> AttemptFailedError:
    with pytest.raises(AttemptFailedError) as caught:
        ask(step, config)
    return caught.value


def test_an_answer_with_its_usage():
    usage = {
        "prompt_tokens": 120,
        "completion_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 100},
        "completion_tokens_details": {"reasoning_tokens": 5},
        "cost": 0.0125,
    }
    reply = ask({"do": "answer", "text": "wait", "usage": usage, "provider": "Xiaomi"})
    assert reply == ModelReply(
        "wait", (), "stop", "tested-1", "Xiaomi", Usage(120, 30, 100, 5, 0.0125)
    )
    assert ModelReply.from_payload(reply.payload()) == reply


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        [],
        {"prompt_tokens": None, "cost": None},
        {"prompt_tokens": "120", "completion_tokens": True, "cost": "0"},
        {"prompt_tokens": -1, "completion_tokens": 1.5, "cost": -0.1},
        {"prompt_tokens": 10**400, "cost": 10**400},
    ],
)
def test_usage_that_is_absent_or_absurd_is_unknown_and_never_zero(usage):
    reply = ask({"do": "body", "body": {"choices": [_choice("hi")], "usage": usage}})
    assert reply.usage == Usage()
    cost = model().cost(reply.usage)
    assert (cost.usd, cost.source) == (None, CostSource.UNKNOWN)


def test_cache_hits_as_the_maker_of_deepseek_reports_them():
    usage = {"prompt_tokens": 10, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}
    assert ask({"do": "answer", "usage": usage}).usage.cached_tokens == 4


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        ({"do": "status", "status": 429}, AttemptFault.RATE_LIMITED),
        *(
            ({"do": "status", "status": status}, AttemptFault.SERVER_ERROR)
            for status in (500, 502, 503, 504, 529, 408, 409, 425)
        ),
        *(
            ({"do": "status", "status": status}, AttemptFault.REFUSED)
            for status in (400, 401, 402, 403, 404, 413, 422, 302)
        ),
        ({"do": "drop"}, AttemptFault.CONNECTION_LOST),
        ({"do": "reset"}, AttemptFault.CONNECTION_LOST),
        ({"do": "cut", "framing": "length"}, AttemptFault.CUT_BODY),
        ({"do": "cut", "framing": "chunked"}, AttemptFault.CUT_BODY),
        ({"do": "cut", "framing": "reset"}, AttemptFault.CUT_BODY),
        ({"do": "answer", "finish_reason": "length"}, AttemptFault.LENGTH_STOP),
        ({"do": "answer", "text": ""}, AttemptFault.EMPTY),
        ({"do": "answer", "text": " \n"}, AttemptFault.EMPTY),
        ({"do": "answer", "finish_reason": "error"}, AttemptFault.SERVER_ERROR),
        ({"do": "body", "body": "<html>busy</html>", "content_type": "text/html"}, "garbled"),
        ({"do": "body", "body": ""}, AttemptFault.GARBLED),
        ({"do": "body", "body": "[" * 100_000}, AttemptFault.GARBLED),
        ({"do": "body", "body": "[]"}, AttemptFault.GARBLED),
        ({"do": "body", "body": {"choices": []}}, AttemptFault.GARBLED),
        ({"do": "body", "body": {"choices": [{"message": "hi"}]}}, AttemptFault.GARBLED),
        ({"do": "body", "body": {"choices": {"0": {}}}}, AttemptFault.GARBLED),
        ({"do": "body", "body": 'data: {"choices": []}\n\n'}, AttemptFault.GARBLED),
        ({"do": "body", "body": {"error": {"code": 429, "message": "m"}}}, "rate_limited"),
        ({"do": "body", "body": {"error": {"code": 502, "message": "m"}}}, "server_error"),
        ({"do": "body", "body": {"error": {"code": 403, "message": "m"}}}, "refused"),
        ({"do": "body", "body": {"error": {"code": "odd", "message": "m"}}}, "garbled"),
    ],
)
def test_every_failure_has_its_name(step, fault):
    error = failure(step)
    assert error.fault == fault
    assert 0 < len(error.detail) <= 300


def test_nothing_listens():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        with (
            closing(ModelClient(model(), address)) as client,
            pytest.raises(AttemptFailedError) as caught,
        ):
            client.send(call(), "k")
    assert caught.value.fault is AttemptFault.CONNECTION_LOST
    assert not caught.value.maybe_billed


@pytest.mark.parametrize(
    "step",
    [
        {"do": "stall", "seconds": 30},
        {"do": "drip", "interval": 0.05},
        {"do": "drip_head", "interval": 0.05},
    ],
)
def test_no_answer_in_time(step):
    begin = time.monotonic()
    error = failure(step, model(timeout_s=0.4))
    assert error.fault is AttemptFault.TIMED_OUT
    assert error.maybe_billed
    assert time.monotonic() - begin < 3


def test_a_slow_answer_within_the_time_is_an_answer():
    assert ask({"do": "wait_and_answer", "seconds": 0.2}, model(timeout_s=2.0)).text == "hello"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_is_asked_for(headers, seconds):
    for status in (429, 503):
        error = failure({"do": "status", "status": status, "headers": headers})
        assert error.retry_after_s == seconds


def test_a_date_is_compared_with_the_clock_of_the_endpoint():
    headers = {"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}
    assert retry_after_s({**headers, "date": "Wed, 21 Oct 2026 07:28:00 GMT"}) == 30.0
    soon = datetime.now(UTC) + timedelta(seconds=100)
    assert 95 < retry_after_s({"retry-after": format_datetime(soon, usegmt=True)}) <= 100


def test_reasoning_never_takes_the_place_of_an_answer():
    message = {
        "role": "assistant",
        "content": None,
        "reasoning": '{"type":"design_complete"}',
        "reasoning_content": '{"type":"design_complete"}',
    }
    error = failure({"do": "answer", "message": message})
    assert error.fault is AttemptFault.EMPTY
    assert error.reply.text == ""
    assert error.reply.usage.completion_tokens == 10
    assert error.cost(model()).source is CostSource.PRICE_TABLE


def test_a_cut_answer_brings_what_came():
    error = failure({"do": "answer", "text": "half", "finish_reason": "length"})
    assert error.reply.text == "half"
    assert error.maybe_billed


@pytest.mark.parametrize(
    ("expected", "served", "accepted"),
    [
        ("tested-1", "tested-1", True),
        ("tested-1", "tested-1-0801", False),
        ("tested-1*", "tested-1-0801", True),
        ("tested-1*", "tested-2", False),
        ("tested-1*", None, False),
        ("tested-1", None, False),
        (None, "anything", True),
        (None, None, True),
    ],
)
def test_which_model_answered(expected, served, accepted):
    step = {"do": "body", "body": {"choices": [_choice("hi")], "model": served}}
    config = model(expected_model=expected)
    if accepted:
        assert ask(step, config).served_model == served
    else:
        error = failure(step, config)
        assert error.fault is AttemptFault.WRONG_MODEL
        assert error.reply.text == "hi"


@pytest.mark.parametrize(
    ("provider", "accepted"), [("z.ai", True), ("Other", False), (None, False)]
)
def test_which_provider_answered(provider, accepted):
    step = {"do": "answer", "provider": provider}
    config = model(expected_provider="Z.AI")
    if accepted:
        assert ask(step, config).provider == provider
    else:
        assert failure(step, config).fault is AttemptFault.WRONG_PROVIDER


def test_what_may_have_been_billed_has_no_known_cost():
    billed = [{"do": "drop"}, {"do": "cut", "framing": "length"}, {"do": "status", "status": 500}]
    for step in billed:
        assert failure(step).cost(model()).usd is None
    for status in (400, 401, 429):
        cost = failure({"do": "status", "status": status}).cost(model())
        assert (cost.usd, cost.source) == (0.0, CostSource.NOT_BILLED)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('"half \\ud83d of a pair"', "half \ufffd of a pair"),
        ('"the other \\ude00 half"', "the other \ufffd half"),
        ('"at the end \\ud83d"', "at the end \ufffd"),
        ('"whole \\ud83d\\ude00 pair"', "whole \U0001f600 pair"),
        ('"nul \\u0000 inside"', "nul \x00 inside"),
        ('[{"type":"thinking","text":"no"},{"type":"text","text":"yes"},3]', "yes"),
    ],
)
def test_text_always_has_a_form_in_a_log(content, text):
    body = '{"choices":[{"finish_reason":"stop","message":{"content":' + content + "}}]}"
    reply = ask({"do": "body", "body": body})
    assert reply.text == text
    canonical_bytes(reply.payload())


def test_functions_are_called():
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "stop", "arguments": '{"u":'}},
            {"id": "2", "type": "function", "function": {"name": 3}},
            "odd",
        ],
    }
    step = {"do": "answer", "message": message, "finish_reason": "tool_calls"}
    calls = ask(step).function_calls
    assert [(c.name, c.arguments) for c in calls] == [("stop", '{"u":'), ("", ""), ("", "")]


def test_each_attempt_is_one_request():
    steps = [{"do": "status", "status": 500}, {"do": "drop"}, {"do": "answer"}]
    with FaultServer(steps) as server, closing(ModelClient(model(), server.base_url)) as client:
        for _ in range(2):
            with pytest.raises(AttemptFailedError):
                client.send(call(), "k")
        assert len(server.requests) == 2
        assert server.billed == {"k": 1}


def test_many_threads_share_a_client_and_one_slow_answer_fails_alone():
    slow = {"do": "stall", "seconds": 30}

    def then(seen):
        is_slow = seen.body["messages"][-1]["content"] == "slow"
        return slow if is_slow else {"do": "answer", "text": seen.body["messages"][-1]["content"]}

    found = {}

    def work(text):
        try:
            found[text] = client.send(call(text), text).text
        except AttemptFailedError as error:
            found[text] = error.fault

    config = model(timeout_s=1.5)
    with (
        FaultServer(then=then) as server,
        closing(ModelClient(config, server.base_url)) as client,
    ):
        threads = [threading.Thread(target=work, args=(t,)) for t in ["slow", *map(str, range(9))]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {"slow": AttemptFault.TIMED_OUT, **{str(n): str(n) for n in range(9)}}


def _choice(text):
    return {"finish_reason": "stop", "message": {"role": "assistant", "content": text}}
