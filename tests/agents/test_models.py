"""The models file: what it says, what it refuses, and what calls cost at most."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.agents.messages import Message, ModelCall, Role, Usage
from slowlab.agents.models import load_models, model_config
from slowlab.agents.prices import CostSource, Price, most_prompt_tokens
from slowlab.agents.standins.registry import SCRIPTS, model_name
from slowlab.canonical import canonical_json
from slowlab.config import ConfigError
from tests.agents.model_configs import call, model

MODELS = load_models()
PUBLISHED = ("deepseek-v4.1-flash", "mimo-v2.6-flash", "glm-5.3-flash")


def written(tmp_path, text):
    path = tmp_path / "models.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def problem(tmp_path, lines):
    text = "models:\n  mine:\n    label: Mine\n    model: m\n" + lines
    with pytest.raises(ConfigError) as caught:
        load_models(written(tmp_path, text))
    return str(caught.value)


def test_the_published_models_are_as_the_study_asked_them():
    for name in PUBLISHED:
        asked = MODELS[name]
        assert (asked.temperature, asked.send_seed, asked.json_schema) == (0.7, True, False)
        assert (asked.timeout_s, asked.retries.attempts) == (90, 5)
        assert asked.expected_model is not None
        assert asked.base_url.startswith("https://")
        assert asked.key_variable.endswith("_API_KEY")
    for name, provider in (("mimo-v2.6-flash", "Xiaomi"), ("glm-5.3-flash", "Z.AI")):
        assert MODELS[name].expected_provider == provider
        pinned = MODELS[name].extra_body["provider"]
        assert pinned["allow_fallbacks"] is False
        assert len(pinned["only"]) == 1
    prices = [MODELS[name].price for name in PUBLISHED]
    assert [(p.input, p.cached_input, p.output) for p in prices] == [
        (0.30, 0.006, 1.20),
        (0.14, None, 0.28),
        (0.15, None, 0.50),
    ]


def test_every_stand_in_is_one_and_costs_nothing():
    stand_ins = {name: one for name, one in MODELS.items() if one.stand_in is not None}
    assert {one.stand_in for one in stand_ins.values()} == set(SCRIPTS)
    for name, one in stand_ins.items():
        assert name == one.model == one.expected_model == model_name(one.stand_in)
        assert "Stand-in" in one.label
        assert one.worst_case_usd(call()) == 0.0


def test_free_is_not_unknown():
    free = model(free=True, price=None).cost(Usage())
    unknown = model(price=None).cost(Usage(prompt_tokens=1, completion_tokens=1))
    assert (free.usd, free.source) == (0.0, CostSource.FREE)
    assert (unknown.usd, unknown.source) == (None, CostSource.UNKNOWN)
    assert model(price=None).worst_case_usd(call()) is None


def test_what_is_reported_comes_first():
    for config in (model(), model(price=None), model(price=None, free=True)):
        cost = config.cost(Usage(prompt_tokens=9, completion_tokens=9, cost_usd=0.5))
        assert (cost.usd, cost.source) == (0.5, CostSource.REPORTED)


def test_cache_hits_have_their_own_price():
    usage = Usage(prompt_tokens=1_000_000, completion_tokens=100_000, cached_tokens=400_000)
    cost = model().cost(usage)  # 0.6 M at 1.0, 0.4 M at 0.1, 0.1 M at 2.0
    assert cost.usd == pytest.approx(0.6 + 0.04 + 0.2)
    assert cost.source is CostSource.PRICE_TABLE
    no_cache = model(price=Price(input=1.0, output=2.0)).cost(usage)
    assert no_cache.usd == pytest.approx(1.0 + 0.2)
    assert model().cost(Usage(prompt_tokens=1)).usd is None


@given(
    texts=st.lists(st.text(st.characters(), max_size=200), min_size=1, max_size=5),
    limit=st.integers(1, 4_096),
    answered=st.floats(0, 1),
)
def test_no_call_costs_more_than_its_worst_case(texts, limit, answered):
    asked = ModelCall(tuple(Message(Role.USER, text) for text in texts), limit)
    byte_tokens = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    usage = Usage(prompt_tokens=byte_tokens + len(texts), completion_tokens=int(limit * answered))
    assert model().cost(usage).usd <= model().worst_case_usd(asked)


def test_reasoning_beyond_the_limit_is_in_the_worst_case():
    more = model(reasoning_tokens=1_000).worst_case_usd(call())
    assert more - model().worst_case_usd(call()) == pytest.approx(1_000 * 2.0 / 1e6)


def test_schemas_and_functions_are_in_the_worst_case():
    schema = {"type": "object", "properties": {"a" * 500: {}}}
    assert most_prompt_tokens(call(response_schema=schema)) > most_prompt_tokens(call()) + 500
    assert most_prompt_tokens(call(functions=(schema,))) > most_prompt_tokens(call()) + 500


def test_public_settings_decide_the_answers_and_hold_no_address_or_price():
    public = MODELS["glm-5.3-flash"].public()
    canonical_json(public)
    assert public["extra_body"]["reasoning"] == {"max_tokens": 1024}
    hidden = {"base_url", "key_variable", "price", "retries", "timeout_s", "notes", "label"}
    assert hidden.isdisjoint(public)
    changed = model(timeout_s=1.0, price=None, base_url="http://127.0.0.1:9/v1", notes="x")
    assert changed.public() == model().public() != model(temperature=0.1).public()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("    temperature: 3\n    base_url: https://a/v1\n", "number from 0 to 2"),
        ("    base_url: https://a/v1\n    temprature: 1\n", "did you mean 'temperature'"),
        ("    base_url: a.com/v1\n", "https?://"),
        ("    base_url: https://a/v1\n    stand_in: silent\n", "a stand-in has none"),
        ("    notes: no address\n", "has a base_url"),
        ("    stand_in: loud\n", "one of grower, two_wave"),
        ("    base_url: http://a/v1\n    key_variable: K\n", "https:// only"),
        ("    base_url: https://a/v1\n    key_variable: sk-123\n", "text matching"),
        (
            "    base_url: https://a/v1\n    free: true\n    price: {input: 1, output: 1}\n",
            "no room",
        ),
        ("    base_url: https://a/v1\n    price: {input: -1, output: 1}\n", "from 0 to 10000"),
        ("    base_url: https://a/v1\n    extra_body: {seed: 1}\n", "seed is set by the client"),
        ("    base_url: https://a/v1\n    retries: {attempts: 0}\n", "whole number from 1 to 20"),
        ("    base_url: https://a/v1\n    retries: {waits_s: [-1]}\n", "from 0 to 3600"),
        ("    base_url: https://a/v1\n    predecessor: other\n", "there is no 'other'"),
    ],
)
def test_a_fault_names_file_key_and_what_is_allowed(tmp_path, lines, said):
    message = problem(tmp_path, lines)
    assert str(tmp_path / "models.yaml") in message
    assert "models.mine" in message or "models" in message
    assert said in message


def test_a_key_may_go_to_this_machine_in_the_clear():
    for host in ("127.0.0.1:8000", "localhost:8000", "[::1]:8000"):
        assert model(base_url=f"http://{host}/v1", key_variable="K").base_url is not None


def test_an_unknown_model_is_told_what_there_is():
    with pytest.raises(ConfigError, match=r"models\.yaml.*no model 'gpt'.*stand-in-grower"):
        model_config("gpt")


def test_a_name_is_one(tmp_path):
    path = written(tmp_path, "models: {My Model: {label: M, model: m, stand_in: silent}}\n")
    with pytest.raises(ConfigError, match="lower-case"):
        load_models(path)
