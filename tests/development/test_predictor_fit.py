"""Data, fit, validation and the parity gate of the process predictor, on a fast fake facility."""

import numpy as np
import pandas as pd
import pytest

from slowlab.development.config import Layout
from slowlab.development.fit_predictor import ridge, site_folds, usable, validate
from slowlab.development.parity import DeployedCampaign, check_parity
from slowlab.development.runs import plan_run
from slowlab.tools import process_features
from slowlab.tools.process_features import TOTALS
from slowlab.world.policy import POLICY_FIELDS
from tests.campaign.sessions import FakeStepping
from tests.development.metered import (
    CONTRACT,
    fitted_folder,
    open_session,
    small_config,
    small_data,
)


@pytest.fixture(scope="module")
def data():
    return usable(small_data())


@pytest.fixture(scope="module")
def artifacts(data, tmp_path_factory):
    return fitted_folder(tmp_path_factory.mktemp("fitted"), data)


def deployed(site=500):
    """A campaign of the gate, on a site of its own."""
    stepping, config = FakeStepping(), small_config()
    return [
        DeployedCampaign(
            plan_run(config, CONTRACT, site, number, Layout.TWO_WAVE),
            ages,
            open_session(site, stepping),
        )
        for number, ages in enumerate(config.parity.age_pairs_days[:1])
    ]


def test_margins_follow_from_totals_and_public_prices(data):
    rows = data.crops.index.to_numpy()
    margins = data.margins_of(rows, data.finals(rows))
    np.testing.assert_allclose(margins, data.crops["margin_eur_m2"], atol=1e-5)


def test_every_completed_crop_is_seen_at_every_age(data):
    assert data.crops["completed"].all()
    assert set(data.crops["layout"]) == {"two_wave", "single"}
    assert (data.examples.groupby("crop").size() == 9).all()
    assert len(data.examples) == 9 * len(data.crops)


def test_readings_count_from_planting_also_in_the_second_wave(data):
    later = data.crops.index[data.crops["start_day"] == 182]
    rows = data.examples[data.examples["crop"].isin(later) & (data.examples["age"] == 30)]
    hours = data.crops.loc[rows["crop"], "supplemental_light_hours"].to_numpy()
    np.testing.assert_allclose(rows["so_far_light"], 30 * hours / 20, rtol=0.002)
    np.testing.assert_allclose(rows["age_days"], 30 - 1 / 24)


def test_errors_fall_with_age_and_readings_help(data):
    validation = validate(data, CONTRACT, small_config().predictor)
    table = validation.table()
    assert table.loc[170, "all"] < 0.8 * table.loc[30, "all"]
    assert table.loc[170, "all"] < 0.8 * table.loc[170, "policy_only"]
    assert table["policy_only"].max() < 0.9 * validation.margin_sd_eur_m2
    assert table.loc[30, "naive"] > 5 * table.loc[30, "all"]


def test_folds_hold_whole_sites():
    folds = site_folds([3, 3, 1, 7, 9, 9], 2)
    assert folds == {1: 0, 3: 1, 7: 0, 9: 1}


def test_ridge_is_least_squares_without_penalty_and_the_mean_with_a_huge_one():
    rng = np.random.default_rng(0)
    design = rng.normal(size=(50, 3))
    targets = design @ np.array([[1.0], [-2.0], [0.5]]) + 4.0
    intercept, coefficients = ridge(design, targets, 1e-9)
    np.testing.assert_allclose(intercept, [4.0], atol=1e-6)
    np.testing.assert_allclose(coefficients[:, 0], [1.0, -2.0, 0.5], atol=1e-6)
    intercept, coefficients = ridge(design, targets, 1e12)
    np.testing.assert_allclose(intercept, targets.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(coefficients, 0.0, atol=1e-6)


def test_deployed_tool_and_offline_fit_agree_crop_by_crop(artifacts):
    report = check_parity(deployed(), artifacts, small_config().parity)
    assert report.passed
    assert report.missing == 0
    assert report.predictions == 8 * 2 * 2  # crops, ages, sets of inputs
    assert set(report.table["feature_set"]) == {"harvest_lai", "all"}
    assert report.largest_difference_eur_m2 < 1e-3


def test_gate_stops_a_tool_that_takes_the_fields_in_another_order(artifacts, monkeypatch):
    campaigns = deployed()
    original = process_features.encode

    def alphabetical(policies, fields=POLICY_FIELDS):
        """What the original did: numbers in the order in which they were received."""
        found = original(policies, tuple(sorted(fields)))
        return type(found)(fields, found.values)

    from slowlab.tools import toolbox

    honest = toolbox.predict_crop

    def careless(*arguments):
        with monkeypatch.context() as patch:
            patch.setattr(process_features, "encode", alphabetical)
            return honest(*arguments)

    monkeypatch.setattr(toolbox, "predict_crop", careless)
    report = check_parity(campaigns, artifacts, small_config().parity)
    assert not report.passed
    assert report.largest_difference_eur_m2 > 1.0


def test_gate_stops_an_artifact_whose_names_do_not_belong_to_its_numbers(data, tmp_path):
    """Both paths agree and both are wrong: the error is larger than the tool says."""
    swapped = fitted_folder(tmp_path, data, fields=tuple(sorted(POLICY_FIELDS)))
    report = check_parity(deployed(), swapped, small_config().parity)
    assert not report.passed
    assert report.largest_difference_eur_m2 < 1e-3
    ratio = report.table["deployed_rmse_eur_m2"] / report.table["typical_error_eur_m2"]
    assert ratio.max() > small_config().parity.largest_error_ratio


def test_gate_stops_a_tool_that_does_not_answer(artifacts, monkeypatch):
    from slowlab.tools import toolbox
    from slowlab.tools.errors import ToolError

    def silent(*_):
        raise ToolError("no_readings", "nothing")

    monkeypatch.setattr(toolbox, "predict_crop", silent)
    report = check_parity(deployed(), artifacts, small_config().parity)
    assert not report.passed
    assert report.missing == report.predictions == 32


def test_validation_keeps_one_row_for_each_example(data):
    errors = validate(data, CONTRACT, small_config().predictor).errors
    pd.testing.assert_index_equal(errors.index, data.examples.index)
    assert errors.notna().all().all()
    assert len(TOTALS) == 4
