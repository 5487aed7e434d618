"""Files of the stage: runs, tables, the summary, and the commands that take artifacts over."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from slowlab.cli import app
from slowlab.development.artifact_files import ARTIFACTS, write
from slowlab.development.collect import (
    CollectError,
    read_build,
    read_runs,
    site_in_year,
    write_runs,
)
from slowlab.development.config import Layout, load_development
from slowlab.development.dataset import (
    age_grid,
    load_process_data,
    read_process_data,
    write_table,
)
from slowlab.development.runs import plan_run
from slowlab.development.stage_files import rounded
from slowlab.development.summary import summary_content, summary_lines
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.world.partitions import draw_partition_site, load_partitions
from slowlab.world.site_distribution import load_sites
from tests.development.metered import CONTRACT, played, small_config

CONFIG = load_development()


@pytest.fixture(scope="module")
def records():
    """One run on the fake facility, as the stage keeps it."""
    run = plan_run(small_config(), CONTRACT, 100, 0, Layout.SINGLE)
    return [
        {
            **known,
            "ending": "left_open",
            "task": history.task,
            "exchanges": [{"action": e.action, "reply": e.reply} for e in history.exchanges],
        }
        for known, history in played([run])
    ]


def test_runs_come_back_with_the_history_that_was_seen(records, tmp_path):
    path = write_runs(tmp_path / "runs.jsonl.gz", records, {"source": "a build"})
    ((record, history),) = read_runs(path)
    assert (record["site"], record["layout"]) == (100, "single")
    assert [e.reply for e in history.exchanges] == [e["reply"] for e in records[0]["exchanges"]]
    assert len(history.crops()) == 4
    assert read_build(path) == {"source": "a build"}


def test_files_of_runs_are_the_same_on_every_run(records, tmp_path):
    one = write_runs(tmp_path / "one.gz", records, {}).read_bytes()
    assert write_runs(tmp_path / "two.gz", records, {}).read_bytes() == one


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "other.gz"
    write_runs(path, [], {})
    import gzip

    path.write_bytes(gzip.compress(b'{"format":"another"}\n'))
    with pytest.raises(CollectError, match="is not of the form"):
        list(read_runs(path))


def test_tables_survive_their_files(records, tmp_path):
    path = write_runs(tmp_path / "runs.jsonl.gz", records, {})
    data = read_process_data([path], age_grid(10, 180, 30))
    write_table(tmp_path / "crops.parquet", data.crops)
    write_table(tmp_path / "examples.parquet", data.examples)
    back = load_process_data(tmp_path)
    pd.testing.assert_frame_equal(back.crops, data.crops)
    pd.testing.assert_frame_equal(back.examples, data.examples)
    assert data.examples["age"].max() == 160


def test_runs_of_a_site_have_years_compartments_and_noise_of_their_own():
    site = draw_partition_site(
        load_partitions(), "development", 100, load_sites(), source="synthetic", compartments=4
    )
    found = [site_in_year(site, number) for number in range(4)]
    assert len({item.campaign_year for item in found}) == 4
    assert len({item.noise_seed for item in found}) == 4
    assert len({json.dumps(item.parameters) for item in found}) == 4
    assert all(not item.evaluation_years and not item.years for item in found)


def test_rounding_reaches_every_number_and_nothing_else():
    assert rounded({"a": [1.23456789, (2, "x")], "b": -1e-9}) == {"a": [1.234568, [2, "x"]], "b": 0}


def made_artifacts(folder):
    """Artifacts as small as the summary needs them."""
    origin = {"provisional": False}
    candidate = {"name": "one", "mean_score_eur_m2": 34.5, "standard_error_eur_m2": 2.0}
    radius = {
        "radius": 0.35,
        "mean_eur_m2": 38.0,
        "gain_eur_m2": 3.5,
        "gain_se_eur_m2": 0.5,
        "repeat_sd_eur_m2": 6.0,
    }
    gate = {"predictions": 32, "largest_difference_eur_m2": 1e-5}
    score = {"ranking_accuracy": 0.8, "rmse_eur_m2": 11.0, "mean_rmse_eur_m2": 18.0}
    error = {"difference_sd_one_year_eur_m2": 1.2, "difference_sd_three_years_eur_m2": 0.7}
    common = {"policy": {}, "mean_margin_eur_m2": 45.0, "standard_error_eur_m2": 2.0}
    parts = {
        "fixed_reference": (origin, {"candidates": [candidate]}),
        "evaluation_error": (origin, error),
        "common_policy": (origin, common),
        "predictor": (origin | {"crops": 800, "margin_sd_eur_m2": 20.0, "deployed": gate}, {}),
        "kernel": (origin | {"form_scores": {"season": score}, "at_bounds": []}, {}),
        "radius": (origin, {"radius": 0.35, "candidates": [radius]}),
    }
    return {name: write(folder / f"{name}.json", CONTRACT, *parts[name]) for name in ARTIFACTS}


def test_summary_shows_published_values_beside_ours(tmp_path):
    ages = list(range(10, 180, 5))
    table = pd.DataFrame({"all": [9.0] * len(ages), "naive": [50.0] * len(ages)}, index=ages)
    content = summary_content(made_artifacts(tmp_path), table)
    assert content["predictor"]["rmse_eur_m2"]["all"] == [9.0] * 7
    assert content["predictor"]["published_rmse_eur_m2"]["all"][0] == 9.0
    text = "\n".join(summary_lines(content))
    assert "radius 0.35: 38.00, over the fixed reference +3.50 +- 0.50" in text
    assert "predictor, all: 9.0 9.0" in text


def test_command_freezes_and_checks(tmp_path, monkeypatch):
    fresh, root = tmp_path / "fresh", tmp_path / "config"
    made_artifacts(fresh)
    monkeypatch.setattr(
        "slowlab.commands.artifacts._frozen", lambda _: ArtifactFolder(root, CONTRACT.id)
    )
    run = CliRunner().invoke
    assert run(app, ["artifacts", "check"]).exit_code == 1
    done = run(app, ["artifacts", "freeze", "--fresh", str(fresh)])
    assert (done.exit_code, "radius" in done.output) == (0, True)
    assert run(app, ["artifacts", "check", "--fresh", str(fresh)]).exit_code == 0
    write(fresh / "radius.json", CONTRACT, {"provisional": False}, {"radius": 0.5})
    differs = run(app, ["artifacts", "check", "--fresh", str(fresh)])
    assert (differs.exit_code, "radius: differs" in differs.output) == (1, True)


def test_command_refuses_an_unfinished_stage(tmp_path, monkeypatch):
    store = ArtifactFolder(tmp_path / "config", CONTRACT.id)
    monkeypatch.setattr("slowlab.commands.artifacts._frozen", lambda _: store)
    done = CliRunner().invoke(app, ["artifacts", "freeze", "--fresh", str(tmp_path)])
    assert done.exit_code == 2
    assert "fixed_reference" in done.output


def test_the_packaged_configuration_reads_and_covers_the_sites_of_the_original():
    assert (CONFIG.runs.first_site, CONFIG.runs.last_site) == (100, 139)
    assert not set(CONFIG.parity.sites) & set(CONFIG.runs.sites)
    assert CONFIG.radius.candidates == (0.15, 0.25, 0.35, 0.5)
