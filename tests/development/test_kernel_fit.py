"""The kernel's likelihood and fit, on runs drawn from a known kernel."""

import numpy as np
import pandas as pd
import pytest

from slowlab.config import override
from slowlab.development.config import load_development
from slowlab.development.fit_kernel import (
    at_bounds,
    compare_forms,
    fit_measured,
    kernel_content,
    random_starts,
    replicate_sd,
)
from slowlab.development.kernel_groups import (
    Hyperparameters,
    KernelForm,
    correlation,
    make_groups,
    predict_group,
    profiled,
)
from slowlab.tools.season_kernel import KernelContent, SeasonKernel, covariance
from slowlab.world.contract import load_contract
from slowlab.world.policy import POLICY_FIELDS, decode, from_unit

CONTRACT = load_contract()
CONFIG = override(load_development(), {"kernel.starts": 2, "kernel.folds": 2}).kernel
TRUE = Hyperparameters((0.4, 1.2, 3.0, 1.5, 2.0, 2.5), 0.6, 0.02, 0.9, 0.01)
SIGNAL_SD = 9.0


def season_kernel(kernel):
    return SeasonKernel(
        kernel.policy_length_scales,
        kernel.season_length_scale,
        kernel.season_share,
        kernel.common_season,
        kernel.noise_ratio,
        SIGNAL_SD,
    )


@pytest.fixture(scope="module")
def crops():
    """Forty sites with two waves of four crops each, margins from the true kernel."""
    rng = np.random.default_rng(3)
    rows = []
    for site in range(40):
        unit = rng.random((8, 6))
        unit[:, 1] = np.minimum(unit[:, 1], unit[:, 0])
        days = np.repeat([0.0, 182.0], 4)
        total = covariance(season_kernel(TRUE), unit, days, unit, days)
        total += TRUE.noise_ratio * np.eye(8)
        margins = SIGNAL_SD * np.linalg.cholesky(total) @ rng.normal(size=8) + 20 + 5 * site
        policies = decode(from_unit(unit, POLICY_FIELDS, CONTRACT.policy))
        rows += [
            {
                "site": site,
                "run": 0,
                "layout": "two_wave",
                "completed": True,
                "start_day": day,
                "margin_eur_m2": margin,
                **policy.model_dump(),
            }
            for policy, day, margin in zip(policies, days, margins, strict=True)
        ]
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def groups(crops):
    return make_groups(crops, CONTRACT.policy, 3)


@pytest.fixture(scope="module")
def fit(groups):
    noise = SIGNAL_SD * np.sqrt(TRUE.noise_ratio)
    return fit_measured(groups, KernelForm.SEASON, CONFIG, noise, np.random.default_rng(0))


def test_correlation_is_that_of_the_deployed_kernel(groups, crops):
    rows = crops[crops["site"] == 7].sort_values(["start_day", *POLICY_FIELDS])
    low, high = CONTRACT.policy.limits(POLICY_FIELDS)
    unit = (rows[list(POLICY_FIELDS)].to_numpy() - low) / (high - low)
    days = rows["start_day"].to_numpy()
    expected = covariance(season_kernel(TRUE), unit, days, unit, days)
    np.testing.assert_allclose(correlation(groups, TRUE)[7], expected, atol=1e-12)


def test_likelihood_is_that_of_every_run_alone(groups):
    together, scales = profiled(groups, TRUE)
    alone = [profiled(groups.select(np.arange(40) == k), TRUE) for k in range(40)]
    assert together == pytest.approx(sum(value for value, _ in alone))
    np.testing.assert_allclose(scales, [scale[0] for _, scale in alone])


def test_shifting_a_run_changes_nothing_and_scaling_it_only_its_scale(groups):
    value, scales = profiled(groups, TRUE)
    moved = groups.select(np.ones(40, bool))
    object.__setattr__(moved, "margins", 3.0 * groups.margins + 11.0)
    other, larger = profiled(moved, TRUE)
    np.testing.assert_allclose(larger, 9.0 * scales)
    assert other == pytest.approx(value + 0.5 * groups.counts.sum() * np.log(9.0))


def test_padding_and_order_have_no_effect(crops):
    short = crops.drop(crops.index[:3])
    first = profiled(make_groups(short, CONTRACT.policy, 3), TRUE)[0]
    shuffled = short.sample(frac=1.0, random_state=1)
    assert profiled(make_groups(shuffled, CONTRACT.policy, 3), TRUE)[0] == pytest.approx(first)


def test_fit_finds_what_the_runs_were_drawn_from(fit, groups):
    assert fit.objective < profiled(groups, TRUE)[0]
    found = np.array(fit.kernel.policy_length_scales)
    assert found[0] == pytest.approx(0.4, rel=0.5)
    assert found[0] == found.min()
    assert fit.signal_sd_eur_m2 == pytest.approx(SIGNAL_SD, rel=0.4)
    assert fit.kernel.noise_ratio == pytest.approx(
        (SIGNAL_SD * 0.1) ** 2 / fit.signal_sd_eur_m2**2, rel=0.02
    )
    assert "day_temperature_c" not in at_bounds(fit, CONFIG)


def test_content_is_what_the_deployed_kernel_reads(fit):
    content = kernel_content(fit, 0.9)
    kernel = SeasonKernel.from_content(KernelContent.model_validate(content))
    assert kernel.policy_length_scales == pytest.approx(fit.kernel.policy_length_scales, rel=1e-5)
    assert kernel.replicate_sd_eur_m2 == 0.9


def test_a_crop_alike_is_predicted_to_the_noise(groups):
    exact = Hyperparameters(*list(TRUE.__dict__.values())[:-1], 1e-9)
    said = predict_group(groups, 5, exact, [0, 1, 2, 3], [2, 3])
    np.testing.assert_allclose(said, groups.margins[5, [2, 3]], atol=1e-4)


def test_the_true_form_ranks_other_seasons_better(groups):
    scores = compare_forms(groups, CONFIG, SIGNAL_SD * 0.1, 1)
    season, product = scores[KernelForm.SEASON], scores[KernelForm.PRODUCT]
    assert season.pairs == product.pairs == 40 * 4 * 3
    assert season.ranking_accuracy > product.ranking_accuracy + 0.02
    assert season.rmse_eur_m2 < season.mean_rmse_eur_m2


def test_replicate_noise_comes_from_crops_alike_only(crops):
    rng = np.random.default_rng(5)
    alike = crops.iloc[:160].assign(layout="replicate", margin_eur_m2=rng.normal(0, 2.0, 160))
    sd, freedom = replicate_sd(pd.concat([crops, alike]))
    assert freedom == 20 * 2 * 3
    assert sd == pytest.approx(2.0, rel=0.2)
    with pytest.raises(ValueError, match="no crops alike"):
        replicate_sd(crops)


def test_starts_lie_in_the_box_and_follow_the_seed():
    one = random_starts(KernelForm.SEASON, CONFIG, np.random.default_rng(4))
    two = random_starts(KernelForm.SEASON, CONFIG, np.random.default_rng(4))
    np.testing.assert_array_equal(one, two)
    assert all(np.log(0.05) <= start[:7].min() for start in one)
