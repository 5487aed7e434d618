"""The season kernel against its formulas, and what must not change a posterior."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.config import ConfigError
from slowlab.tools.artifacts import ArtifactError, write_artifact
from slowlab.tools.season_kernel import (
    JITTER,
    SCALE_PRIOR_CROPS,
    KernelContent,
    SeasonKernel,
    covariance,
    fit_posterior,
    season_coordinates,
)
from slowlab.world.contract import load_contract
from slowlab.world.policy import POLICY_FIELDS, FieldsError, Policy

BOUNDS = load_contract().policy
# Source: SlowLab, prior-informed local optimiser, frozen values; the shares are larger here, so
# that every term counts.
KERNEL = SeasonKernel(
    policy_length_scales=(0.5222, 1.08163, 2.1086, 1.44687, 1.8855, 2.01769),
    season_length_scale=0.3,
    season_share=0.2,
    common_season=0.7,
    noise_ratio=0.05,
    signal_sd_eur_m2=10.0,
)


def policy(day=21.0, night=17.0, co2=800.0, light=12.0, offset=3.0, humidity=85.0) -> Policy:
    return Policy(
        day_temperature_c=day,
        night_temperature_c=night,
        co2_target_ppm=co2,
        supplemental_light_hours=light,
        vent_temperature_offset_c=offset,
        vent_rh_threshold_pct=humidity,
    )


POLICIES = [policy(), policy(day=24), policy(co2=1100, light=3), policy(humidity=72, offset=5.5)]
DAYS = [0.0, 0.0, 90.0, 182.0]
MARGINS = [30.0, 36.0, 22.0, 27.5]


def matern(distance):
    root = math.sqrt(5) * distance
    return (1 + root + root**2 / 3) * math.exp(-root)


def entry(kernel, first, day, second, other_day):
    """The kernel between two crops, by its formula."""
    squares = 0.0
    for name, scale in zip(POLICY_FIELDS, kernel.policy_length_scales, strict=True):
        bound = BOUNDS.of(name)
        gap = (getattr(first, name) - getattr(second, name)) / (bound.max - bound.min)
        squares += (gap / scale) ** 2
    angles = [2 * math.pi * value / 365 for value in (day, other_day)]
    chord = math.dist(*[(0.5 * math.sin(a), 0.5 * math.cos(a)) for a in angles])
    kp, ks = matern(math.sqrt(squares)), matern(chord / kernel.season_length_scale)
    g, t = kernel.season_share, kernel.common_season
    return kp * (1 - g + g * ks) + t * ks


def fitted(order=(0, 1, 2, 3), kernel=KERNEL, noise=None):
    noise = [0.0] * 4 if noise is None else noise
    rows = [(POLICIES[i], DAYS[i], MARGINS[i], noise[i]) for i in order]
    return fit_posterior(kernel, BOUNDS, *map(list, zip(*rows, strict=True)))


def test_covariance_is_the_formula():
    unit = KERNEL.unit(POLICIES, BOUNDS)
    found = covariance(KERNEL, unit, DAYS, unit, DAYS)
    pairs = list(zip(POLICIES, DAYS, strict=True))
    wanted = [[entry(KERNEL, p, s, q, u) for q, u in pairs] for p, s in pairs]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_covariance_refuses_columns_in_another_order():
    unit = KERNEL.unit(POLICIES, BOUNDS)
    with pytest.raises(FieldsError, match="day_temperature_c"):
        covariance(KERNEL, unit, DAYS, unit, DAYS, fields=sorted(POLICY_FIELDS))


def test_season_is_a_circle():
    np.testing.assert_allclose(season_coordinates([0, 365]), [[0.5, 1.0]] * 2, atol=1e-12)
    np.testing.assert_allclose(season_coordinates(365 / 4), [[1.0, 0.5]], atol=1e-12)


def test_scored_posterior_is_that_of_the_joint_average():
    posterior, new, score_days = fitted(), [policy(day=23, co2=900), policy(light=1)], [0, 182]
    scale, noise = posterior.scale, posterior.scale * (KERNEL.noise_ratio + JITTER)
    pairs = list(zip(POLICIES, DAYS, strict=True))
    total = scale * np.array([[entry(KERNEL, p, s, q, u) for q, u in pairs] for p, s in pairs])
    inverse = np.linalg.inv(total + noise * np.eye(4))
    mean = inverse.sum(axis=0) @ MARGINS / inverse.sum()
    assert posterior.mean_eur_m2 == pytest.approx(mean, rel=1e-9)
    for number, candidate in enumerate(new):
        points = [(candidate, day) for day in score_days]
        cross = scale * np.array([[entry(KERNEL, *a, *b) for b in pairs] for a in points])
        prior = scale * np.array([[entry(KERNEL, *a, *b) for b in points] for a in points])
        joint = prior - cross @ inverse @ cross.T
        values = mean + cross @ inverse @ (np.array(MARGINS) - mean)
        found = [part[number] for part in posterior.scored(new, score_days)]
        assert found == pytest.approx([values.mean(), math.sqrt(joint.mean())], rel=1e-8)


@given(st.permutations(range(4)))
@settings(max_examples=10, deadline=None)
def test_order_of_crops_changes_no_byte(order):
    usual, other = fitted(), fitted(order)
    assert other.scale == usual.scale
    found, wanted = (p.scored(POLICIES, [182, 0]) for p in (other, usual))
    assert np.array_equal(found, wanted)


def test_scale_is_shrunk_towards_the_fitted_one():
    one = fit_posterior(KERNEL, BOUNDS, POLICIES[:1], [0], [55.0])
    weight = SCALE_PRIOR_CROPS
    assert one.scale == pytest.approx(weight * 100 / (1 + weight), rel=1e-3)
    posterior = fitted()
    signal = posterior.scale * covariance(KERNEL, posterior.unit, DAYS, posterior.unit, DAYS)
    total = signal / posterior.scale + (KERNEL.noise_ratio + JITTER) * np.eye(4)
    rest = posterior.margins_eur_m2 - posterior.mean_eur_m2
    fit = float(rest @ np.linalg.solve(total, rest))
    assert posterior.scale == pytest.approx((fit + weight * 100) / (4 + weight), rel=1e-3)


def test_two_wild_predictions_do_not_set_the_scale():
    wild = fit_posterior(KERNEL, BOUNDS, POLICIES[:2], [0, 0], [0.0, 60.0], [25.0, 25.0])
    believed = fit_posterior(KERNEL, BOUNDS, POLICIES[:2], [0, 0], [0.0, 60.0])
    assert math.sqrt(wild.scale) < 15 < 30 < math.sqrt(believed.scale)
    means, sds = wild.scored(POLICIES[:2], [0, 182])
    assert means[1] - means[0] < 0.25 * 60
    assert sds.min() > 5


def test_replicate_noise_is_absolute():
    kernel = SeasonKernel(
        KERNEL.policy_length_scales, 0.3, 0.2, 0.7, 0.05, 10.0, replicate_sd_eur_m2=2.0
    )
    posterior = fitted(kernel=kernel, noise=[0, 0, 3.0, 0])
    wanted = 4.0 + JITTER * posterior.scale
    np.testing.assert_allclose(posterior.variances, [wanted, wanted, wanted + 9.0, wanted])


def test_a_believed_crop_changes_no_mean_and_lowers_the_spread():
    before = fitted()
    after = before.believe(policy(day=25), 182)
    (mean, sd), (mean_after, sd_after) = (
        p.scored([policy(day=25), *POLICIES], [0, 182]) for p in (before, after)
    )
    np.testing.assert_allclose(mean_after, mean, atol=1e-9)
    assert (sd_after <= sd + 1e-12).all()
    assert sd_after[0] < 0.8 * sd[0]


@pytest.mark.parametrize(
    ("policies", "days", "margins"),
    [([], [], []), (POLICIES[:2], [0], [1, 2]), (POLICIES[:1], [0], [math.nan])],
)
def test_unusable_crops_are_refused(policies, days, margins):
    with pytest.raises(ValueError, match=r"crop|finite"):
        fit_posterior(KERNEL, BOUNDS, policies, days, margins)


def test_no_scoring_day_is_refused():
    with pytest.raises(ValueError, match="scoring day"):
        fitted().scored(POLICIES, [])


def written(tmp_path, content, name="kernel"):
    return write_artifact(
        tmp_path / f"{name}.json",
        contract="c",
        fields=POLICY_FIELDS,
        provenance={},
        content=content,
    )


def test_kernel_comes_back_from_its_artifact_by_name(tmp_path):
    content = KERNEL.content().model_dump()
    scales = dict(reversed(content["policy_length_scales"].items()))
    artifact = written(tmp_path, content | {"policy_length_scales": scales})
    assert SeasonKernel.from_artifact(artifact) == KERNEL
    assert isinstance(KERNEL.content(), KernelContent)


def test_other_artifacts_fields_and_numbers_are_refused(tmp_path):
    content = KERNEL.content().model_dump()
    with pytest.raises(ArtifactError, match="no kernel"):
        SeasonKernel.from_artifact(written(tmp_path, content, name="radius"))
    five = dict(list(content["policy_length_scales"].items())[:5])
    with pytest.raises(ArtifactError, match="length scales"):
        SeasonKernel.from_artifact(written(tmp_path, content | {"policy_length_scales": five}))
    with pytest.raises(ConfigError, match="season_share"):
        SeasonKernel.from_artifact(written(tmp_path, content | {"season_share": 1.5}))
    with pytest.raises(ValueError, match="6 length scales"):
        SeasonKernel((1.0,), 0.3, 0.2, 0.7, 0.05, 10.0)
