"""The process fitted to one campaign's crops."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from slowlab.tools import outcome_model
from slowlab.tools.outcome_model import INPUTS, OutcomeModel, fit_outcome_model
from slowlab.tools.season_kernel import season_coordinates
from slowlab.tools.space_filling import sobol_policies
from slowlab.world.policy import POLICY_FIELDS, EncodedPolicies
from tests.tools.campaigns import contract, policy

BOUNDS = contract().policy


def rng(seed=0):
    return np.random.default_rng(seed)


def margin(item):
    """A world in which the day temperature matters most, CO2 a little and nothing else at all."""
    return 30 - 2.5 * (item.day_temperature_c - 22) ** 2 + 0.01 * item.co2_target_ppm


@functools.cache
def sample(count):
    """Crops of a space-filling design."""
    policies = sobol_policies(BOUNDS, count, rng(5))
    return [(p, (0.0, 182.0)[i % 2], margin(p)) for i, p in enumerate(policies)]


def fitted(count=12, order=None, restarts=3):
    """The model fitted to them, in another order where one is given."""
    rows = sample(count)
    rows = rows if order is None else [rows[i] for i in order]
    return fit_outcome_model(BOUNDS, *zip(*rows, strict=True), rng(), restarts)


def check_that_fields_are_named():
    """The shortest length scale is that of the field that matters, and predictions are good."""
    model = fitted()
    scales = dict(zip(INPUTS, model.length_scales, strict=True))
    fields = sorted(POLICY_FIELDS, key=lambda name: scales[name])
    assert fields[0] == "day_temperature_c", fields
    others = sobol_policies(BOUNDS, 16, rng(9))
    mean, _ = model.scored(others, (0.0, 182.0))
    assert np.corrcoef(mean, [margin(p) for p in others])[0, 1] > 0.9


def test_what_matters_is_found_by_name():
    check_that_fields_are_named()


def test_fields_by_position_would_be_noticed(monkeypatch):
    def by_position(policies, fields=POLICY_FIELDS):
        rows = [[value for _, value in sorted(p.model_dump().items())] for p in policies]
        return EncodedPolicies(fields, np.array(rows))

    monkeypatch.setattr(outcome_model, "encode", by_position)
    with pytest.raises(AssertionError):
        check_that_fields_are_named()


def test_the_order_of_crops_has_no_effect():
    one, other = fitted(6), fitted(6, order=rng(3).permutation(6))
    assert one.length_scales.tobytes() == other.length_scales.tobytes()
    assert (
        one.scored([policy()], (0, 182))[0].tobytes()
        == other.scored([policy()], (0, 182))[0].tobytes()
    )


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), crops=st.integers(2, 9))
def test_the_gradient_is_that_of_the_likelihood(seed, crops):
    draw = rng(seed)
    inputs, targets = draw.random((crops, 8)), draw.standard_normal(crops)
    squares = (inputs[:, None] - inputs[None]) ** 2
    point = np.array([*draw.uniform(-1, 1, 8), draw.uniform(-1, 1), draw.uniform(-3, 0)])
    value, gradient = outcome_model.negative_log_likelihood(point, squares, targets)
    assert np.isfinite(value)
    numeric = approx_fprime(
        point, lambda x: outcome_model.negative_log_likelihood(x, squares, targets)[0], 1e-6
    )
    assert gradient == pytest.approx(numeric, abs=2e-4, rel=2e-4)


def test_no_start_gives_a_better_fit():
    model = fitted(8, restarts=8)
    best = np.log([*model.length_scales, model.signal_variance, model.noise_variance])
    squares = (model.inputs[:, None] - model.inputs[None]) ** 2
    reached, _ = outcome_model.negative_log_likelihood(best, squares, model.targets)
    tries = rng(1).uniform(np.log(0.05), np.log(10), (200, 10))
    others = [outcome_model.negative_log_likelihood(t, squares, model.targets)[0] for t in tries]
    assert reached <= min(others)


def test_leave_one_out_is_what_leaving_one_out_gives():
    model = fitted(7)
    errors = []
    for left_out in range(7):
        kept = np.delete(np.arange(7), left_out)
        rest = OutcomeModel(
            model.bounds,
            model.length_scales,
            model.signal_variance,
            model.noise_variance,
            model.inputs[kept],
            model.targets[kept],
            model.centre_eur_m2,
            model.spread_eur_m2,
        )
        cross = rest._covariance(model.inputs[[left_out]], rest.inputs)
        total = rest._covariance(rest.inputs, rest.inputs)
        total += (rest.noise_variance + outcome_model.JITTER) * np.eye(6)
        errors.append(model.targets[left_out] - (cross @ np.linalg.solve(total, rest.targets))[0])
    expected = model.spread_eur_m2 * np.sqrt(np.mean(np.square(errors)))
    assert model.leave_one_out_rmse_eur_m2() == pytest.approx(expected, rel=1e-6)


def test_the_scored_average_is_joint():
    model, asked = fitted(), sobol_policies(BOUNDS, 5, rng(2))
    mean, sd = model.scored(asked, (0.0, 182.0))
    first, second = model.at(asked, 0.0), model.at(asked, 182.0)
    assert mean == pytest.approx((first[0] + second[0]) / 2)
    assert (sd <= (first[1] + second[1]) / 2 + 1e-9).all()
    assert model.scored(asked, (182.0, 0.0))[1].tobytes() == sd.tobytes()


def test_a_believed_crop_changes_no_mean_but_the_certainty():
    model, new = fitted(6), policy(day=25.5, co2=420)
    believing = model.believe(new, 182.0)
    (before,), (sd_before,) = model.at([new], 182.0)
    (after,), (sd_after,) = believing.at([new], 182.0)
    assert after == pytest.approx(before, abs=1e-3 * model.spread_eur_m2)
    assert sd_after <= sd_before


def test_crops_alike_in_margin_have_a_flat_process():
    policies = sobol_policies(BOUNDS, 4, rng())
    model = fit_outcome_model(BOUNDS, policies, [0.0] * 4, [12.5] * 4, rng())
    assert model.scored(policies, (0.0,))[0] == pytest.approx([12.5] * 4)
    assert model.leave_one_out_rmse_eur_m2() == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("days", "margins"), [([0.0], [1.0]), ([0.0] * 3, [1.0] * 2), ([0.0] * 3, [1.0, 2.0, np.nan])]
)
def test_bad_crops_are_refused(days, margins):
    policies = [policy()] * len(days)
    with pytest.raises(ValueError, match=r"crops|finite"):
        fit_outcome_model(BOUNDS, policies, days, margins, rng())


def test_an_average_over_no_day_is_refused():
    with pytest.raises(ValueError, match="scoring day"):
        fitted(4).scored([policy()], ())


def test_the_season_is_a_circle():
    assert season_coordinates([0.0]) == pytest.approx(season_coordinates([365.0]))
