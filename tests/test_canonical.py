"""Canonical JSON and the strict reader (situations S07 to S11 of the list of faults)."""

import json
import math
import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.canonical import (
    MAX_DEPTH,
    CanonicalError,
    JsonFault,
    JsonLimits,
    StrictJsonError,
    canonical_bytes,
    canonical_json,
    canonical_sha256,
    loads_strict,
    text_sha256,
)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**300), 10**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=20,
)


@given(values)
def test_what_is_written_is_read_back(value):
    assert loads_strict(canonical_bytes(value)) == value
    assert loads_strict(canonical_json(value)) == value


@given(st.dictionaries(text, scalars, max_size=6), st.randoms())
def test_order_of_keys_does_not_count(value, random):
    names = list(value)
    random.shuffle(names)
    assert canonical_bytes({name: value[name] for name in names}) == canonical_bytes(value)


def test_canonical_form_is_sorted_compact_and_utf8():
    assert canonical_bytes({"b": [1, 2.5], "a": "é"}) == '{"a":"é","b":[1,2.5]}'.encode()
    assert (
        canonical_sha256({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    )


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"a": [1.0, math.nan]}, r"\$\.a\[1\]"),
        ({"a": math.inf}, r"\$\.a"),
        ({"a": 10**400}, r"\$\.a"),
        ({1: "x"}, r"\$"),
        ({"a": {2, 3}}, r"\$\.a"),
        (["\ud800"], r"\$\[0\]"),
        ({"\udc00": 1}, r"\$"),
    ],
)
def test_what_has_no_canonical_form_is_refused_with_its_place(value, where):
    with pytest.raises(CanonicalError, match=where):
        canonical_json(value)


def test_deep_and_cyclic_values_are_refused():
    nested = 1
    for _ in range(MAX_DEPTH):
        nested = [nested]
    assert loads_strict(canonical_json(nested)) == nested
    with pytest.raises(CanonicalError, match="deeper"):
        canonical_json([nested])
    cycle: list = []
    cycle.append(cycle)
    with pytest.raises(CanonicalError, match="deeper"):
        canonical_json(cycle)


@pytest.mark.parametrize(
    ("source", "kind", "position"),
    [
        ('{"day": 1e999}', JsonFault.NUMBER_OUT_OF_RANGE, 8),
        ("-1e999", JsonFault.NUMBER_OUT_OF_RANGE, 0),
        ("1" * 400, JsonFault.NUMBER_OUT_OF_RANGE, 0),
        ("1" * 5_000, JsonFault.NUMBER_TOO_LONG, 0),
        ('{"day":10,"day":365}', JsonFault.DUPLICATE_KEY, 10),
        ('{"day":10,"d\\u0061y":365}', JsonFault.DUPLICATE_KEY, 10),
        ('[{"a":{"b":1,"b":2}}]', JsonFault.DUPLICATE_KEY, 13),
        ("[" * 100_000, JsonFault.TOO_DEEP, 64),
        ('{"a":' * 100_000, JsonFault.TOO_DEEP, 64 * 5),
        ("[NaN]", JsonFault.NOT_FINITE, 1),
        ("[-Infinity]", JsonFault.NOT_FINITE, 1),
        ('"\\ud83d"', JsonFault.LONE_SURROGATE, 1),
        ('"x\\udc00"', JsonFault.LONE_SURROGATE, 2),
        ('"\\ud800\\ud800"', JsonFault.LONE_SURROGATE, 1),
        ('"\\ud83d \\ude00"', JsonFault.LONE_SURROGATE, 1),
        ('"\ud800"', JsonFault.LONE_SURROGATE, 1),
        (b'"\xff"', JsonFault.NOT_UTF8, 1),
        (b'"\xed\xa0\x80"', JsonFault.NOT_UTF8, 1),
        ("\ufeff{}", JsonFault.BYTE_ORDER_MARK, 0),
        (b"\xef\xbb\xbf{}", JsonFault.BYTE_ORDER_MARK, 0),
        ('{"reason":"' + "x" * 2_000_000 + '"}', JsonFault.TOO_LARGE, 1_048_576),
        ("", JsonFault.SYNTAX, 0),
        ("{} {}", JsonFault.SYNTAX, 3),
        ('{"a":1,}', JsonFault.SYNTAX, 7),
        ("{'a':1}", JsonFault.SYNTAX, 1),
        ('"a\nb"', JsonFault.SYNTAX, 2),
        ("[01]", JsonFault.SYNTAX, 2),
        ("[1.]", JsonFault.SYNTAX, 2),
        ('["secret word \\q"]', JsonFault.SYNTAX, 14),
        ("]", JsonFault.SYNTAX, 0),
    ],
)
def test_unacceptable_text_is_refused_with_kind_and_position(source, kind, position):
    with pytest.raises(StrictJsonError) as caught:
        loads_strict(source)
    assert (caught.value.kind, caught.value.position) == (kind, position)
    assert "secret" not in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.kind, again.position, str(again)) == (kind, position, str(caught.value))


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ('{"a":{"a":1},"b":["a","a"]}', {"a": {"a": 1}, "b": ["a", "a"]}),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ('"\\\\ud800"', "\\ud800"),
        ('"\\u0000"', "\0"),
        ("1e-999", 0.0),
        (" [1, 2.0e2] ", [1, 200.0]),
        ('"' + "[" * 1000 + '"', "[" * 1000),
    ],
)
def test_ordinary_text_is_read(source, value):
    assert loads_strict(source) == value


@pytest.mark.parametrize(
    "source", ['"\\"' * 200_000, '"' * 500_001, "\\" * 500_000, "[" * 1_000_000]
)
def test_hostile_text_costs_one_pass(source):
    start = time.perf_counter()
    with pytest.raises(StrictJsonError):
        loads_strict(source)
    assert time.perf_counter() - start < 5.0


@given(st.text(alphabet='[]{}":,\\u0daeEtrulsf1.-+ \n', max_size=40))
def test_the_reader_agrees_with_the_standard_one_or_refuses(source):
    try:
        found = loads_strict(source)
    except StrictJsonError:
        return
    assert json.loads(source) == found


def test_limits_can_be_narrowed():
    limits = JsonLimits(max_bytes=20, max_depth=2, max_number_chars=3)
    assert loads_strict("[[123]]", limits) == [[123]]
    for source in ("[[[1]]]", "[1234]", '"' + "é" * 10 + '"'):
        with pytest.raises(StrictJsonError):
            loads_strict(source, limits)


def test_text_hash_ignores_line_ends_only():
    assert text_sha256(b"a\r\nb\r\n") == text_sha256(b"a\nb\n")
    assert text_sha256(b"a\r\nb\r\n") != text_sha256(b"a\r\nc\r\n")
    assert text_sha256(b"a\rb") != text_sha256(b"a\nb")
