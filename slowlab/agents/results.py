"""Results of steps as prompts show them: in full, as a note of one line, or with rows left out."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from slowlab.campaign.errors import Reply
from slowlab.canonical import canonical_json

ShownResult = dict[str, Any]
"""Plain data: a ``kind``, then ``result`` or ``error``, and a ``note`` of the harness."""

_FROM_THE_END = ("rows", "days")
"""Lists in time order: the latest rows are worth most."""


class ResultKind(StrEnum):
    """What a step led to; the last two are the harness's own words about it."""

    RESULT = "result"
    TOOL_RESULT = "tool_result"
    INVALID_ACTION = "invalid_action"
    TOOL_ERROR = "tool_error"
    FORMAT_ERROR = "format_error"
    NOTICE = "notice"


def reply_result(reply: Reply, *, tool: bool) -> ShownResult:
    """What a reply of the campaign or of a tool tells.

    Args:
        reply: the reply.
        tool: whether a tool gave it.
    """
    payload = reply.payload()
    if payload["ok"]:
        kind = ResultKind.TOOL_RESULT if tool else ResultKind.RESULT
        return {"kind": kind.value, "result": payload["result"]}
    kind = ResultKind.TOOL_ERROR if tool else ResultKind.INVALID_ACTION
    return {"kind": kind.value, "error": payload["error"]}


def format_error(code: str, message: str) -> ShownResult:
    """What a reply led to that was no answer."""
    kind = ResultKind.FORMAT_ERROR.value
    return {"kind": kind, "error": {"kind": kind, "reason": code, "message": message}}


def notice(text: str) -> ShownResult:
    """Something that the harness says."""
    return {"kind": ResultKind.NOTICE.value, "note": text}


def with_note(result: ShownResult, text: str) -> ShownResult:
    """A result with something that the harness adds."""
    return {**result, "note": f"{result['note']} {text}" if "note" in result else text}


def one_line(result: ShownResult, tool: str | None = None) -> ShownResult:
    """An older result as a note of one line.

    Args:
        result: the result in full.
        tool: name of the tool that gave it, if one did.
    """
    stub: ShownResult = {"kind": result["kind"]}
    if "note" in result:
        stub["note"] = result["note"]
    return with_note(stub, f"{_what(result, tool)}, no longer shown")


def fitted(result: ShownResult, characters: int) -> ShownResult:
    """A result with as many rows left out as it takes to fit, and marked.

    Args:
        result: the result in full.
        characters: longest canonical JSON.
    """
    if len(canonical_json(result)) <= characters:
        return result
    name, rows = _longest_list(result.get("result", {}))
    low, high = 0, len(rows)  # so many rows fit; so many do not
    while high - low > 1:
        middle = (low + high) // 2
        shown = len(canonical_json(_with_rows(result, name, middle))) <= characters
        low, high = (middle, high) if shown else (low, middle)
    cut = _with_rows(result, name, low)
    if len(canonical_json(cut)) <= characters:
        return cut
    return one_line(result)


def _what(result: ShownResult, tool: str | None) -> str:
    """What a result was, in a few words."""
    if "error" in result:
        return f"an error ({result['error']['reason']})"
    if tool is not None:
        return f"the result of {tool}"
    told = result.get("result", {})
    if "records" in told:
        return _records(told)
    if told.get("crop") is not None:
        crop = told["crop"]
        return f"crop {crop['run_index']} of compartment {crop['unit']}"
    if "statuses" in told:
        return f"the states of all compartments on day {told['day']:g}"
    return "a result"


def _records(told: Mapping[str, Any]) -> str:
    records, unit = told["records"], told["status"]["unit"]
    rows = "records" if records["resolution"] == "raw" else "daily rows"
    channel = f"channel {records['variable']} for compartment {unit}"
    span = f"days {records['start_day']:g} to {records['end_day']:g}"
    return f"{len(records['rows'])} {rows} of {channel}, {span}"


def _longest_list(told: Mapping[str, Any]) -> tuple[tuple[str, ...], list[Any]]:
    """Path and items of the longest list in a result, at most two levels down."""
    found: dict[tuple[str, ...], list[Any]] = {}
    for name, value in told.items():
        for inner, item in value.items() if isinstance(value, dict) else ():
            if isinstance(item, list):
                found[name, inner] = item
        if isinstance(value, list):
            found[(name,)] = value
    return max(found.items(), key=lambda item: (len(item[1]), item[0]), default=((), []))


def _with_rows(result: ShownResult, path: tuple[str, ...], count: int) -> ShownResult:
    """A result of which one list keeps so many items."""
    if not path:
        return result
    told = dict(result["result"])
    group = told if len(path) == 1 else dict(told[path[0]])
    rows = group[path[-1]]
    from_the_end = path[-1] in _FROM_THE_END
    group[path[-1]] = rows[len(rows) - count :] if from_the_end else rows[:count]
    if len(path) == 2:
        told[path[0]] = group
    which = "latest" if from_the_end else "first"
    mark = f"only the {which} {count} of {len(rows)} {path[-1]} fit in here"
    return with_note({**result, "result": told}, mark)
