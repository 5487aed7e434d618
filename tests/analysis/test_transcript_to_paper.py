"""From transcripts to table 4 and figure 6 and back: what is shown is what is recorded."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pandas as pd
import pytest

from slowlab.agents.transcript import read_transcript
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.analysis.numbers_file import read_numbers, write_numbers
from slowlab.analysis.study_numbers import build_numbers
from slowlab.analysis.study_tables import csv_text, table
from slowlab.plots.study_figures import draw
from slowlab.stages.agent_table import agent_tables
from slowlab.stages.campaign_table import CampaignName
from tests.agents.synthetic_transcript import branches
from tests.analysis.synthetic_study import synthetic_inputs


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Records of both branches of one campaign."""
    paths = branches(tmp_path_factory.mktemp("transcripts"))
    return {mode: read_transcript(paths[mode]).records for mode in ("full", "endpoint")}


@pytest.fixture(scope="module")
def numbers(told, tmp_path_factory):
    """The study's numbers as they stand in their file."""
    made = agent_tables(
        (CampaignName(0, "grower", mode, 0), records) for mode, records in told.items()
    )
    methods = ("fixed_reference", "grower", "prior_bo")
    inputs = synthetic_inputs(methods, sites=1, repeats=1, readers=(), example_method="grower")
    found = build_numbers(replace(inputs, agents=made[0], steps=made[1]))
    path = tmp_path_factory.mktemp("numbers") / "numbers.json"
    return read_numbers(write_numbers(path, found))


def test_rows_of_table_4_are_records_of_the_transcript(told, numbers) -> None:
    text = csv_text(table("table4", numbers))
    rows = pd.read_csv(io.StringIO(text), dtype="str", keep_default_na=False).to_dict("records")
    records = {record.sequence: record for record in told["full"]}
    answers = answers_before(told["full"])
    shown = 0
    for row in rows:
        first, _, last = row["records"].partition(" to ")
        behind = [records[n] for n in range(int(first), int(last or first) + 1) if n in answers]
        stated = [answers[record.sequence] for record in behind]
        reasons = [reason for reason in stated if reason]
        quoted = row["reason"].partition(" (and ")[0].strip("\u201c\u201d")
        assert quoted == (reasons[0] if reasons else ""), row
        shown += len(behind)
    assert shown == len(answers)
    days = [float(row["day"].partition(" to ")[0]) for row in rows]
    assert days == sorted(days)
    assert (days[0], days[-1]) == (0.0, 365.0)


def answers_before(records):
    """Reason in the answer behind each step of the model, read from the answer itself."""
    steps, answer = {}, None
    kinds = (TranscriptKind.EXCHANGE, TranscriptKind.TOOL, TranscriptKind.ERROR)
    for record in records:
        if record.kind is TranscriptKind.REPLY:
            answer = record.payload["reply"]["text"]
        elif record.kind in kinds:
            action = record.kind is TranscriptKind.EXCHANGE
            steps[record.sequence] = (
                json.loads(answer)["reason"] if action else (record.payload.get("reason") or "")
            )
    return steps


def test_counts_of_figure_6_are_those_of_distinct_records(told, numbers) -> None:
    """Records that both branches share have the same digest, so a set counts them once."""
    distinct = {record.digest: record for records in told.values() for record in records}

    def count(kind, chosen=lambda payload: True):
        return sum(r.kind is kind and bool(chosen(r.payload)) for r in distinct.values())

    figure = draw("figure6", numbers)
    said = {text.get_gid(): text.get_text() for text in figure.axes[0].texts if text.get_gid()}
    by_stage = [
        count(TranscriptKind.CALL, lambda told, stages=stages: told["stage"] in stages)
        for stages in (("initial",), ("design",), ("season", "probe"), ("final",))
    ]
    shown = [said[f"harness-stage{place}"].split()[0] for place in range(4)]
    assert [int(number) for number in shown] == by_stage
    characters = sum(
        r.payload["characters"] for r in distinct.values() if r.kind is TranscriptKind.CALL
    )
    expected = [
        [count(TranscriptKind.CALL), characters],
        [count(TranscriptKind.FLAG, lambda told: told["flag"] == "blocked")],
        [count(TranscriptKind.ATTEMPT), count(TranscriptKind.FAILED_ATTEMPT)],
        [
            count(TranscriptKind.REPLY) - count(TranscriptKind.ERROR),
            count(TranscriptKind.ERROR),
        ],
        [
            count(TranscriptKind.EXCHANGE, lambda told: told["reply"]["ok"]),
            count(TranscriptKind.EXCHANGE, lambda told: not told["reply"]["ok"]),
            count(TranscriptKind.TOOL),
            count(TranscriptKind.TOOL, lambda told: not told["reply"]["ok"]),
        ],
        [len(distinct)],
    ]
    for place, numbers_in_box in enumerate(expected):
        lines = said[f"harness-box{place}"].split("\n")[: len(numbers_in_box)]
        assert [int(line.split()[0].replace(",", "")) for line in lines] == numbers_in_box


def test_the_drawn_campaign_is_the_one_of_table_4(numbers) -> None:
    lines, told = numbers["timelines"], numbers["example_steps"]
    assert (lines["site"], lines["repeat"], lines["feedback"], lines["example_method"]) == (
        told["site"],
        told["repeat"],
        told["feedback"],
        told["method"],
    )
