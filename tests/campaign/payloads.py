"""Payloads that are not acceptable JSON, as text and as Python objects."""

import json
import math

NESTED = "[" * 100_000 + "]" * 100_000
ENDLESS = {}
ENDLESS["itself"] = ENDLESS


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def shared(depth):
    value = ["leaf"]
    for _ in range(depth):
        value = [value, value]
    return value


MALFORMED = {
    "empty": "",
    "not JSON": "advance to day 10",
    "cut off": '{"action":"advance","day":10',
    "two objects": '{"action":"advance","day":10}{"action":"advance","day":20}',
    "beyond a double": '{"action":"advance","day":1e999}',
    "not a number": '{"action":"advance","day":NaN}',
    "repeated key": '{"action":"advance","day":10,"day":365}',
    "repeated key, escaped": '{"action":"advance","day":10,"d\\u0061y":365}',
    "deep": NESTED,
    "deep inside": '{"action":"advance","day":' + NESTED + "}",
    "long text": json.dumps({"action": "x" * 2_000_000}),
    "lone surrogate, escaped": '{"action":"advance","day":10,"note":"\\ud83d"}',
    "lone surrogate": '{"action":"advance","note":"\ud83d"}',
    "byte-order mark": '\ufeff{"action":"advance","day":10}',
    "not UTF-8": b'{"action":"\xff"}',
    "long number": '{"action":"advance","day":' + "9" * 5_000 + "}",
    "object: beyond a double": {"action": "advance", "day": math.inf},
    "object: not a number": {"action": "advance", "day": math.nan},
    "object: deep": {"action": "advance", "day": nested(100_000)},
    "object: itself": ENDLESS,
    "object: shared": {"action": "advance", "day": shared(60)},
    "object: long text": {"action": "advance", "note": "x" * 2_000_000},
    "object: long key": {"action": "advance", "x" * 2_000_000: 1},
    "object: lone surrogate": {"action": "advance", "note": "\ud83d"},
    "object: lone surrogate in a key": {"action": "advance", "\ud83d": 1},
    "object: long number": {"action": "advance", "day": 10**5_000},
    "object: wide": {"action": "advance", "day": list(range(100_000))},
    "object: key of another type": {"action": "advance", 1: 2},
    "object: other type": {"action": "advance", "day": {1, 2}},
    "object: complex": {"action": "advance", "day": 1j},
    "object: bytes inside": {"action": b"advance"},
}
