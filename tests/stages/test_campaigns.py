"""Jobs of campaigns: the site's own prices, retries, and faults that are named."""

from types import SimpleNamespace

import pytest

from slowlab.campaign.journal_format import RecordKind
from slowlab.campaign.pool import Ending, PoolResult
from slowlab.campaign.session import Failure, FailureKind
from slowlab.campaign.settlement import CampaignStatus
from slowlab.methods._base import StaticMethod
from slowlab.plan.study import MethodEntry, Setting
from slowlab.stages import campaigns
from slowlab.stages.campaigns import (
    CampaignJob,
    MethodFailedError,
    fresh_journal,
    run_campaigns,
)
from slowlab.stages.materials import Materials
from slowlab.world.task import Feedback, task_description

ENTRY = MethodEntry(name="search", method="random_search")


@pytest.fixture(scope="module")
def materials():
    return Materials.load(Setting(study="test", partition="development"))


@pytest.fixture
def seen_prices(materials, monkeypatch):
    """Prices in the tasks that a method without campaigns is given, by site."""

    class Attentive(StaticMethod):
        def recommend(self, task):
            self.artifacts.append(task["prices"])
            return materials.contract.fixed_reference

    def ask():
        found = []
        monkeypatch.setattr(campaigns, "build_method", lambda *_: Attentive(None, found))
        job = CampaignJob(MethodEntry(name="attentive"), "none", 0, (0, 1, 2, 3))
        recommended = campaigns.recommend_without_campaign(materials, job)
        return dict(zip((item.site for item in recommended), found, strict=True))

    return ask


def has_own_prices(materials, prices):
    """Whether every site was described with its own prices."""
    sites = {site.index: site.prices for site in materials.sites(sorted(prices))}
    return all(
        prices[number][name] == getattr(site, name)
        for number, site in sites.items()
        for name in ("fruit_eur_per_kg_fresh", "electricity_eur_per_kwh", "co2_eur_per_kg")
    )


def test_every_site_is_described_with_its_own_prices(materials, seen_prices):
    prices = seen_prices()
    assert has_own_prices(materials, prices)
    assert len({row["fruit_eur_per_kg_fresh"] for row in prices.values()}) == 4


def test_base_prices_on_every_site_would_be_seen(materials, seen_prices, monkeypatch):
    """The fault of the original: the description of the base contract, whatever the site."""

    def base(contract, sensors, site, feedback):
        return task_description(contract, sensors, contract.economics.default_prices, feedback)

    monkeypatch.setattr(campaigns, "site_task", base)
    assert not has_own_prices(materials, seen_prices())


@pytest.fixture
def pool(monkeypatch):
    """Replaces the pool: endings are told in advance, by site and attempt."""

    def plan(endings):
        attempts = dict.fromkeys(endings, 0)

        def run(entries, **_):
            results = []
            for entry in entries:
                site = entry.name
                ending = endings[site][min(attempts[site], len(endings[site]) - 1)]
                attempts[site] += 1
                failure = Failure(FailureKind.STEPPING, "private words")
                results.append(PoolResult(str(site), ending, None, failure, "Traceback: boom"))
            return results

        def opened(materials, job, opener, site, folder):
            return SimpleNamespace(name=site), None, SimpleNamespace(uses=[])

        monkeypatch.setattr(campaigns, "run_pool", run)
        monkeypatch.setattr(campaigns, "_open", opened)
        return attempts

    return plan


def job(*sites):
    return CampaignJob(ENTRY, "full", 1, sites)


def test_a_failure_of_the_machinery_is_tried_again_and_then_missing(materials, pool, tmp_path):
    lost, fine = [Ending.INFRASTRUCTURE_FAILURE], [Ending.SETTLED]
    attempts = pool({0: fine, 1: lost + fine, 2: lost})
    records = run_campaigns(materials, job(0, 1, 2), tmp_path)
    assert attempts == {0: 1, 1: 2, 2: 3}
    assert [record.ending for record in records] == ["settled", "settled", lost[0].value]
    missing = campaigns.recommendation(job(2), records[2])
    assert missing.campaign is CampaignStatus.INFRASTRUCTURE_FAILURE
    assert missing.policy is None
    assert missing.failure == "stepping"


def test_a_campaign_that_is_tried_again_has_a_journal_without_records(tmp_path):
    path = tmp_path / "journals" / "site-000.jsonl"
    for _ in range(2):
        with fresh_journal(path) as journal:
            assert journal.count == 0
            journal.put(RecordKind.HEADER, {"try": 1})


def test_an_exception_of_a_method_stops_the_job_and_names_the_campaign(materials, pool, tmp_path):
    pool({0: [Ending.SETTLED], 7: [Ending.METHOD_ERROR]})
    with pytest.raises(MethodFailedError, match=r"search, full, repeat 1, site 7.*\n.*boom"):
        run_campaigns(materials, job(0, 7), tmp_path)


def test_feedback_conditions_share_their_random_numbers(materials):
    full, endpoint = (CampaignJob(ENTRY, mode, 1, (3,)) for mode in ("full", "endpoint"))
    keys = [campaigns.seed_key(materials, item, 3, "method") for item in (full, endpoint)]
    assert keys[0] == keys[1]
    assert campaigns.seed_key(materials, full, 4, "method") != keys[0]
    assert Feedback(full.feedback).releases_records
