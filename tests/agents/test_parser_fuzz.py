"""Whatever a model says, the parser gives an answer or an error with a code."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from scripts.fuzz_parser import all_forms, check_call, check_text, decoded, first_inputs
from slowlab.agents.messages import FunctionCall, ModelReply
from slowlab.agents.parser import Decision, ReplyFault
from tests.agents.harness_play import POLICY

ALL_FORMS = all_forms()
SURROGATES = st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF)
TEXTS = st.text(st.characters() | SURROGATES | st.sampled_from('{}[]",:\\\x00\ufeff'))
FORMS = st.sampled_from(ALL_FORMS)
NAMES = st.sampled_from(
    ["type", "action", "name", "args", "policy", "reason", "notes", "incumbent", "unit", "day"]
) | st.text(max_size=5)
KINDS = ["campaign", "tool", "recommendation", "design_complete", "initial_recommendation"]
WORDS = st.sampled_from([*KINDS, "start", "advance", "recommend", "predict", "runs"])
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | TEXTS | st.just(POLICY),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)
VALID = [
    {"type": "campaign", "action": {"action": "start", "unit": 0, "policy": POLICY}},
    {"type": "campaign", "action": {"action": "recommend", "policy": POLICY}, "notes": "n"},
    {"type": "tool", "name": "predict", "args": {"policies": [POLICY]}, "incumbent": POLICY},
    {"type": "initial_recommendation", "policy": POLICY, "reason": "r"},
    {"type": "recommendation", "policy": POLICY},
    {"type": "design_complete"},
]


@given(TEXTS, FORMS)
@example('{"a":"\ud83d"}', ALL_FORMS[0])
def test_any_text(text, forms):
    check_text(text, forms)


@given(PLAIN, FORMS)
def test_any_data(data, forms):
    check_text(json.dumps(data), forms)
    check_text(f"so:\n```json\n{json.dumps(data, indent=1)}\n```", forms)


@given(st.sampled_from(VALID), st.lists(st.tuples(NAMES, PLAIN), max_size=3), FORMS)
def test_valid_replies_with_members_changed(reply, changes, forms):
    check_text(json.dumps({**reply, **dict(changes)}), forms)


@given(st.sampled_from(VALID), st.data(), FORMS)
def test_valid_replies_with_characters_changed(reply, data, forms):
    text = json.dumps(reply)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 10))
        text = text[:place] + data.draw(TEXTS) + text[place + length :]
    check_text(text, forms)


@given(st.lists(st.tuples(WORDS | TEXTS, TEXTS | PLAIN.map(json.dumps)), max_size=3), FORMS)
def test_any_function_calls(calls, forms):
    check_call(ModelReply("", tuple(FunctionCall(*call) for call in calls)), forms)


def test_every_valid_reply_is_an_answer_in_some_stage():
    for reply in VALID:
        read = [check_text(json.dumps(reply), forms) for forms in ALL_FORMS]
        assert any(isinstance(answer, Decision) for answer in read)


@given(st.binary())
def test_the_fuzzer_takes_any_input(data):
    assert isinstance(decoded(data, ALL_FORMS), Decision | ReplyFault)


def test_the_fuzzer_starts_from_answers():
    read = [decoded(data, ALL_FORMS) for data in first_inputs(ALL_FORMS)]
    assert sum(isinstance(answer, Decision) for answer in read) >= 12
