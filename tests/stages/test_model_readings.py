"""Readings of a language model: in order, resumed, missing after an outage, stopped by a cap."""

import json

import pytest

from slowlab.agents.books import Caps
from slowlab.agents.outages import CapReachedError
from slowlab.agents.replaying import replay_transcript
from slowlab.campaign.settlement import CampaignStatus, FallbackReason, PolicySource
from slowlab.config import ConfigError
from slowlab.evaluation.recommendations import read_recommendations, resolve
from slowlab.plan import agents
from slowlab.plan.entries import ReaderEntry
from slowlab.plan.study import Setting
from slowlab.readers.packets import PacketError
from slowlab.readers.reading_transcripts import READING, replay_reading
from slowlab.stages import readers
from slowlab.stages.materials import Materials
from slowlab.stages.model_readings import read_with_model
from tests.agents.fault_server import FaultServer
from tests.agents.model_configs import model
from tests.readers.played import played, write_artifacts
from tests.readers.readings import ANSWER, recommended

STAND_IN = ReaderEntry(name="asked", model="stand-in-grower", stand_in=True)
NO_CAPS = Caps()
SITES, SOURCES = (1, 3), ("other", "search")


@pytest.fixture(scope="module")
def materials():
    return Materials.load(Setting(study="test", partition="development"))


@pytest.fixture(scope="module")
def packets(materials, tmp_path_factory):
    """Packets of two sources on two sites, all from one played campaign."""
    folder = tmp_path_factory.mktemp("packets")
    history, _ = played("random_search", write_artifacts(folder / "artifacts"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "journal_history", lambda path, task: history)
        folders = {name: folder / name for name in SOURCES}
        readers.make_packets(materials, folders, "full", SITES, folder / "packets.json")
    return folder / "packets.json"


@pytest.fixture
def job(materials, packets, tmp_path):
    """Runs the job in a folder of its own; the recommendations as they were written."""

    def run(entry=STAND_IN, spending=NO_CAPS):
        target = tmp_path / "readings.json"
        read_with_model(
            materials,
            entry,
            packets,
            target,
            transcripts=tmp_path / "transcripts",
            purse=tmp_path / "purse",
            spending=spending,
        )
        return read_recommendations(target, materials.contract).recommendations

    return run


@pytest.fixture
def asked(monkeypatch):
    """Lets the job ask a local server instead of a model of models.yaml."""

    def ask(server, **config):
        found = model(base_url=server.base_url, idempotency=True, **config)
        monkeypatch.setattr(agents, "model_config", lambda name: found)
        return ReaderEntry(name="asked", model=found.name)

    return ask


def transcripts(folder):
    return {p.name: p.read_bytes() for p in (folder / "transcripts").glob("*.transcript.jsonl")}


def test_the_best_crop_is_recommended_by_the_stand_in_on_every_packet(job, packets, tmp_path):
    found = job()
    assert [(item.site, item.method, item.feedback) for item in found] == [
        (site, f"reader:asked:{source}", "full") for site in SITES for source in SOURCES
    ]
    rows = json.loads(packets.read_text())["packets"]
    for item, row in zip(found, rows, strict=True):
        grown = [crop["policy"] for crop in row["packet"]["crops"]]  # it rounds to tenths
        assert item.policy in [{k: round(v, 1) for k, v in policy.items()} for policy in grown]
    assert all(item.source is PolicySource.RECOMMENDATION for item in found)
    names = {f"site-{site:03d}.{source}.transcript.jsonl" for site in SITES for source in SOURCES}
    assert transcripts(tmp_path).keys() == names
    for path in (tmp_path / "transcripts").glob("*.transcript.jsonl"):
        assert replay_transcript(path, {READING: replay_reading}).mismatches == ()


def test_running_again_asks_nothing_and_changes_no_byte(job, asked, tmp_path):
    with FaultServer(then={"do": "answer", "text": recommended()}) as server:
        entry = asked(server)
        first = job(entry)
        files = transcripts(tmp_path)
        assert len(server.requests) == 4
        assert job(entry) == first
        assert len(server.requests) == 4
    assert transcripts(tmp_path) == files
    assert [item.policy for item in first] == [ANSWER.model_dump()] * 4


def test_results_stand_in_the_order_of_the_packets_whoever_answers_first(job, asked):
    def first_ones_late(seen):
        late = len(server.requests) <= 2
        step = {"do": "wait_and_answer", "seconds": 0.3} if late else {"do": "answer"}
        return {**step, "text": recommended()}

    with FaultServer(then=first_ones_late) as server:
        found = job(asked(server))
    assert [(item.site, item.method) for item in found] == [
        (site, f"reader:asked:{source}") for site in SITES for source in SOURCES
    ]


def test_a_seed_belongs_to_a_packet_and_not_to_the_reader(job, asked):
    with FaultServer(then={"do": "answer", "text": recommended()}) as server:
        entry = asked(server)
        job(entry)
        job(ReaderEntry(name="second", model=entry.model))  # its header is another one
        seeds = [seen.body["seed"] for seen in server.requests]
    assert len(seeds) == 8
    assert len(set(seeds)) == 4


def test_three_useless_answers_leave_the_flagged_fallback(job, asked, materials):
    with FaultServer(then={"do": "answer", "text": "I do not know."}) as server:
        found = job(asked(server))
    assert len(server.requests) == 3 * 4
    for item in found:
        resolved = resolve(item, materials.contract)
        assert resolved.policy == materials.contract.fixed_reference
        assert resolved.source is PolicySource.FIXED_POLICY
        assert resolved.fallback_reason is FallbackReason.INVALID_RECOMMENDATION


def test_an_outage_makes_its_own_reading_missing(job, asked, materials):
    refused, answer = {"do": "status", "status": 400}, {"do": "answer", "text": recommended()}
    with FaultServer([refused], then=answer) as server:
        found = job(asked(server))
    missing = [item for item in found if item.campaign is CampaignStatus.INFRASTRUCTURE_FAILURE]
    (item,) = missing
    assert (item.policy, item.failure) == (None, "model_outage")
    assert resolve(item, materials.contract).policy is None
    assert [i.policy for i in found if i is not item] == [ANSWER.model_dump()] * 3


def test_a_cap_stops_the_job_and_what_was_paid_for_is_kept(job, asked, tmp_path):
    with FaultServer(then={"do": "answer", "text": recommended()}) as server:
        entry = asked(server)
        with pytest.raises(CapReachedError, match=r"asked, site \d, (other|search): "):
            job(entry, Caps(calls=2))
        assert len(server.requests) == 2
        assert not (tmp_path / "readings.json").exists()
        found = job(entry, Caps(calls=4))
        assert len(server.requests) == 4
    assert [item.policy for item in found] == [ANSWER.model_dump()] * 4


def test_what_is_hidden_about_the_site_never_reaches_the_model(job, asked, materials):
    with FaultServer(then={"do": "answer", "text": recommended()}) as server:
        job(asked(server))
        sent = [json.dumps(seen.body) for seen in server.requests]
    for site in materials.sites(SITES):
        for value in site.draws.values():
            assert not any(repr(value) in text for text in sent if isinstance(value, float))
    assert not any(name in text for text in sent for name in ("random_search", "development"))


def test_a_model_and_a_profile_that_do_not_exist_are_named(job):
    with pytest.raises(ConfigError, match="no-such-model"):
        job(ReaderEntry(name="asked", model="no-such-model"))
    with pytest.raises(ConfigError, match="no_such_profile"):
        job(ReaderEntry(name="asked", model="stand-in-grower", harness="no_such_profile"))


def test_packets_that_were_changed_are_refused_before_anything_is_asked(
    materials, packets, tmp_path
):
    data = json.loads(packets.read_text())
    data["packets"][0]["packet"]["day"] = 12.0
    changed = tmp_path / "packets.json"
    changed.write_text(json.dumps(data))
    with pytest.raises(PacketError, match="was changed"):
        read_with_model(
            materials,
            STAND_IN,
            changed,
            tmp_path / "readings.json",
            transcripts=tmp_path / "transcripts",
            purse=tmp_path / "purse",
            spending=NO_CAPS,
        )
    assert not (tmp_path / "transcripts").exists()
