"""The endpoint of the stand-ins, asked by the real client and by bare HTTP."""

import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import openai
import pytest

from slowlab.agents.standins import SCRIPTS, model_name, serve_stand_ins
from tests.agents.prompts import messages
from tests.tools.campaigns import open_campaign

DESIGN = messages(open_campaign().history, "design")
TOOLS = [{"type": "function", "function": {"name": "start", "parameters": {"type": "object"}}}]
SCHEMA = {"type": "json_schema", "json_schema": {"name": "reply", "schema": {"type": "object"}}}


@pytest.fixture(scope="module")
def address():
    with serve_stand_ins() as found:
        yield found


@pytest.fixture(scope="module")
def client(address):
    with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as made:
        yield made


def ask(client, script="grower", prompt=DESIGN, **options):
    return client.chat.completions.create(model=model_name(script), messages=prompt, **options)


def billing(address):
    host = urlsplit(address)
    connection = http.client.HTTPConnection(host.hostname, host.port)
    connection.request("GET", "/v1/billing")
    totals = json.load(connection.getresponse())
    connection.close()
    return totals


def send(address, method, path, body=b"", headers=None):
    """Status and body of one request."""
    host = urlsplit(address)
    connection = http.client.HTTPConnection(host.hostname, host.port)
    connection.request(method, path, body, headers or {})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, json.loads(content)


def test_all_scripts_are_listed_as_models(client):
    names = [model.id for model in client.models.list()]
    assert names == [model_name(script) for script in SCRIPTS]
    assert len(names) == 9
    assert all(name.startswith("stand-in-") for name in names)


def test_an_answer_says_who_gave_it_and_what_it_used(client):
    answer = ask(client, seed=4)
    assert answer.model == "stand-in-grower"
    assert answer.choices[0].finish_reason == "stop"
    characters = sum(len(message["content"]) for message in DESIGN)
    assert answer.usage.prompt_tokens == -(-characters // 4)
    spoken = len(answer.choices[0].message.content)
    assert answer.usage.completion_tokens == -(-spoken // 4)
    assert json.loads(answer.choices[0].message.content)["action"]["action"] == "start"


def test_equal_requests_get_equal_bytes_and_the_seed_counts(client):
    assert ask(client, seed=4).model_dump() == ask(client, seed=4).model_dump()
    contents = {ask(client, seed=seed).choices[0].message.content for seed in range(8)}
    assert len(contents) > 2


def test_a_form_that_is_enforced_leaves_no_prose(client):
    free = ask(client, "verbose").choices[0].message.content
    held = ask(client, "verbose", response_format=SCHEMA).choices[0].message.content
    assert "```json" in free
    decision = json.loads(held)
    assert decision["type"] == "campaign"
    assert len(decision["reason"]) == 390


def test_with_functions_the_decision_is_one_call(client):
    text = json.loads(ask(client).choices[0].message.content)
    choice = ask(client, tools=TOOLS).choices[0]
    (call,) = choice.message.tool_calls
    assert choice.finish_reason == "tool_calls"
    assert call.function.name == text["action"].pop("action") == "start"
    assert json.loads(call.function.arguments) == {**text["action"], "reason": text["reason"]}


def test_a_broken_answer_breaks_the_rules_of_calls_too(client):
    history = open_campaign().history
    counts, texts = [], 0
    for left in range(100, 110):
        prompt = messages(history, model_calls=left)
        message = ask(client, "malformed", prompt, tools=TOOLS).choices[0].message
        counts.append(len(message.tool_calls or ()))
        texts += any(_unreadable(call.function.arguments) for call in message.tool_calls or ())
    assert max(counts) > 1
    assert texts


def _unreadable(text):
    try:
        return not isinstance(json.loads(text), dict)
    except ValueError:
        return True


def test_an_answer_is_cut_at_its_limit(client):
    for name in ("max_tokens", "max_completion_tokens"):
        answer = ask(client, "verbose", **{name: 50})
        assert answer.choices[0].finish_reason == "length"
        assert len(answer.choices[0].message.content) == 200
        assert answer.usage.completion_tokens == 50


def test_a_repeated_key_is_billed_once(address, client):
    before = billing(address)
    answers = [
        ask(client, extra_headers={"Idempotency-Key": key}) for key in ("one", "one", "two", "one")
    ]
    ask(client)
    after = billing(address)
    assert len({answer.id for answer in answers}) == 1
    assert after["answered"] - before["answered"] == 5
    assert after["billed"] - before["billed"] == 3


def test_silence_is_an_empty_answer(client):
    history = open_campaign().history
    contents = [
        ask(client, "silent", messages(history, model_calls=left)).choices[0].message.content
        for left in range(20)
    ]
    assert 10 <= contents.count("") < 20


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/nothing", b"", 404),
        ("POST", "/v1/nothing", b"{}", 404),
        ("POST", "/v1/chat/completions", b"no JSON", 400),
        ("POST", "/v1/chat/completions", b"[" * 100_000, 400),
        ("POST", "/v1/chat/completions", b"[]", 400),
        ("POST", "/v1/chat/completions", b'{"model":"gpt"}', 404),
        ("POST", "/v1/chat/completions", b'{"model":"stand-in-grower"}', 400),
        ("POST", "/v1/chat/completions", b'{"model":"stand-in-grower","messages":[]}', 400),
    ],
)
def test_bad_requests_are_refused_and_the_server_lives(address, method, path, body, status):
    got, told = send(address, method, path, body)
    assert got == status
    assert told["error"]["message"]
    assert send(address, "GET", "/v1/models")[0] == 200


@pytest.mark.parametrize(
    "members", [{"stream": True}, {"seed": "7"}, {"max_tokens": True}, {"seed": 1.5}]
)
def test_options_that_are_not_understood_are_refused(address, members):
    request = {"model": "stand-in-grower", "messages": DESIGN, **members}
    status, _ = send(address, "POST", "/v1/chat/completions", json.dumps(request).encode())
    assert status == 400


def test_a_body_without_a_length_is_refused(address):
    headers = {"Content-Length": "999999999999"}
    assert send(address, "POST", "/v1/chat/completions", headers=headers)[0] == 413


def test_a_connection_serves_many_requests(address):
    host = urlsplit(address)
    connection = http.client.HTTPConnection(host.hostname, host.port)
    body = json.dumps({"model": "stand-in-grower", "messages": DESIGN}).encode()
    connection.connect()
    opened = connection.sock
    for _ in range(3):
        connection.request("POST", "/v1/chat/completions", body)
        response = connection.getresponse()
        assert response.status == 200
        response.read()
        assert connection.sock is opened
    connection.close()


def test_sixty_four_callers_at_once_wait_only_once():
    with serve_stand_ins(delay_s=0.3) as address, ThreadPoolExecutor(64) as pool:
        body = json.dumps({"model": "stand-in-grower", "messages": DESIGN}).encode()
        barrier = threading.Barrier(64)

        def call(_):
            barrier.wait()
            return send(address, "POST", "/v1/chat/completions", body)

        begin = time.monotonic()
        answers = list(pool.map(call, range(64)))
        took = time.monotonic() - begin
    assert {status for status, _ in answers} == {200}
    assert len({answer["id"] for _, answer in answers}) == 1
    assert 0.3 <= took < 64 * 0.3 / 2


def test_the_end_of_the_server_ends_its_threads_and_its_port():
    before = threading.active_count()
    with serve_stand_ins(delay_s=60.0) as address:
        host = urlsplit(address)
        idle = http.client.HTTPConnection(host.hostname, host.port)
        idle.request("GET", "/v1/models")
        idle.getresponse().read()
        waiting = http.client.HTTPConnection(host.hostname, host.port)
        body = json.dumps({"model": "stand-in-grower", "messages": DESIGN}).encode()
        waiting.request("POST", "/v1/chat/completions", body)
    idle.close()
    waiting.close()
    assert threading.active_count() == before
    with pytest.raises(OSError):  # noqa: PT011
        send(address, "GET", "/v1/models")
    with serve_stand_ins(port=host.port) as again:
        assert again == address


def test_a_port_in_use_is_an_error(address):
    with pytest.raises(OSError, match="in use"), serve_stand_ins(port=urlsplit(address).port):
        pass
