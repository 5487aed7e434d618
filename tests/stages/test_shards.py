"""A campaign is the same alone and among 24, on the real simulator."""

import pytest

from slowlab.plan.study import MethodEntry, Setting
from slowlab.stages.campaigns import CampaignJob, recommendation, run_campaigns
from slowlab.stages.materials import Materials

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("method", ["random_search", "prior_bo"])
def test_one_site_in_a_shard_or_twenty_four(method, tmp_path):
    materials = Materials.load(Setting(study="shards", partition="development"))
    found = {}
    for sites in ((7,), tuple(range(24))):
        job = CampaignJob(MethodEntry(name=method), "full", 0, sites)
        folder = tmp_path / str(len(sites))
        record = next(r for r in run_campaigns(materials, job, folder) if r.site == 7)
        journal = folder / "journals" / "site-007.jsonl"
        found[len(sites)] = (journal.read_bytes(), recommendation(job, record))
    assert found[1] == found[24]
    assert len(found[1][0]) > 10_000
