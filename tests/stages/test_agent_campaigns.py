"""Campaigns of language models in a job: branches, resuming, caps, outages, the firewall."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from slowlab.agents.books import Caps
from slowlab.agents.client import AttemptFailedError
from slowlab.agents.connection import Connection, connect
from slowlab.agents.models import model_config
from slowlab.agents.outages import AttemptFault
from slowlab.agents.transcript import read_transcript
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.journal import read_journal
from slowlab.campaign.journal_format import RecordKind
from slowlab.campaign.settlement import CampaignStatus
from slowlab.plan.entries import MethodEntry
from slowlab.plan.study import INITIAL, Setting
from slowlab.readers.recorded import journal_history
from slowlab.stages import agent_campaigns
from slowlab.stages.agent_campaigns import AgentFolders, AgentStage, SpendingCapError
from slowlab.stages.agent_files import AGENT_TABLES, make_agent_campaigns
from slowlab.stages.campaigns import CampaignJob, recommendation
from slowlab.stages.materials import Materials
from slowlab.world.task import Feedback, site_task
from tests.simulations import short_contract

FEEDBACK = ("full", "endpoint")
SITES = (0, 1)
NAMES = ("transcripts", "journals")


@pytest.fixture(scope="module")
def materials():
    """The world of a study with campaigns of twelve days."""
    found = Materials.load(Setting(study="test", partition="development"))
    return replace(found, contract=short_contract())


@pytest.fixture(scope="module")
def played(materials, tmp_path_factory):
    """One job that nothing disturbed, and where its files are."""
    folder = tmp_path_factory.mktemp("played")
    return play(materials, folder), folder


@contextmanager
def connection(folder, model="stand-in-grower", caps=None):
    with connect(model_config(model), folder / "purse.jsonl", caps or Caps()) as found:
        yield found


def stage(materials, folder, link, sites=SITES):
    entry = MethodEntry(name="grower", model="stand-in-grower", stand_in=True)
    job = CampaignJob(entry, INITIAL, 0, sites)
    folders = AgentFolders(
        folder / "transcripts", {mode: folder / "journals" / mode for mode in FEEDBACK}
    )
    return AgentStage(materials, job, FEEDBACK, link, folders)


def play(materials, folder, **options):
    with connection(folder, **options) as link:
        return stage(materials, folder, link).run()


def bytes_of(folder):
    """Every transcript and journal by its path."""
    found = [path for name in NAMES for path in sorted((folder / name).rglob("*.jsonl"))]
    kept = [path for path in found if ".timing." not in path.name]
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


def records(folder, mode, site=0):
    return read_transcript(
        folder / "transcripts" / f"site-{site:03d}.{mode}.transcript.jsonl"
    ).records


def calls(folder):
    """Calls that were sent, by the purse."""
    with connection(folder) as link:
        return link.purse.totals().calls


def test_every_site_and_condition_ends_with_a_recommendation(played):
    found, _ = played
    assert set(found.records) == {(mode, site) for mode in FEEDBACK for site in SITES}
    for record in found.records.values():
        assert record.result.settlement.status is CampaignStatus.FINISHED
        assert record.ending == "recommended"
    assert all(found.initial.values())
    assert not found.failures


def test_branches_begin_with_the_same_records(played):
    _, folder = played
    before = records(folder, INITIAL)
    assert [record.kind for record in before].count(TranscriptKind.INITIAL) == 1
    for mode in FEEDBACK:
        branch = records(folder, mode)
        assert branch[: len(before)] == before
        assert branch[len(before)].kind is TranscriptKind.ASSIGNMENT
        assert branch[len(before)].payload["feedback"] == mode


def test_journals_of_branches_agree_until_the_condition_is_told(played):
    _, folder = played
    prefixes = []
    for mode in FEEDBACK:
        found = read_journal(folder / "journals" / mode / "site-000.jsonl").records
        kinds = [record.kind for record in found]
        told = kinds.index(RecordKind.ASSIGNMENT)
        assert kinds[1] is RecordKind.INITIAL
        assert RecordKind.REQUEST in kinds[:told]
        prefixes.append(found[:told])
    assert prefixes[0] == prefixes[1]


@pytest.mark.parametrize("mode", FEEDBACK)
def test_transcript_and_journal_tell_the_same_campaign(played, materials, mode):
    """Figures are drawn from tables of the journal, step tables from the transcript."""
    _, folder = played
    site = materials.sites([0])[0]
    task = site_task(materials.contract, materials.sensors, site, Feedback(mode))
    journal = journal_history(folder / "journals" / mode / "site-000.jsonl", task)
    kept = [(item.action, item.reply) for item in journal.exchanges]
    told = [r.payload for r in records(folder, mode) if r.kind is TranscriptKind.EXCHANGE]
    assert [(item["action"], item["reply"]) for item in told] == kept
    assert len(kept) > 10


def test_a_second_run_asks_nothing_and_writes_the_same_bytes(played, materials):
    _, folder = played
    before, sent = bytes_of(folder), calls(folder)
    again = play(materials, folder)
    assert bytes_of(folder) == before
    assert calls(folder) == sent > 0
    assert again.initial == played[0].initial


def test_a_site_alone_has_the_bytes_of_a_site_in_company(played, materials, tmp_path):
    with connection(tmp_path) as link:
        stage(materials, tmp_path, link, sites=(1,)).run()
    whole = bytes_of(played[1])
    assert bytes_of(tmp_path) == {name: whole[name] for name in whole if "site-001" in name}


class _Failing:
    """A client that stops answering after some calls."""

    def __init__(self, client, answers):
        self._client, self._left = client, answers

    def send(self, call, key):
        self._left -= 1
        if self._left < 0:
            raise AttemptFailedError(AttemptFault.REFUSED, "no such key", maybe_billed=False)
        return self._client.send(call, key)


def test_an_outage_is_missing_data_and_the_job_goes_on_where_it_stopped(
    played, materials, tmp_path
):
    with connection(tmp_path) as link:
        failing = Connection(link.model, _Failing(link.client, 15), link.purse)
        found = stage(materials, tmp_path, failing).run()
    endings = {record.ending for record in found.records.values()}
    assert "infrastructure_failure" in endings
    lost = [key for key, r in found.records.items() if r.ending == "infrastructure_failure"]
    mode, site = lost[0]
    job = CampaignJob(MethodEntry(name="grower", model="x", stand_in=True), mode, 0, (site,))
    missing = recommendation(job, found.records[lost[0]])
    assert missing.policy is None
    assert missing.campaign is CampaignStatus.INFRASTRUCTURE_FAILURE
    assert play(materials, tmp_path).initial == played[0].initial


def test_a_cap_stops_the_job_before_a_call_and_raising_it_goes_on(played, materials, tmp_path):
    with pytest.raises(SpendingCapError, match="calls"):
        play(materials, tmp_path, caps=Caps(calls=7))
    assert calls(tmp_path) == 7
    play(materials, tmp_path)
    assert bytes_of(tmp_path) == bytes_of(played[1])
    assert calls(tmp_path) == calls(played[1])


def test_a_hidden_value_in_a_prompt_ends_the_campaign_before_anything_is_sent(
    materials, tmp_path, monkeypatch
):
    price = materials.sites([0])[0].prices.fruit_eur_per_kg_fresh
    monkeypatch.setattr(agent_campaigns, "hidden_values", lambda site: [("planted", price)])
    with connection(tmp_path) as link:
        found = stage(materials, tmp_path, link, sites=(0,)).run()
        assert link.purse.totals().calls == 0
    assert found.failures == {0: "firewall"}
    assert all(record.ending == "infrastructure_failure" for record in found.records.values())


def test_a_campaign_that_ended_in_the_shared_beginning_keeps_its_records_in_the_tables(
    materials, tmp_path, monkeypatch
):
    price = materials.sites([0])[0].prices.fruit_eur_per_kg_fresh
    monkeypatch.setattr(agent_campaigns, "hidden_values", lambda site: [("planted", price)])
    entry = MethodEntry(name="grower", model="stand-in-grower", stand_in=True)
    folders = {mode: tmp_path / mode for mode in (*FEEDBACK, INITIAL)}
    make_agent_campaigns(
        materials,
        CampaignJob(entry, INITIAL, 0, (0,)),
        folders,
        tmp_path / "transcripts",
        tmp_path / "purse.jsonl",
        Caps(),
    )
    for mode in FEEDBACK:
        frames = {
            name: schema.read(folders[mode] / f"{name}.parquet")
            for name, schema in AGENT_TABLES.items()
        }
        assert frames["agents"]["blocked"].tolist() == [1]
        assert "flag: blocked" in set(frames["agent_steps"]["action"])
