"""The commands from end to end, with crops of two days."""

from __future__ import annotations

import json

import pytest
import yaml
from typer.testing import CliRunner

from slowlab.canonical import canonical_json
from slowlab.cli import app
from slowlab.evaluation.recommendations import FORMAT
from slowlab.evaluation.score import SCORE_SCHEMA, SITE_SCHEMA


@pytest.fixture(scope="module")
def folder(contract, tmp_path_factory):
    """A folder with the small contract and recommendations of three campaigns."""
    path = tmp_path_factory.mktemp("commands")
    rules = contract.model_dump(mode="json")
    (path / "short.yaml").write_text(yaml.safe_dump(rules), encoding="utf-8")
    policy = contract.evaluation.candidates["policy_b"].model_dump()
    common = {"feedback": "full", "method": "m"}
    content = {
        "format": FORMAT,
        "contract": contract.id,
        "partition": "rehearsal",
        "recommendations": [
            common | {"site": 0, "policy": policy},
            common | {"site": 1, "policy": policy | {"day_temperature_c": "19"}},
            common | {"site": 1, "repeat": 1, "campaign": "infrastructure_failure"},
        ],
    }
    (path / "found.json").write_text(canonical_json(content), encoding="utf-8")
    return path


def run(folder, *arguments):
    """Invoke a command on the small contract in this process."""
    options = ["--contract", str(folder / "short.yaml"), "--distribution", "v1"]
    options += ["--shards", str(folder / "shards"), "--workers", "1"]
    result = CliRunner().invoke(app, [*map(str, arguments), *options])
    assert result.exit_code == 0, result.output
    return result.output


def test_recommendations_are_scored_and_flagged(folder):
    out = folder / "scores"
    text = run(folder, "evaluate", folder / "found.json", "--out", out)
    assert "missing: site 1, m, full: infrastructure failure of the campaign" in text
    scores = SCORE_SCHEMA.read(out / "scores.parquet")
    summaries = SITE_SCHEMA.read(out / "site_scores.parquet")
    assert len(scores) == (3 + 2) * 3 * 2
    named = summaries.set_index(["site", "method", "repeat"])
    assert named.loc[(0, "m", 0), "source"] == "recommendation"
    assert named.loc[(1, "m", 0), "fallback_reason"] == "invalid_recommendation"
    reference = named.loc[(1, "fixed_reference", 0), "score_eur_m2"]
    assert named.loc[(1, "m", 0), "score_eur_m2"] == reference
    assert named.loc[(1, "m", 1), "status"] == "campaign_failed"
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    text = run(folder, "evaluate", folder / "found.json", "--out", out)
    assert "0 runs simulated" in text
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_best_known_policies_are_searched(folder):
    out = folder / "oracle.json"
    candidates = ["--candidates", folder / "found.json"]
    text = run(folder, "oracle", "--sites", 2, "--out", out, *candidates)
    assert "optimism removed" in text
    content = json.loads(out.read_text(encoding="utf-8"))
    assert [row["site"] for row in content["sites"]] == [0, 1]
    assert content["contract"]["id"] == "slowlab-task-contract-v8"


def test_the_value_of_experiments_is_written(folder):
    common, out = folder / "common.json", folder / "value"
    run(folder, "common-policy", "--sites", 2, "--out", common)
    options = ["--sites", 2, "--repeated", 0, "--common", common, "--out", out]
    text = run(folder, "value", *options)
    assert "single policy - reference" in text
    (made,) = out.iterdir()
    names = {path.name for path in made.iterdir()}
    assert names == {
        "common_policy.json",
        "scores.parquet",
        "site_scores.parquet",
        "value.json",
        "value.png",
        "value.svg",
    }
    assert (made / "common_policy.json").read_bytes() == common.read_bytes()
