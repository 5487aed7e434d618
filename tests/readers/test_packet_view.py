"""What a language model is shown of a packet: everything, or a declared part of the readings."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.canonical import canonical_json
from slowlab.readers.packet_view import VIEW_KEYS, packet_view
from slowlab.readers.packets import Packet, PacketError
from tests.readers.played import packet_of
from tests.tools.campaigns import played_campaign


@pytest.fixture(scope="module")
def packet():
    return packet_of(played_campaign().history)


def with_days(packet: Packet, *lengths: int) -> Packet:
    """The packet with as many days in its series, one length each."""
    data = packet.model_dump(mode="json")
    data["readings"] = [
        {
            "unit": unit,
            "variable": "co2_dosed",
            "days": [
                {"day": day, "n": 288, "mean": day + 0.25, "min": float(day), "max": day + 0.5}
                for day in range(length)
            ],
        }
        for unit, length in enumerate(lengths)
    ]
    return Packet.model_validate(data, strict=False)


def size(view) -> int:
    return len(canonical_json(view))


def names_in(data) -> set[str]:
    if isinstance(data, dict):
        return set(data) | {name for item in data.values() for name in names_in(item)}
    return {name for item in data for name in names_in(item)} if isinstance(data, list) else set()


def test_a_short_packet_is_shown_whole_without_task_and_fallback(packet):
    view = packet_view(packet, 80_000)
    whole = packet.model_dump(mode="json")
    assert view == {name: whole[name] for name in ("scoring_days", "day", "crops", "readings")}


def test_a_long_one_is_thinned_no_more_than_needed_and_says_how(packet):
    long = with_days(packet, 365, 100, 1)
    whole = size(packet_view(long, 10**9))
    view = packet_view(long, whole - 1)
    assert view["crops"] == packet.model_dump(mode="json")["crops"]
    assert [[row["day"] for row in series["days"]] for series in view["readings"]] == [
        list(range(0, 365, 2)),
        [*range(0, 100, 2), 99],
        [0],
    ]
    assert view["thinned"] == {
        "rule": "of each series the first of every 2 days that were read is shown, and the last "
        "one",
        "rows_left_out": 182 + 49,
    }


def test_readings_between_the_kept_days_are_left_out_by_days_that_were_read(packet):
    """Every second day that was read, wherever it lies in the year."""
    data = with_days(packet, 50).model_dump(mode="json")
    for row in data["readings"][0]["days"]:
        row["day"] = 7 * row["day"]
    sparse = Packet.model_validate(data, strict=False)
    view = packet_view(sparse, size(packet_view(sparse, 10**9)) - 1)
    assert [row["day"] for row in view["readings"][0]["days"]] == [*range(0, 350, 14), 343]


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 400), min_size=1, max_size=6),
    room=st.integers(4_000, 60_000),
)
def test_a_view_fits_into_its_room_and_holds_only_true_rows(packet, lengths, room):
    long = with_days(packet, *lengths)
    view = packet_view(long, room)
    assert size(view) <= room
    assert names_in(view) <= VIEW_KEYS
    true = {
        (series["unit"], row["day"]): row
        for series in long.model_dump(mode="json")["readings"]
        for row in series["days"]
    }
    shown = [(series["unit"], row) for series in view["readings"] for row in series["days"]]
    assert all(true[unit, row["day"]] == row for unit, row in shown)
    left_out = view.get("thinned", {"rows_left_out": 0})["rows_left_out"]
    assert len(shown) + left_out == sum(lengths)
    for series, length in zip(view["readings"], lengths, strict=True):
        days = [row["day"] for row in series["days"]]
        assert (days[0], days[-1]) == (0, length - 1)


def test_the_view_of_a_packet_does_not_depend_on_more_room_than_it_needs(packet):
    long = with_days(packet, 300, 300)
    assert packet_view(long, 10**6) == packet_view(long, 10**7)
    assert packet_view(long, 20_000) == packet_view(long, 20_000)


def test_a_packet_that_never_fits_is_refused_with_its_length(packet):
    with pytest.raises(PacketError, match=r"packet of at least \d+ characters .* room for 900"):
        packet_view(with_days(packet, 20), 900)
