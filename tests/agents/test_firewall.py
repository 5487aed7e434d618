"""The firewall: what is public passes, and no planted leak does."""

import copy
import pickle
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.agents.firewall import FORBIDDEN_PATTERNS, Firewall, FirewallError, Rule
from slowlab.agents.hidden_numbers import HiddenValues
from slowlab.agents.messages import Message, ModelCall, Role
from slowlab.agents.public_names import measured_keys, public_keys
from slowlab.canonical import canonical_json
from slowlab.world.contract import load_contract
from slowlab.world.partitions import draw_partition_site, load_partitions
from slowlab.world.sensors import load_sensors
from slowlab.world.site_distribution import load_sites
from slowlab.world.task import Feedback, site_task
from tests.agents.public_conversations import as_messages, final_messages, prompts, replies

COVER = 0.7869595806646925
"""A value that is hidden in these tests."""
SEED = 7349737366977995138
HIDDEN = [
    ("draws.site/cover_par_nir_transmission", COVER),
    ("parameters[0].tEndSum", 1059.1729088363254),
    ("parameters[0].cLeakage", 6.803153423590032e-05),
    ("draws.site/temperature_window_shift_c", -0.34153257971448037),
    ("noise_seed", SEED),
    ("campaign_year", 2017),
    ("evaluation_years[0]", "generated-0042"),
    ("parameters[0].small", 0.25),
]
FINAL = {
    "stage": "season",
    "state": {"day": 3.0, "left": {"calls": 100}},
    "latest_result": {"kind": "result", "result": {"day": 3.0, "statuses": []}},
    "instruction": "Take the next step.",
}


@pytest.fixture(scope="module")
def firewall():
    return Firewall(HIDDEN)


def rule_of(firewall, messages):
    """The rule that stops messages; None where they pass."""
    try:
        firewall.check(messages)
    except FirewallError as error:
        return error.rule
    return None


def system(text):
    return [Message(Role.SYSTEM, text)]


def user(data):
    return [Message(Role.USER, canonical_json(data))]


def hidden_values(site):
    draws = {k: v for k, v in site.draws.items() if not k.startswith("price")}
    constants = [(f"parameters.{k}", v) for unit in site.parameters for k, v in unit.items()]
    return [*draws.items(), *constants, ("noise_seed", site.noise_seed)]


@pytest.fixture(scope="module")
def sites():
    partitions, distribution = load_partitions(), load_sites()
    return [
        draw_partition_site(
            partitions, "development", n, distribution, source="cabauw", compartments=4
        )
        for n in range(100, 116)
    ]


@pytest.mark.parametrize("feedback", Feedback)
def test_the_task_of_real_sites_passes(sites, feedback):
    contract, sensors = load_contract(), load_sensors()
    for site in sites:
        task = canonical_json(site_task(contract, sensors, site, feedback))
        Firewall(hidden_values(site)).check(system(f"You grow.\n{task}\nAnswer."))


@pytest.mark.parametrize("feedback", Feedback)
def test_real_prompts_pass(sites, feedback):
    guards = [Firewall(HIDDEN), *(Firewall(hidden_values(site)) for site in sites[:3])]
    count = 0
    for messages in prompts(feedback):
        for guard in guards:
            guard.check(messages)
        count += 1
    assert count > 35


def test_the_conversation_of_the_tests_shows_every_action_and_tool():
    told = replies(Feedback.FULL)
    carried_out = {
        item["action"] if isinstance(item, dict) else getattr(item, "name", "")
        for item, reply, _ in told
        if reply["ok"]
    }
    assert carried_out >= {"start", "stop", "advance", "observe", "recommend"}
    tools = {row["tool"] for row in told[0][2].task["analysis_tools"]}
    assert carried_out >= tools
    assert len({str(r["error"]["reason"]) for _, r, _ in told if not r["ok"]}) > 7


def _objects(data):
    """Every object in plain data."""
    if isinstance(data, dict):
        yield data
        for value in data.values():
            yield from _objects(value)
    elif isinstance(data, list):
        for item in data:
            yield from _objects(item)


def test_one_more_key_anywhere_is_found(firewall):
    """In every object of every kind of reply, one at a time."""
    checked = 0
    seen = set()
    for final in final_messages(Feedback.FULL):
        for number, found in enumerate(_objects(final)):
            shape = (number if number < 12 else "deep", *sorted(found))
            if shape in seen:
                continue
            seen.add(shape)
            changed = copy.deepcopy(final)
            list(_objects(changed))[number]["lane"] = 1
            assert rule_of(firewall, as_messages(changed)) is Rule.KEYS, shape
            checked += 1
    assert checked > 40


def test_every_key_of_a_task_and_of_replies_is_known():
    for feedback in Feedback:
        for final in final_messages(feedback):
            assert {key for found in _objects(final) for key in found} <= public_keys()


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_a_key_that_is_not_public_never_passes(key):
    rule = rule_of(Firewall(), user({"state": {key: True}}))
    assert (rule is None) == (key in public_keys())


def printed_forms(value):
    """A number as programs print it."""
    yield repr(value)
    yield from (f"{value:.{digits}g}" for digits in (17, 12, 9, 6, 5))
    yield from (f"{value:.{digits}e}" for digits in (16, 8, 5, 4))
    yield from (f"{value:.{digits}E}" for digits in (8, 4))
    if abs(value) > 1e-3:
        yield from (f"{value:.{digits}f}" for digits in (12, 9, 6))
        yield f"{value:+.6f}"
    if 1e-3 < abs(value) < 10:
        yield from (f"{100 * value:.{digits}f}" for digits in (8, 4, 3))
        yield f"{100 * value:.5g}%"
        yield f"{value:.3%}"


@pytest.mark.parametrize(("name", "value"), [item for item in HIDDEN if type(item[1]) is float][:4])
def test_a_hidden_number_in_a_text_is_found_in_every_form(firewall, name, value):
    for form in printed_forms(value):
        for text in ("The value is {}.", "({})", "a={}, b=2", "{} kWh", "from {}-5"):
            assert rule_of(firewall, system(text.format(form))) is Rule.NUMBERS, form
        assert rule_of(firewall, user({**FINAL, "instruction": f"Use {form}!"})) is Rule.NUMBERS


@pytest.mark.parametrize("form", [str(SEED), "7.34974e+18", "7.349737366977995e+18", "2017"])
def test_seeds_and_years_are_found(firewall, form):
    assert rule_of(firewall, system(f"Number {form} it is.")) is Rule.NUMBERS
    assert rule_of(firewall, system(f"Begin{form}.")) is Rule.NUMBERS


@pytest.mark.parametrize("text", ["generated-0042", "(GENERATED-0042)"])
def test_hidden_texts_are_found(firewall, text):
    assert rule_of(firewall, system(f"The year is {text}")) is Rule.NUMBERS
    assert rule_of(firewall, system("The year is x" + text.strip("()"))) is None


@pytest.mark.parametrize(
    "text",
    [
        "0.787",  # three digits are no evidence
        "0.7870",
        "0.25",
        "0.2500000",
        "0.78695",  # rounds to 0.78695, the hidden value to 0.78696
        "10.78696",
        "0.786961",
        "12017",
        "2017.5",
        "20170",
        "1059",
        "1.0e3",
        "9" * 5000,
        "1e999",
        "0.0",
    ],
)
def test_other_numbers_pass(firewall, text):
    assert rule_of(firewall, system(f"Use {text} now")) is None


@pytest.mark.parametrize("value", [COVER, float(f"{COVER:.5g}"), float(f"{COVER:.9g}"), SEED])
def test_a_leak_in_a_result_is_found(firewall, value):
    """In a tool result, under a key that holds no measurement."""
    latest = {"kind": "tool_result", "result": {"completed_crops": value}}
    assert rule_of(firewall, user({**FINAL, "latest_result": latest})) is Rule.NUMBERS


@pytest.mark.parametrize("key", ["value", "mean", "margin_eur_m2", "co2_target_ppm", "calls"])
def test_measured_numbers_are_judged_by_long_forms(firewall, key):
    assert key in measured_keys()
    for digits, rule in [(5, None), (6, None), (8, None), (9, Rule.NUMBERS), (17, Rule.NUMBERS)]:
        data = {"result": {key: float(f"{COVER:.{digits}g}")}}
        assert rule_of(firewall, user({**FINAL, "latest_result": data})) is rule
    assert rule_of(firewall, user({"result": {key: 2017}})) is None
    assert rule_of(firewall, user({"result": {key: [SEED]}})) is Rule.NUMBERS


def test_whole_years_of_readings_pass_for_every_site(sites):
    """No campaign ends because a reading agrees with something hidden in a few digits."""
    rows = [
        {"day": d, "n": 288, "mean": 15 + d / 271, "min": d / 997, "max": 30.1234567}
        for d in range(365)
    ]
    told = {**FINAL, "latest_result": {"kind": "result", "result": {"rows": rows}}}
    for site in sites:
        Firewall(hidden_values(site)).check(user(told))


WORDS = [
    ("Welcome to SlowLab.", True),
    ("This is a benchmark", True),
    ("the GreenLight model", True),
    ("a simulated greenhouse", True),
    ("Simulation of crops", True),
    ("synthetic weather", True),
    ("the ground truth", True),
    ("an oracle", True),
    ("latent parameters", True),
    ("weather from KNMI", True),
    ("Cabauw", True),
    ("weather year", True),
    ("noise_seed", True),
    ("after Vanthoor", True),
    ("the Greenhouse Challenge", True),
    ("the seed is", True),
    ("seeds", True),
    ("see https://example.org", True),
    ("arXiv:2401.00001", True),
    ("10.1000/182", True),
    ("github.com/a/b", True),
    ("read /home/me/x", True),
    ("C:\\data", True),
    ("config/contract.yaml", True),
    ("partition", True),
    ("cover_par_nir_transmission", True),  # names of hidden values
    ("TENDSUM is", True),
    ("Seedlings are planted.", False),
    ("superseded", False),
    ("a greenhouse with a green light", True),
    ("lamps give light to green leaves", False),
    ("10.5/2", False),
    ("CO2 and/or heat, day/night", False),
    ("the small ones", False),
]
"""Texts, and whether they are stopped."""


@pytest.mark.parametrize(("text", "stopped"), WORDS)
def test_names(firewall, text, stopped):
    rule = Rule.NAMES if stopped else None
    assert rule_of(firewall, system(text)) is rule
    assert rule_of(firewall, user({**FINAL, "instruction": text})) is rule
    assert rule_of(firewall, [Message(Role.ASSISTANT, text)]) is None


@pytest.mark.parametrize("what", FORBIDDEN_PATTERNS)
def test_every_forbidden_pattern_is_tried_above(what):
    pattern = re.compile(FORBIDDEN_PATTERNS[what], re.IGNORECASE)
    assert any(pattern.search(text) for text, stopped in WORDS if stopped)


def test_the_model_may_say_what_it_likes_but_cannot_know_nine_digits(firewall):
    words = f'I simulate: {{"lai_max": 3}}, 2017, {COVER:.6g}, see https://a.b'
    assert rule_of(firewall, [Message(Role.ASSISTANT, words)]) is None
    assert rule_of(firewall, [Message(Role.ASSISTANT, f"{COVER:.9g}")]) is Rule.NUMBERS


@pytest.mark.parametrize(
    "content",
    ['{"state":1', '{"state":NaN}', '{"state":1,"state":2}', "[1,2", '{"state":"\ud800"}'],
)
def test_data_that_cannot_be_read_is_stopped(firewall, content):
    assert rule_of(firewall, [Message(Role.USER, content)]) is Rule.FORM


def test_keys_in_the_middle_of_a_text_are_found(firewall):
    assert rule_of(firewall, system('It is {"day": 3} now.')) is None
    assert rule_of(firewall, system('It is {"lai": 3} now.')) is Rule.KEYS
    message = {**FINAL, "instruction": 'Send {"lane": 3}'}
    assert rule_of(firewall, user(message)) is Rule.KEYS
    assert rule_of(firewall, system('Begin.\n{"actions":[],"lane":2}\nEnd.')) is Rule.KEYS


class Labelled(Message):
    """A message with something beside role and content."""

    def payload(self):
        return {**super().payload(), "name": "lane 3"}


def test_a_message_has_a_role_and_a_content_only(firewall):
    assert rule_of(firewall, [Labelled(Role.USER, "hi")]) is Rule.FORM


def test_schemas_and_functions_are_checked(firewall):
    properties = {"day": {"type": "number", "minimum": 0, "maximum": 365}}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    function = {"name": "advance", "description": "lets time pass", "parameters": schema}
    message = (Message(Role.USER, "hi"),)
    firewall.check_call(ModelCall(message, 8, None, schema, (function,)))
    for rule, leak in [
        (Rule.NUMBERS, {**schema, "maximum": COVER}),
        (Rule.KEYS, {**schema, "properties": {"lane": {}}}),
        (Rule.NAMES, {**schema, "description": "simulated days"}),
    ]:
        for call in (
            ModelCall(message, 8, None, leak),
            ModelCall(message, 8, None, None, ({**function, "parameters": leak},)),
        ):
            with pytest.raises(FirewallError) as caught:
                firewall.check_call(call)
            assert caught.value.rule is rule


def test_the_place_is_told_and_the_value_is_not(firewall):
    leak = {**FINAL, "latest_result": {"result": {"rows": [1, {"completed_crops": COVER}]}}}
    with pytest.raises(FirewallError) as caught:
        firewall.check([*system("You grow."), *user(leak)])
    place = "message 1 (user).latest_result.result.rows[1].completed_crops"
    assert caught.value.place == place
    assert "0.78" not in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_further_keys_can_be_public():
    packet = {"stage": "reading", "packet": {"readings": []}, "instruction": "Recommend."}
    assert rule_of(Firewall(), user(packet)) is Rule.KEYS
    assert rule_of(Firewall(keys=["readings"]), user(packet)) is None


def test_a_message_is_read_once(firewall, monkeypatch):
    messages = user({**FINAL, "instruction": "Only once."})
    firewall.check(messages)
    monkeypatch.setattr(HiddenValues, "in_text", lambda *_: pytest.fail("read again"))
    firewall.check(messages)


@given(
    st.floats(1e-6, 1e6).filter(lambda v: len(f"{v:.17g}".strip("0.")) > 12),
    st.integers(5, 17),
    st.sampled_from("eg"),
)
@settings(max_examples=200, deadline=None)
def test_a_rounded_form_is_always_found(value, digits, style):
    form = f"{value:.{digits - 1 if style == 'e' else digits}{style}}"
    evidence = form.partition("e")[0].replace(".", "").strip("0")
    found = HiddenValues([("x", value)]).in_text(f"it is {form}")
    assert found or len(evidence) < 4


@given(st.floats(1, 100), st.floats(1, 100))
@settings(max_examples=200, deadline=None)
def test_an_unlike_number_is_never_found(value, other):
    hidden = HiddenValues([("x", value)])
    apart = min(abs(other - value) / value, abs(other - 100 * value) / (100 * value))
    if apart > 1e-4:
        assert not hidden.in_text(f"{other:.5g} and {other!r}")
