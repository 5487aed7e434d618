"""The misbehaving endpoint itself: it counts what it bills, also as a process of its own."""

import json
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from slowlab.agents.client import AttemptFailedError, ModelClient
from tests.agents.fault_server import FaultServer
from tests.agents.model_configs import call, model

PROGRAM = Path(__file__).with_name("fault_server.py")


def test_a_key_is_billed_once_where_keys_are_honoured():
    for honours, count in ((True, 1), (False, 3)):
        steps = [{"do": "cut", "framing": "length", "text": "first"}]
        with (
            FaultServer(steps, honours_keys=honours) as server,
            closing(ModelClient(model(), server.base_url)) as client,
        ):
            with pytest.raises(AttemptFailedError, match="cut_body"):
                client.send(call(), "same")
            texts = {client.send(call(), "same").text for _ in range(2)}
            assert texts == {"first" if honours else "hello"}
            assert server.billed == {"same": count}
            assert len(server.requests) == 3


def test_errors_are_not_billed():
    steps = [{"do": "status", "status": 429}, {"do": "status", "status": 400}]
    with FaultServer(steps) as server, closing(ModelClient(model(), server.base_url)) as client:
        for _ in steps:
            with pytest.raises(AttemptFailedError):
                client.send(call(), "same")
        assert server.billed == {}
        client.send(call(), "same")
        assert server.billed == {"same": 1}


def test_it_runs_as_a_process(tmp_path):
    port_file = tmp_path / "port"
    script = [{"do": "answer", "text": "one"}]
    then = {"do": "answer", "text": "then"}
    command = [sys.executable, str(PROGRAM), "--port-file", str(port_file)]
    command += ["--script", json.dumps(script), "--then", json.dumps(then)]
    with subprocess.Popen(command) as process:
        try:
            deadline = time.monotonic() + 20
            while not port_file.exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            root = f"http://127.0.0.1:{port_file.read_text(encoding='utf-8')}"
            with closing(ModelClient(model(), f"{root}/v1")) as client:
                assert [client.send(call(), key).text for key in "aab"] == ["one", "one", "then"]
            with urllib.request.urlopen(f"{root}/state") as response:
                assert json.load(response) == {"requests": 3, "billed": {"a": 1, "b": 1}}
        finally:
            process.kill()
