"""Tables of language models' campaigns: one row a campaign, one a step, both from transcripts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slowlab.agents.steps import transcript_steps
from slowlab.agents.summary import COUNTS, SHARED, transcript_counts
from slowlab.agents.transcript import read_transcript
from slowlab.evaluation.tables import TableError
from slowlab.stages.agent_table import (
    AGENT_SCHEMA,
    STEP_SCHEMA,
    agent_tables,
    journal_step_table,
)
from slowlab.stages.campaign_table import CampaignName
from tests.agents.synthetic_transcript import branches
from tests.methods.contract_world import Play, made


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    paths = branches(tmp_path_factory.mktemp("transcripts"))
    return [
        (CampaignName(3, "grower", mode, 1), read_transcript(paths[mode]).records)
        for mode in ("full", "endpoint")
    ]


@pytest.fixture(scope="module")
def tables(told):
    return agent_tables(told)


def test_counts_are_those_of_the_transcripts(told, tables) -> None:
    counts = tables[0].set_index("feedback")
    for name, records in told:
        row, expected = counts.loc[name.feedback], transcript_counts(records)
        assert {key: row[key] for key in COUNTS} == {key: expected[key] for key in COUNTS}
        assert (row["model"], row["harness"]) == ("stand-in-grower", "digest_notes")
        assert row["ending"] == "recommended"


def test_what_branches_share_is_the_same_in_both(tables) -> None:
    counts = tables[0].set_index("feedback")
    for name in SHARED:
        full, endpoint = (counts.loc[mode, f"shared_{name}"] for mode in ("full", "endpoint"))
        assert full == endpoint, name
        assert full <= counts.loc["full", name], name
    assert counts.loc["full", "shared_model_calls"] == 5


def test_steps_are_those_of_the_transcripts(told, tables) -> None:
    for name, records in told:
        rows = tables[1][tables[1]["feedback"] == name.feedback]
        steps = transcript_steps(records)
        for column in ("sequence", "day", "action", "reason", "outcome"):
            assert rows[column].tolist() == [getattr(step, column) for step in steps]
        assert rows["ok"].tolist() == ["yes" if step.ok else "no" for step in steps]


def test_files_are_the_same_and_read_back(told, tables, tmp_path) -> None:
    for schema, table, again in zip(
        (AGENT_SCHEMA, STEP_SCHEMA), tables, agent_tables(told[::-1]), strict=True
    ):
        content = schema.parquet(table)
        assert content == schema.parquet(again)
        (tmp_path / "table.parquet").write_bytes(content)
        assert schema.read(tmp_path / "table.parquet").equals(table)


def test_a_campaign_stands_in_the_tables_once(told) -> None:
    with pytest.raises(TableError, match="is there twice"):
        agent_tables([told[0], told[0]])


def test_a_campaign_without_records_has_zeros_and_no_steps(told) -> None:
    lost = (replace(told[0][0], site=4), ())
    counts, steps = agent_tables([told[0], lost])
    row = counts.set_index("site").loc[4]
    assert (row["model_calls"], row["ending"], row["model"]) == (0, "", "")
    assert set(steps["site"]) == {3}


def test_no_campaigns_make_empty_tables() -> None:
    counts, steps = agent_tables([])
    assert counts.empty
    assert steps.empty


def test_steps_of_a_numerical_method(tmp_path) -> None:
    path = tmp_path / "journal.jsonl"
    Play(made("random_search"), journal=path).run()
    table = journal_step_table(CampaignName(0, "random_search", "full", 0), path)
    assert set(table["by"]) == {"method"}
    assert set(table["reason"]) == {""}
    assert "recommend" in set(table["kind"])
