"""The comparison that says what experiments are worth, its errors, its picture and its command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from slowlab.canonical import canonical_json
from slowlab.cli import app
from slowlab.evaluation.oracle import OracleSettings
from slowlab.evaluation.search import SearchSettings
from slowlab.evaluation.statistics import paired_difference, ratio_of_means
from slowlab.evaluation.value import (
    BEST,
    COMMON,
    FIXED_REFERENCE,
    ValueSettings,
    as_plain,
    value_of_experiments,
)
from slowlab.plots.style import figure_bytes
from slowlab.plots.value import draw_value

SEARCH = SearchSettings(sobol=16, rounds=3, population=8)
SETTINGS = ValueSettings(SEARCH, OracleSettings(search=SEARCH), repeated=2)


@pytest.fixture
def runner(fake_runner):
    """Where the optimum lies depends on the site, and a little on the year."""

    def optimum(run):
        tilt = 0.02 * (int(str(run.weather)[-3:]) % 3)
        return np.full(6, 0.5) + 0.4 * (run.lanes[0].parameters["laiMax"] - 3.0) + tilt

    fake_runner.optimum = optimum
    return fake_runner


@pytest.fixture
def report(runner, development, sites):
    return value_of_experiments(runner, development, sites, SETTINGS)


def test_the_parts_add_up_to_the_headroom(report):
    parts = [report.step(name).difference.mean for name in ("common", "prices", "learning")]
    headroom = report.step("headroom")
    assert sum(parts) == pytest.approx(headroom.difference.mean, abs=1e-9)
    shares = [report.step(name).share for name in ("common", "prices", "learning")]
    assert sum(shares) == pytest.approx(1.0)
    assert headroom.share == 1.0
    assert headroom.share_se == pytest.approx(0.0, abs=1e-12)
    gap = report.means[BEST] - report.means[FIXED_REFERENCE]
    assert gap == pytest.approx(headroom.difference.mean)


def test_learning_is_worth_something_where_sites_differ(report):
    assert report.step("learning").difference.mean > 0
    assert report.means[COMMON] > report.means[FIXED_REFERENCE]
    assert len(report.search_repeat) == 2
    assert max(np.abs(report.search_repeat)) < 0.5


def test_learning_is_worth_nothing_where_sites_are_alike(runner, development, sites):
    runner.optimum = lambda run: np.array([0.5, 0.5, 0.5, 0.0, 0.5, 0.5])
    thorough = SearchSettings(sobol=32, rounds=6, population=24)
    settings = ValueSettings(thorough, OracleSettings(search=SEARCH), repeated=0)
    found = value_of_experiments(runner, development, sites, settings)
    assert abs(found.step("learning").difference.mean) < 0.1
    assert found.step("common").share > 0.9


def test_a_site_without_a_score_is_left_out_with_its_reason(runner, development, sites):
    bad = sites[2]
    seeds = {draw.noise_seed for draw in bad.years if draw.year in bad.evaluation_years}
    runner.failing = lambda run: run.noise_seed in seeds
    found = value_of_experiments(runner, development, sites, SETTINGS)
    assert set(found.left_out) == {bad.index}
    assert "integration failed" in found.left_out[bad.index]
    assert bad.index not in found.sites
    assert found.step("headroom").difference.sites == len(sites) - 1
    assert np.isfinite(list(found.means.values())).all()


def test_the_report_is_plain_data(report):
    plain = as_plain(report)
    assert json.loads(canonical_json(plain))["sites"] == [0, 1, 2, 3, 4, 5]
    assert plain["draft"] is False
    assert {item["field"] for item in plain["best_policies"]} >= {"day_temperature_c"}


def test_a_draft_is_marked_in_the_picture(report):
    from dataclasses import replace

    plain, draft = draw_value(report), draw_value(replace(report, draft=True))
    texts = [" ".join(t.get_text() for t in figure.texts) for figure in (plain, draft)]
    assert "DRAFT" not in texts[0]
    assert "DRAFT" in texts[1]
    assert figure_bytes(plain, "svg") == figure_bytes(draw_value(report), "svg")


def test_errors_of_a_difference():
    values = [1.0, 3.0, 2.0, 6.0]
    found = paired_difference(values, [0, 0, 1, 1], ["a", "b", "a", "b"], 2.5)
    assert found.mean == 3.0
    assert found.median == 3.0
    assert found.se_sites == pytest.approx(np.std([2.0, 4.0], ddof=1) / np.sqrt(2))
    assert found.evaluation_error == pytest.approx(np.sqrt((2.0 / 2 + 8.0 / 2) / 2 / 2))
    assert found.se_years == pytest.approx(np.sqrt((9.0 + 9.0) * 2) / 4)
    assert found.above == 0.5
    assert found.sites == 2


def test_one_site_or_one_year_has_no_error():
    found = paired_difference([1.0], [0], ["a"], 2.0)
    assert (found.se_sites, found.se_years, found.evaluation_error) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="finite"):
        paired_difference([np.nan], [0], ["a"], 2.0)


def test_a_ratio_of_means_and_its_error():
    top, bottom = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])
    assert ratio_of_means(top, bottom) == (0.5, pytest.approx(0.0, abs=1e-12))
    ratio, error = ratio_of_means([1.0, 0.0], [1.0, 1.0])
    assert (ratio, error) == (0.5, pytest.approx(0.5))
    assert np.isnan(ratio_of_means([1.0], [0.0])).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "missing.json"], "missing.json"),
        (["value", "--contract", "nowhere"], "distribution"),
        (["value", "--contract", "v8", "--partition", "nowhere"], "no partition"),
        (["value", "--contract", "v8", "--sites", "49"], "has sites 0 to 47"),
        (["oracle", "--partition", "test", "--sites", "1"], "'test'"),
    ],
)
def test_bad_input_ends_a_command_with_a_message(arguments, message, tmp_path, monkeypatch):
    monkeypatch.setenv("SLOWLAB_PRIVATE_DIR", str(tmp_path))  # no opening of a seed is at hand
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert message in result.output
