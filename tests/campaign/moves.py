"""Actions as plain data, and what is expected of their replies."""

from slowlab.campaign.errors import ErrorKind

WARM = {"day_temperature_c": 25.0, "night_temperature_c": 20.0}


def ok(reply):
    assert reply.ok, reply.error
    return reply.result


def refused(reply, reason, kind=ErrorKind.INVALID_ACTION):
    assert not reply.ok
    assert (reply.error.kind, reply.error.reason) == (kind, reason)
    return reply.error.message


def start(unit, policy):
    return {"action": "start", "unit": unit, "policy": policy}


def advance(day):
    return {"action": "advance", "day": day}


def observe(unit, **fields):
    return {"action": "observe", "unit": unit, **fields}


def recommend(policy):
    return {"action": "recommend", "policy": policy}
