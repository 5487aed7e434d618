"""Results as prompts show them: in full, as a note of one line, or with rows left out."""

from __future__ import annotations

import json

import pytest

from slowlab.agents.results import (
    fitted,
    format_error,
    notice,
    one_line,
    reply_result,
    with_note,
)
from slowlab.campaign.errors import ErrorInfo, ErrorKind, Reason, Reply
from slowlab.canonical import canonical_json
from slowlab.tools.errors import ToolError, ToolReason

STATUS = {"unit": 2, "phase": "active", "run_index": 1}


def read(rows, resolution="daily"):
    """A read of records."""
    records = {
        "variable": "air_temperature_c",
        "resolution": resolution,
        "start_day": 10.0,
        "end_day": 10.5 if resolution == "raw" else 40.0,
        "rows": rows,
    }
    result = {"day": 41.0, "status": STATUS, "crop": None, "records": records, "budget": {}}
    return reply_result(Reply.success(result), tool=False)


def days(count):
    return [{"day": day, "n": 288, "mean": 20.5, "min": 18.0, "max": 24.0} for day in range(count)]


def test_kinds_of_results():
    refused = Reply.failure(ErrorInfo(ErrorKind.INVALID_ACTION, Reason.DAY, "day must be", {}))
    assert reply_result(refused, tool=False) == {
        "kind": "invalid_action",
        "error": {
            "kind": "invalid_action",
            "reason": "day",
            "message": "day must be",
            "budget": {},
        },
    }
    no_tool = ToolError(ToolReason.TOO_YOUNG, "wait").reply()
    assert reply_result(no_tool, tool=True)["kind"] == "tool_error"
    answer = Reply.success({"runs": []})
    assert reply_result(answer, tool=True) == {"kind": "tool_result", "result": {"runs": []}}
    assert format_error("syntax", "no")["error"] == {
        "kind": "format_error",
        "reason": "syntax",
        "message": "no",
    }
    assert with_note(notice("One."), "Two.") == {"kind": "notice", "note": "One. Two."}


@pytest.mark.parametrize(
    ("result", "tool", "note"),
    [
        (
            read(days(30)),
            None,
            "30 daily rows of channel air_temperature_c for compartment 2, days 10 to 40, "
            "no longer shown",
        ),
        (
            read([{"time_s": 0, "value": 1.0}] * 512, "raw"),
            None,
            "512 records of channel air_temperature_c for compartment 2, days 10 to 10.5, "
            "no longer shown",
        ),
        (
            {"kind": "result", "result": {"crop": {"unit": 1, "run_index": 2}}},
            None,
            "crop 2 of compartment 1, no longer shown",
        ),
        (
            {"kind": "result", "result": {"day": 30.0, "statuses": [STATUS]}},
            None,
            "the states of all compartments on day 30, no longer shown",
        ),
        (
            {"kind": "result", "result": {"day": 0.0, "crop": None}},
            None,
            "a result, no longer shown",
        ),
        (
            {"kind": "tool_result", "result": {"predictions": []}},
            "predict",
            "the result of predict, no longer shown",
        ),
        (format_error("syntax", "x" * 400), None, "an error (syntax), no longer shown"),
        (
            {"kind": "result", "result": {}, "note": "Only 3 fit."},
            None,
            "Only 3 fit. a result, no longer shown",
        ),
    ],
    ids=range(8),
)
def test_an_older_result_becomes_a_note_of_one_line(result, tool, note):
    before = canonical_json(result)
    assert one_line(result, tool) == {"kind": result["kind"], "note": note}
    assert canonical_json(result) == before


def test_a_result_that_fits_stays_as_it_is():
    result = read(days(5))
    assert fitted(result, len(canonical_json(result))) is result


@pytest.mark.parametrize("left_out", [2, 100, 399])
def test_of_records_the_latest_rows_are_kept_and_it_says_so(left_out):
    result = read(days(400))
    kept = 400 - left_out
    room = len(canonical_json(read(days(400)[left_out:]))) + len(',"note":"')
    room += len(f'only the latest {kept} of 400 rows fit in here"')
    cut = fitted(result, room)
    assert cut["result"]["records"]["rows"] == days(400)[left_out:]
    assert cut["note"] == f"only the latest {kept} of 400 rows fit in here"
    assert len(canonical_json(cut)) <= room
    assert len(result["result"]["records"]["rows"]) == 400


def test_of_other_lists_the_first_items_are_kept():
    result = {"kind": "tool_result", "result": {"policies": [{"a": n} for n in range(64)]}}
    cut = fitted(result, 200)
    shown = cut["result"]["policies"]
    assert shown == [{"a": n} for n in range(len(shown))]
    assert 0 < len(shown) < 64
    assert cut["note"] == f"only the first {len(shown)} of 64 policies fit in here"


def test_what_does_not_fit_at_all_becomes_a_note():
    assert fitted(read(days(400)), 150) == one_line(read(days(400)))
    assert fitted(notice("x" * 500), 100) == {
        "kind": "notice",
        "note": f"{'x' * 500} a result, no longer shown",
    }


def test_no_row_more_would_have_fitted():
    result = read(days(400))
    for room in range(400, 3_000, 37):
        cut = fitted(result, room)
        rows = cut["result"]["records"]["rows"]
        one_more = json.loads(canonical_json(result))
        one_more["result"]["records"]["rows"] = days(400)[400 - len(rows) - 1 :]
        one_more["note"] = f"only the latest {len(rows) + 1} of 400 rows fit in here"
        assert len(canonical_json(cut)) <= room < len(canonical_json(one_more))
