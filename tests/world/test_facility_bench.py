"""The benchmark of campaigns as a user meets it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from slowlab.cli import app


@pytest.mark.slow
def test_two_processes_share_campaigns():
    arguments = ["--campaigns", "3", "--days", "9", "--processes", "2"]
    outcome = CliRunner().invoke(app, ["bench", "campaigns", *arguments, "--json"])
    assert outcome.exit_code == 0, outcome.output
    report = json.loads(outcome.stdout)
    assert (report["campaigns"], report["processes"], report["records"]) == (3, 2, True)
    assert report["lane_days_per_s"] * report["stepping_s"] == pytest.approx(3 * 4 * 9)
    assert report["cpu_s"] > 0
    table = CliRunner().invoke(app, ["bench", "campaigns", *arguments, "--no-records"])
    assert "3 campaigns of 9 days without readings" in " ".join(table.stdout.split())
