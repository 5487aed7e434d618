"""Packets: everything that was seen, nothing else, in one written form."""

from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.campaign.history import History
from slowlab.campaign.journal import Journal, read_journal
from slowlab.campaign.pool import Entry, run_pool
from slowlab.readers.packets import make_packet, packet_history
from slowlab.readers.recorded import journal_history, recorded_history
from slowlab.tools.toolbox import Toolbox
from slowlab.world.economics import Prices
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import Hidden
from tests.campaign.moves import advance, observe, ok, start
from tests.campaign.sessions import FakeStepping, fake_session, play
from tests.readers.played import fallback, packet_of, played, write_artifacts
from tests.tools.campaigns import (
    AIR,
    HARVEST,
    HEAT,
    PLANTED,
    READ,
    open_campaign,
    played_campaign,
    policy,
    rebuilt,
    toolbox,
    use,
)


@pytest.fixture(scope="module")
def history():
    return played_campaign().history


def test_a_packet_holds_every_crop_and_every_channel_that_was_read(history):
    packet = packet_of(history)
    assert [crop.policy for crop in packet.crops if crop.run_index == 1] == list(PLANTED)
    assert packet.seen_crops() == history.crops()
    found = {(s.unit, s.variable): [row.model_dump() for row in s.days] for s in packet.readings}
    assert found == {
        name: [asdict(row) for row in history.daily(*name)] for name in history.channels()
    }
    assert {unit for unit, _ in found} == {0, 1}
    assert {name for _, name in found} == set(READ)
    assert packet.scoring_days == (0.0, 182.0)
    assert packet.day == 200.0


def test_a_packet_carries_the_prices_of_its_own_site():
    prices = Prices(
        fruit_eur_per_kg_fresh=2.375,
        electricity_eur_per_kwh=0.31,
        delivered_heat_eur_per_kwh=0.11,
        co2_eur_per_kg=0.27,
    )
    run = played_campaign(prices=prices)
    told = packet_of(run.history).task["prices"]
    assert {name: told[name] for name in prices.model_dump()} == prices.model_dump()
    assert packet_of(played_campaign().history).task["prices"] != told


def test_a_packet_tells_neither_the_method_nor_anything_hidden(tmp_path):
    artifacts = write_artifacts(tmp_path)
    seen, _ = played("two_wave_sobol", artifacts)
    text = packet_of(seen).canonical()
    for word in ("two_wave", "sobol", "8402157319", "31.415", "transpiration_kg"):
        assert word not in text
    twins = []
    for hidden in (Hidden(), Hidden(transpiration=1.0, poles=9, seed=1, standby_heat=0.0)):
        run = open_campaign()
        run.facility.hidden = hidden
        for action in (start(0, policy().model_dump()), advance(180), observe(0)):
            ok(run.dispatch(action))
        twins.append(packet_of(run.history).sha256())
    assert twins[0] == twins[1]


def test_a_history_made_from_a_packet_gives_the_same_packet_and_tools(history):
    packet = packet_of(history)
    again = packet_history(packet)
    assert packet_of(again).canonical() == packet.canonical()
    for name, arguments in (
        ("runs", {}),
        ("predict", {"policies": [policy().model_dump()]}),
        ("series_summary", {"unit": 0, "variable": HARVEST}),
    ):
        assert use(toolbox(again), name, **arguments) == use(toolbox(history), name, **arguments)


def test_an_empty_campaign_has_a_packet():
    packet = packet_of(open_campaign().history)
    assert (packet.crops, packet.readings, packet.day) == ((), (), 0.0)
    assert packet_of(packet_history(packet)) == packet


@pytest.mark.parametrize(
    ("method", "feedback"), [("prior_bo", Feedback.FULL), ("random_search", Feedback.ENDPOINT)]
)
def test_a_journal_gives_the_same_packet_as_the_campaign(tmp_path, method, feedback):
    artifacts = write_artifacts(tmp_path)
    path = tmp_path / "campaign.jsonl"
    seen, _ = played(method, artifacts, feedback, journal=path)
    again = journal_history(path, seen.task)
    assert again.sha256() == seen.sha256()
    assert packet_of(again).sha256() == packet_of(seen).sha256()


def test_rejected_and_unreadable_actions_come_back_from_a_journal(tmp_path):
    path, run = tmp_path / "campaign.jsonl", open_campaign()
    session = fake_session(run, FakeStepping(), Journal.open(path))
    actions = [
        start(0, policy().model_dump()),
        {"action": "stop", "unit": 3},
        {"action": "dance"},
        {"action": "advance", "day": float("nan")},
        "nonsense",
        advance(3),
        observe(0, variable=AIR),
    ]
    run_pool([Entry("only", session, play(actions), settle=False)])
    records = read_journal(path).records
    again = recorded_history(records, run.task())
    assert again.sha256() == run.history.sha256()
    waiting = recorded_history(records[:-1], run.task())
    assert len(waiting.exchanges) == len(again.exchanges) - 1


def test_the_order_of_keys_has_no_effect(history):
    assert packet_of(rebuilt(history)).canonical() == packet_of(history).canonical()


reads = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(READ),
        st.sampled_from(["raw", "daily"]),
        st.integers(0, 28),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=6,
)


def days_read(reply):
    """Readings of each day in a reply, worked out from its own rows."""
    records = reply["records"]
    if records["resolution"] == "daily":
        return {row["day"]: row["n"] for row in records["rows"]}
    days = [row["time_s"] // 86_400 for row in records["rows"]]
    return {day: days.count(day) for day in days}


def check_ingestion(asked, history_class=History):
    """Every day in a reply is in the packet and in the summary tool, with as many readings."""
    run = open_campaign()
    for unit, item in enumerate(PLANTED):
        ok(run.dispatch(start(unit, item.model_dump())))
    ok(run.dispatch(advance(30)))
    expected = {}
    for unit, variable, resolution, day, more in asked:
        window = {"start_day": day, "end_day": day + more, "resolution": resolution}
        told = days_read(ok(run.dispatch(observe(unit, variable=variable, **window))))
        for number, n in told.items():
            name = (unit, variable, number)
            expected[name] = max(n, expected.get(name, 0))
    seen = history_class(run.history.task)
    for item in run.history.exchanges:
        seen.add(item.action, item.reply)
    packet = packet_of(seen)
    for (unit, variable, day), n in expected.items():
        days = {s.variable: s.days for s in packet.readings if s.unit == unit}.get(variable, ())
        assert [row.n for row in days if row.day == day and row.n >= n], "not in the packet"
        told = use(toolbox(seen), "series_summary", unit=unit, variable=variable)["days"]
        assert [row["n"] for row in told if row["day"] == day and row["n"] >= n]


@settings(max_examples=12, deadline=None)
@given(asked=reads)
def test_whatever_was_read_is_in_the_packet(asked):
    check_ingestion(asked)


def test_a_history_that_ignores_daily_rows_would_be_noticed():
    class RawOnly(History):
        def daily(self, unit, variable):
            rows = self._days_of_raw(unit, variable)
            return [rows[day] for day in sorted(rows)]

    check_ingestion([(0, HEAT, "raw", 3, 1)], RawOnly)
    with pytest.raises(AssertionError, match="not in the packet"):
        check_ingestion([(0, HEAT, "daily", 3, 1)], RawOnly)


def test_the_predictor_works_on_a_packet_as_in_the_campaign(tmp_path):
    artifacts = write_artifacts(tmp_path)
    run = played_campaign()
    call = {"unit": 0, "run_index": 2}
    seen = Toolbox(run.history, artifacts, 1)
    read = Toolbox(packet_history(make_packet(run.history, fallback())), artifacts, 1)
    name = "predict_crop_outcome"
    assert use(seen, name, **call) == use(read, name, **call)
