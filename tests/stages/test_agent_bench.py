"""The benchmark of language models' campaigns runs and adds up; its times are no test."""

import pytest

from slowlab.stages.agent_bench import LIMIT, PATTERNS, bench_agents


@pytest.mark.slow
def test_campaigns_are_measured_alone_stepped_again_and_together():
    told = []
    report = bench_agents(campaigns=2, delay_s=0.0, progress=told.append)
    assert [(item.script, item.feedback) for item in report.alone] == [
        (script, feedback.value) for script, feedback in PATTERNS[:2]
    ]
    assert all(item.calls > 10 for item in report.alone)
    assert report.allowed_s == LIMIT * report.longest_alone_s + report.stepping_s
    assert report.as_json()["campaigns"] == 2
    assert len(told) == 4
