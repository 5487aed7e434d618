"""How much work a study is."""

from dataclasses import replace

import pytest

from slowlab.plan.estimate import LANES, Calendar, campaign_job, estimates, with_timings
from slowlab.plan.items import CampaignItem, Shard, agents, campaign_items, shards
from slowlab.plan.study import load_study

CALENDAR = Calendar()


@pytest.fixture(scope="module")
def paper():
    return load_study("config/paper.yaml")


def test_every_job_of_the_study_is_counted(paper):
    found = estimates(paper, CALENDAR)
    programs = [entry.name for entry in paper.methods if entry.name not in agents(paper)]
    assert len(found["run_campaigns"]) == len(campaign_items(paper, programs))
    assert len(found["run_agents"]) == len(agents(paper)) * paper.repeats * len(shards(paper))
    assert len(found["score_method"]) == len(paper.methods) * len(shards(paper))
    for rule in ("run_campaigns", "run_agents"):
        campaigns = sum(job.campaigns for job in found[rule])
        assert sum(job.lane_days for job in found[rule]) == campaigns * 4 * 365


def test_a_batch_that_is_not_full_costs_as_much():
    def seconds(sites):
        item = CampaignItem("random_search", "full", 0, Shard(tuple(range(sites))))
        return campaign_job(item, CALENDAR).seconds

    assert seconds(1) == seconds(LANES // 4)
    assert seconds(LANES // 4 + 1) > seconds(LANES // 4)


def test_a_method_without_campaigns_steps_nothing(paper):
    item = CampaignItem("common_policy", "none", 0, Shard((0, 1)))
    assert campaign_job(item, CALENDAR).lane_days == 0


def test_measured_seconds_replace_expected_ones(paper, tmp_path):
    jobs = estimates(paper, CALENDAR)["score_method"]
    (tmp_path / f"{jobs[0].name}.tsv").write_text("s\tmax_rss\n12.25\t1\n", encoding="utf-8")
    (tmp_path / f"{jobs[1].name}.tsv").write_text("s\n", encoding="utf-8")  # cut short
    found = with_timings(jobs, tmp_path)
    assert found[0] == replace(jobs[0], seconds=12.25, measured=True)
    assert found[1:] == jobs[1:]
