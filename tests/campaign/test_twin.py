"""Twins: equal public history and different hidden state give identical bytes."""

import pytest

from slowlab.campaign.history import History
from slowlab.canonical import canonical_bytes
from slowlab.world.simulation import CropEnding
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import COOKED_C, Hidden
from tests.campaign.moves import WARM, advance, observe, recommend, start

TWIN = Hidden(
    transpiration=333.25,
    poles=77,
    safety=CropEnding.COLLAPSED,
    seed=6_060_842_157_319_001,
    standby_heat=271.828,
)


def year(policy):
    """A campaign with a safety stop, reads of all kinds and rejections."""
    hot = {**policy, "day_temperature_c": COOKED_C}
    return [
        start(0, policy),
        start(1, hot),
        start(2, {**policy, **WARM}),
        observe(0, variable="air_temperature_c"),
        advance(30),
        observe(1),
        observe(1, run_index=1),
        observe(1, variable="canopy_lai_proxy", resolution="daily"),
        start(1, policy),
        {"action": "stop", "unit": 2},
        {"action": "stop", "unit": 3},
        observe(9),
        "nonsense",
        advance(182),
        *(observe(unit) for unit in range(4)),
        observe(0, variable="co2_dosed", resolution="daily"),
        advance(365),
        recommend({}),
        recommend(policy),
    ]


@pytest.mark.parametrize("feedback", Feedback)
def test_twins_get_identical_bytes(campaign, policy, feedback):
    one = campaign(feedback, shuffle_key="k")
    other = campaign(feedback, shuffle_key="k", hidden=TWIN)
    assert canonical_bytes(one.task()) == canonical_bytes(other.task())
    for action in year(policy):
        assert one.dispatch(action).canonical() == other.dispatch(action).canonical()
    assert one.history.sha256() == other.history.sha256()
    assert canonical_bytes(one.history.digest()) == canonical_bytes(other.history.digest())
    settled = one.settle().payload(), other.settle().payload()
    assert settled[0]["private"] != settled[1]["private"]


@pytest.mark.parametrize("feedback", Feedback)
def test_no_hidden_value_is_in_any_reply(campaign, policy, feedback):
    run = campaign(feedback, shuffle_key="k", hidden=TWIN)
    replies = [run.dispatch(action).canonical().decode() for action in year(policy)]
    text = "".join([*replies, canonical_bytes(run.history.digest()).decode()])
    for secret in ("collapse", "temperature_safety", "6060842157319001", "271.828", "333.25"):
        assert secret not in text
    assert "transpiration" not in text
    if feedback is not Feedback.UNASSIGNED:
        assert "safety_stop" in text


def test_a_history_is_made_of_what_was_sent_and_seen(campaign, policy):
    run = campaign(hidden=TWIN)
    outside = History(run.task())
    for action in year(policy):
        reply = run.dispatch(action)
        outside.add(action if isinstance(action, dict) else None, reply.payload())
    assert outside.sha256() == run.history.sha256()
