"""Campaigns as tables: rows from the public history and the settlement."""

from __future__ import annotations

import pandas as pd
import pytest

from slowlab.evaluation.tables import TableError
from slowlab.stages.campaign_table import (
    CROP_SCHEMA,
    PREDICTOR,
    CampaignName,
    ToolUse,
    campaign_tables,
    count_tools,
    rows_from,
)
from slowlab.world.task import Feedback
from tests.campaign.conftest import *  # noqa: F403 - campaigns on the fake facility
from tests.campaign.moves import WARM, advance, observe, recommend, start

NAME = CampaignName(3, "prior_bo", "full", 1)


@pytest.fixture
def played(campaign, policy):
    """Two crops in one compartment and one that is stopped and never read."""
    run = campaign()
    for action in (
        start(0, policy),
        start(1, {**policy, **WARM}),
        advance(30),
        observe(0, variable="air_temperature_c"),
        observe(0, variable="air_temperature_c", resolution="daily"),
        "nonsense",
        observe(1, run_index=7),
        {"action": "stop", "unit": 1},
        advance(182),
        observe(0),
        start(0, policy),
        advance(365),
        recommend(policy),
    ):
        run.dispatch(action)
    return run


def test_rows_say_what_was_done(played) -> None:
    rows = rows_from(NAME, played.history, played.settle(), ending="settled")
    campaigns, crops, reads = campaign_tables([rows])
    assert crops[["unit", "run_index", "start_day", "end_day"]].to_numpy().tolist() == [
        [0, 1, 0.0, 180.0],
        [0, 2, 182.0, 362.0],
        [1, 1, 0.0, 30.0],
    ]
    assert crops["totals_read_day"].tolist()[0] == 182.0
    assert crops["totals_read_day"].isna().tolist() == [False, True, True]
    assert reads["variable"].tolist() == ["air_temperature_c", "air_temperature_c", ""]
    assert reads["releases_totals"].tolist() == ["no", "no", "yes"]
    assert reads["resolution"].tolist() == ["raw", "daily", ""]
    assert reads["rows"].tolist()[0] > 0
    assert reads["rows"].tolist()[2] == 0
    (row,) = campaigns.to_dict("records")
    assert (row["status"], row["source"], row["fallback_reason"]) == (
        "finished",
        "recommendation",
        "",
    )
    assert (row["starts"], row["rejections"]) == (3, 2)
    assert {row["site"], row["repeat"]} == {3, 1}


def test_ends_of_unread_crops_come_from_the_settlement(played) -> None:
    settlement = played.settle()
    private = {
        "units": [
            {
                "unit": 1,
                "crops": [
                    {
                        "run_index": 1,
                        "end_tick": 20 * 288,
                        "ending": "collapsed",
                        "margin_eur_m2": -4.5,
                    }
                ],
            }
        ]
    }
    object.__setattr__(settlement, "private", private)
    rows = rows_from(NAME, played.history, settlement, ending="settled")
    _, crops, _ = campaign_tables([rows])
    unread = crops[crops["unit"] == 1].iloc[0]
    assert (unread["end_day"], unread["reason"], unread["margin_eur_m2"]) == (
        20.0,
        "safety_stop",
        -4.5,
    )


def test_a_campaign_without_settlement_or_crops(campaign) -> None:
    run = campaign(Feedback.ENDPOINT)
    rows = rows_from(NAME, run.history, None, ending="method_error")
    campaigns, crops, reads = campaign_tables([rows])
    assert campaigns["status"].tolist() == [""]
    assert campaigns["calls"].tolist() == [0]
    assert crops.empty
    assert reads.empty
    assert CROP_SCHEMA.parquet(crops) == CROP_SCHEMA.parquet(crops.copy())


def test_tools_are_counted_with_attempts_and_outputs_apart() -> None:
    uses = [(PREDICTOR, True), (PREDICTOR, False), ("predict", True), ("predict", False)]
    assert count_tools(uses) == ToolUse(4, 2, 2, 1)
    assert count_tools([]) == ToolUse()


def test_a_campaign_cannot_be_there_twice(played) -> None:
    rows = rows_from(NAME, played.history, None, ending="settled")
    with pytest.raises(TableError, match="twice"):
        campaign_tables([rows, rows])


def test_tables_do_not_depend_on_the_order_of_campaigns(played) -> None:
    one = rows_from(NAME, played.history, None, ending="settled")
    other = rows_from(
        CampaignName(1, "prior_bo", "full", 0), played.history, None, ending="settled"
    )
    for first, second in zip(
        campaign_tables([one, other]), campaign_tables([other, one]), strict=True
    ):
        pd.testing.assert_frame_equal(first, second)
