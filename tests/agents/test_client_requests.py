"""What the client sends, and to whom: nothing that identifies, and a key to its endpoint only."""

import shutil
import ssl
import subprocess
from contextlib import closing

import pytest

from slowlab.agents.client import AttemptFailedError, ModelClient
from slowlab.agents.outages import AttemptFault
from slowlab.config import ConfigError
from tests.agents.fault_server import FaultServer
from tests.agents.model_configs import call, model

KEY = "sk-secret-0123456789"


def test_the_request_holds_what_was_configured_and_nothing_that_identifies(monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-somebody")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "a-project")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Title: SlowLab\nAuthorization: Bearer other")
    pinned = {"provider": {"only": ["z-ai"], "allow_fallbacks": False}, "thinking": {"on": False}}
    schema = {"type": "object"}
    functions = ({"name": "stop", "description": "ends", "parameters": schema},)
    config = model(extra_body=pinned, temperature=0.7, output_limit_key="max_completion_tokens")
    with FaultServer() as server, closing(ModelClient(config, server.base_url, KEY)) as client:
        client.send(call("é", response_schema=schema, functions=functions), "key-1")
        seen = server.requests[0]
    assert seen.body == {
        "model": "tested-1",
        "messages": [
            {"role": "system", "content": "You grow."},
            {"role": "user", "content": "é"},
        ],
        "max_completion_tokens": 64,
        "temperature": 0.7,
        "seed": 7,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": schema, "strict": True},
        },
        "tools": [{"type": "function", "function": functions[0]}],
        "tool_choice": "required",
        **pinned,
    }
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers["idempotency-key"] == "key-1"
    allowed = {"host", "accept", "accept-encoding", "connection", "content-type", "user-agent"}
    assert set(seen.headers) == allowed | {"authorization", "content-length", "idempotency-key"}


def test_what_is_not_wanted_is_not_sent(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    config = model(temperature=None, send_seed=False)
    with FaultServer() as server, closing(ModelClient(config, server.base_url)) as client:
        client.send(call(), "k")
        seen = server.requests[0]
    assert set(seen.body) == {"model", "messages", "max_tokens"}
    assert "authorization" not in seen.headers


def test_the_key_comes_from_the_named_variable_and_is_shown_nowhere(monkeypatch, caplog):
    caplog.set_level("DEBUG")
    config = model(key_variable="SLOWLAB_TEST_KEY")
    monkeypatch.delenv("SLOWLAB_TEST_KEY", raising=False)
    with pytest.raises(ConfigError, match="SLOWLAB_TEST_KEY is not set"):
        ModelClient(config)
    monkeypatch.setenv("SLOWLAB_TEST_KEY", f"two words {KEY}")
    with pytest.raises(ConfigError, match="SLOWLAB_TEST_KEY must hold one key") as caught:
        ModelClient(config)
    assert KEY not in str(caught.value)
    monkeypatch.setenv("SLOWLAB_TEST_KEY", f"{KEY}\n")
    message = " " * 250 + f"Incorrect API key provided: {KEY}"
    refusal = {"do": "status", "status": 401, "body": {"error": {"message": message}}}
    with FaultServer([refusal]) as server, closing(ModelClient(config, server.base_url)) as client:
        with pytest.raises(AttemptFailedError) as refused:
            client.send(call(), "k")
        client.send(call(), "k")
        assert [seen.headers["authorization"] for seen in server.requests] == [f"Bearer {KEY}"] * 2
        shown = [repr(client), str(client), caplog.text]
    shown += [str(refused.value), refused.value.detail, repr(config), str(config.public())]
    assert "[key]" in refused.value.detail
    for text in shown:
        assert KEY not in text
        assert KEY[:9] not in text


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path, monkeypatch):
    host, pair = "127.0.0.2", tmp_path / "pair.pem"
    made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test"
    placed = ["-keyout", tmp_path / "key.pem", "-out", pair]
    command = ["openssl", *made.split(), "-addext", f"subjectAltName=IP:{host}", *placed]
    subprocess.run(command, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair, tmp_path / "key.pem")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with FaultServer(host=host, tls=tls) as server:
        with (
            closing(ModelClient(model(), server.base_url, KEY)) as client,
            pytest.raises(AttemptFailedError, match="CERTIFICATE_VERIFY_FAILED") as caught,
        ):
            client.send(call(), "k")
        assert caught.value.fault is AttemptFault.CONNECTION_LOST
        assert server.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(pair))
        with closing(ModelClient(model(), server.base_url, KEY)) as client:
            assert client.send(call(), "k").text == "hello"


def test_a_redirect_takes_the_key_nowhere():
    with FaultServer() as other:
        step = {"do": "status", "status": 307, "headers": {"Location": other.base_url}}
        with (
            FaultServer([step]) as server,
            closing(ModelClient(model(), server.base_url, KEY)) as client,
            pytest.raises(AttemptFailedError) as caught,
        ):
            client.send(call(), "k")
        assert caught.value.fault is AttemptFault.REFUSED
        assert other.requests == []


def test_no_proxy_on_the_way_to_this_machine(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with FaultServer() as server, closing(ModelClient(model(), server.base_url)) as client:
        assert client.send(call(), "k").text == "hello"


def test_a_stand_in_needs_an_address():
    config = model(base_url=None, stand_in="silent", price=None, free=True)
    with pytest.raises(ValueError, match="stand-in"):
        ModelClient(config)
