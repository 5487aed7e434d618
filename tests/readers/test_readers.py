"""Readers: what they recommend, and what has no effect on it."""

import json
import subprocess
import sys

import numpy as np
import pytest

from slowlab.config import ConfigError
from slowlab.readers import predictor as predictor_reader
from slowlab.readers._base import Reader
from slowlab.readers._registry import ReaderError, build_reader, register, registered
from slowlab.readers.packets import Packet, packet_history
from slowlab.tools import outcome_model
from slowlab.world.policy import POLICY_FIELDS, EncodedPolicies, parse_policy
from slowlab.world.task import Feedback
from tests.campaign.moves import advance, observe, ok, start
from tests.readers.played import fallback, packet_of, played, write_artifacts
from tests.tools.campaigns import (
    CANOPY,
    HARVEST,
    PLANTED,
    contract,
    open_campaign,
    played_campaign,
    policy,
    rebuilt,
    turned,
)

READERS = ("best_observed", "global_gp", "gp", "predictor")


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory):
    return write_artifacts(tmp_path_factory.mktemp("artifacts"))


@pytest.fixture(scope="module")
def packet():
    return packet_of(played_campaign().history)


def read(name, packet, artifacts, **settings):
    """A reader's recommendation."""
    return build_reader(name, settings, artifacts).recommend(packet)


def test_all_readers_are_registered():
    assert set(READERS) <= set(registered())
    for name, reader in registered().items():
        assert reader.__doc__, name


@pytest.mark.parametrize(
    ("method", "feedback"),
    [
        ("prior_bo", Feedback.FULL),
        ("prior_bo", Feedback.ENDPOINT),
        ("prior_bo_two_wave", Feedback.ENDPOINT),
    ],
)
def test_the_gp_reader_is_the_local_optimisers_own_last_step(artifacts, method, feedback):
    history, recommended = played(method, artifacts, feedback)
    assert read("gp", packet_of(history), artifacts) == recommended != fallback()


@pytest.mark.parametrize("method", ["random_search", "local_random_search", "two_wave_sobol"])
def test_the_best_observed_reader_is_the_last_step_of_every_search(artifacts, method):
    history, recommended = played(method, artifacts)
    assert read("best_observed", packet_of(history), artifacts) == recommended


@pytest.mark.parametrize("name", READERS)
def test_recommendations_are_valid_and_repeat(name, packet, artifacts):
    first = read(name, packet, artifacts)
    assert parse_policy(first, contract().policy) == first
    assert read(name, packet, artifacts) == first


@pytest.mark.parametrize("name", READERS)
def test_without_any_crop_the_fallback_is_recommended(name, artifacts):
    assert read(name, packet_of(open_campaign().history), artifacts) == fallback()


@pytest.mark.parametrize("name", READERS)
def test_the_order_of_keys_has_no_effect(name, packet, artifacts):
    other = Packet.model_validate_json(json.dumps(turned(packet.model_dump(mode="json"))))
    from_history = packet_of(rebuilt(played_campaign().history))
    expected = read(name, packet, artifacts)
    assert read(name, other, artifacts) == read(name, from_history, artifacts) == expected


@pytest.mark.parametrize("name", READERS)
def test_the_numbers_of_compartments_have_no_effect(name, packet, artifacts):
    names = {0: 3, 1: 2, 2: 0, 3: 1}
    data = packet.model_dump(mode="json")
    for part in ("crops", "readings"):
        rows = [{**row, "unit": names[row["unit"]]} for row in data[part]]
        data[part] = sorted(rows, key=lambda row: row["unit"])
    other = Packet.model_validate_json(json.dumps(data))
    assert other != packet
    assert read(name, other, artifacts) == read(name, packet, artifacts)


def test_the_best_observed_crop_must_have_been_completed(artifacts):
    run = open_campaign()
    cooked = policy(day=25.95)
    for unit, item in enumerate((*PLANTED[:2], cooked)):
        ok(run.dispatch(start(unit, item.model_dump())))
    ok(run.dispatch(advance(365)))
    assert read("best_observed", packet_of(run.history), artifacts) == fallback()
    for unit in range(3):
        ok(run.dispatch(observe(unit)))
    assert read("best_observed", packet_of(run.history), artifacts) == PLANTED[1]


def two_growing(day, read_days):
    """Two crops of which only readings are known; the second one harvests more."""
    run = open_campaign()
    for unit, item in enumerate((policy(day=24.0), policy(day=24.0, co2=1150))):
        ok(run.dispatch(start(unit, item.model_dump())))
    ok(run.dispatch(advance(day)))
    for unit in (0, 1):
        for name in (HARVEST, CANOPY):
            ok(run.dispatch(observe(unit, variable=name, resolution="daily", end_day=read_days)))
    return run


def test_the_predictor_reader_counts_crops_whose_end_was_not_seen(artifacts):
    growing = packet_of(two_growing(90, 90).history)
    assert read("predictor", growing, artifacts) == policy(day=24.0, co2=1150)
    assert read("best_observed", growing, artifacts) == fallback()
    run = two_growing(120, 120)
    ok(run.dispatch(advance(365)))
    closed = packet_of(run.history)
    assert {(crop.state, crop.margin_eur_m2) for crop in closed.crops} == {("closed", None)}
    assert read("predictor", closed, artifacts) == policy(day=24.0, co2=1150)


def test_readings_after_the_end_of_a_crop_do_not_count(artifacts):
    run, load = two_growing(30, 30), artifacts.load("predictor")
    before = packet_of(run.history)
    for action in (advance(182), start(0, policy().model_dump()), advance(200)):
        ok(run.dispatch(action))
    for name in (HARVEST, CANOPY):
        ok(run.dispatch(observe(0, run_index=2, variable=name, resolution="daily")))
    packet = packet_of(run.history)
    first, second = (crop for crop in packet.crops if crop.unit == 0)
    assert (first.state, first.margin_eur_m2, second.state) == ("closed", None, "growing")
    history = predictor_reader.growing_history(packet, first)
    assert [crop.run_index for crop in history.crops()] == [1]
    assert history.daily(0, HARVEST)[-1].day == 30
    assert predictor_reader.final_margin_eur_m2(
        packet, first, load
    ) == predictor_reader.final_margin_eur_m2(before, before.crops[0], load)
    young = predictor_reader.growing_history(packet, second)
    assert young.daily(0, HARVEST)[-1].day == 200


def check_global_gp(artifacts):
    """In a world in which warmth pays, the reader asks for more of it than was tried."""
    run = open_campaign()
    for unit, day in enumerate((18.0, 20.0, 22.0, 24.0)):
        item = policy(day=day, night=15.0 + unit / 3, co2=1150 - 200 * unit, light=4.0 * unit)
        ok(run.dispatch(start(unit, item.model_dump())))
    ok(run.dispatch(advance(180)))
    for unit in range(4):
        ok(run.dispatch(observe(unit)))
    chosen = read("global_gp", packet_of(run.history), artifacts)
    assert chosen.day_temperature_c >= 23.5
    return chosen


def test_the_global_reader_looks_beyond_what_was_tried(artifacts):
    check_global_gp(artifacts)


def test_a_global_reader_with_fields_by_position_would_be_noticed(artifacts, monkeypatch):
    plain = check_global_gp(artifacts)

    def by_position(policies, fields=POLICY_FIELDS):
        rows = [[value for _, value in sorted(p.model_dump().items())] for p in policies]
        return EncodedPolicies(fields, np.array(rows))

    monkeypatch.setattr(outcome_model, "encode", by_position)
    with pytest.raises(AssertionError):
        assert check_global_gp(artifacts) == plain


def test_with_few_crops_the_global_reader_takes_the_best_one(packet, artifacts):
    best = read("best_observed", packet, artifacts)
    assert read("global_gp", packet, artifacts, fewest_crops=9) == best
    with pytest.raises(ConfigError, match="fewest_crops"):
        read("global_gp", packet, artifacts, fewest_crops=1)


def test_unknown_and_doubled_readers_are_refused(artifacts):
    with pytest.raises(ReaderError, match="best_observed"):
        build_reader("tea_leaves", {}, artifacts)

    class Impostor(Reader):
        def recommend(self, packet):
            return packet.fallback

    with pytest.raises(ReaderError, match="registered twice"):
        register("gp")(Impostor)


def test_cells_in_which_nothing_can_be_gained_are_known():
    """The local optimiser ends as the reader does only where it has the frozen kernel."""
    sources = [
        ("prior_bo", {}),
        ("prior_bo", {"kernel": "frozen", "anchor": False}),
        ("prior_bo", {"kernel": "free"}),
        ("random_search", {}),
        ("global_bo", {}),
    ]
    own = {
        (number, name)
        for number, source in enumerate(sources)
        for name, reader in registered().items()
        if reader.repeats_last_step_of(*source)
    }
    assert own == {(0, "gp"), (1, "gp"), (3, "best_observed")}


def test_readers_need_no_compiler():
    code = (
        "import sys; from slowlab.readers._registry import registered; registered(); "
        "import slowlab.tools.toolbox; print('jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_packets_history_keeps_what_readers_use(packet):
    assert packet_history(packet).crops() == packet.seen_crops()
