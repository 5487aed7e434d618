"""Designs, expected improvement and the refitted kernel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.methods import _acquisition as acquisition
from slowlab.methods import _design as design
from slowlab.methods._free_kernel import PRIOR_CENTRES, _Problem, fit_free_kernel, minimise
from slowlab.tools.season_kernel import SeasonKernel, fit_posterior
from slowlab.world.contract import load_contract
from slowlab.world.policy import POLICY_FIELDS, Policy, encode, parse_policy, to_unit

CONTRACT = load_contract()
BOUNDS = CONTRACT.policy
ANCHOR = CONTRACT.fixed_reference
KERNEL = SeasonKernel((1.0,) * 6, 0.5, 0.0, 0.1, 1e-3, 10.0)


def rng(seed=1):
    return np.random.default_rng(seed)


def change(**fields) -> Policy:
    return Policy(**{name: fields.get(name, getattr(ANCHOR, name)) for name in POLICY_FIELDS})


@given(st.lists(st.floats(-0.5, 1.5), min_size=6, max_size=6))
@settings(max_examples=50, deadline=None)
def test_tidy_policies_are_valid_and_rounded(point):
    (policy,) = design.tidy_policies([point], BOUNDS)
    assert parse_policy(policy, BOUNDS) == policy
    assert all(round(getattr(policy, name), 2) == getattr(policy, name) for name in POLICY_FIELDS)


def test_tidy_policies_lower_the_night_to_the_day():
    (policy,) = design.tidy_policies([[0.0, 1.0, 0.5, 0.5, 0.5, 0.5]], BOUNDS)
    assert policy.night_temperature_c == policy.day_temperature_c == 18.0


def test_hadamard_directions_are_a_balanced_screening_design():
    found = design.hadamard_directions(rng())
    assert found.shape == (8, 6)
    assert set(np.unique(found)) == {-1.0, 1.0}
    assert np.array_equal(found.T @ found, 8 * np.eye(6))
    assert np.array_equal(found.sum(axis=0), np.zeros(6))


def test_design_points_are_one_radius_away_in_every_field_that_has_room():
    centre = design.tidy_policies([[0.5, 0.2, 0.5, 0.5, 0.5, 0.5]], BOUNDS)[0]
    points = design.design_around(centre, 0.1, 7, BOUNDS, rng())
    assert len(set(points)) == 7
    assert centre not in points
    steps = to_unit(encode(points), BOUNDS) - design.unit_point(centre, BOUNDS)
    np.testing.assert_allclose(np.abs(steps), 0.1, atol=2e-3)


def test_a_long_design_has_different_points_and_an_impossible_one_ends():
    points = design.design_around(ANCHOR, 0.35, 20, BOUNDS, rng())
    assert len(set(points)) == 20
    assert design.design_around(ANCHOR, 1e-6, 3, BOUNDS, rng()) == []
    assert design.design_around(ANCHOR, 0.3, -1, BOUNDS, rng()) == []


def test_box_and_pool_stay_inside():
    box = design.box_around(ANCHOR, 0.2, BOUNDS)
    pool = design.sobol_policies(100, box, BOUNDS, rng())
    assert len(pool) == 128
    unit = to_unit(encode(pool), BOUNDS)
    free = [i for i, name in enumerate(POLICY_FIELDS) if name != "night_temperature_c"]
    assert (unit[:, free] >= box.low[free] - 2e-3).all()
    assert (unit[:, free] <= box.high[free] + 2e-3).all()
    assert len(design.sobol_policies(1, box, BOUNDS, rng())) == 1


def test_without_keeps_order_and_drops_duplicates():
    a, b, c = ANCHOR, change(co2_target_ppm=900.0), change(co2_target_ppm=950.0)
    assert design.without([c, a, b, c], [a]) == [c, b]


def test_expected_improvement_agrees_with_sampling():
    means, sds, best = np.array([1.0, 3.0, -2.0]), np.array([2.0, 0.5, 0.0]), 1.5
    draws = rng().standard_normal((400_000, 1)) * sds + means
    sampled = np.maximum(draws - best, 0).mean(axis=0)
    found = acquisition.expected_improvement(means, sds, best)
    np.testing.assert_allclose(found, sampled, atol=0.01)
    assert acquisition.expected_improvement(np.array([2.0]), np.array([0.0]), best)[0] == 0.5


def test_a_batch_is_spread_because_choices_are_believed():
    tried = [change(day_temperature_c=19.0), change(day_temperature_c=20.0)]
    posterior = fit_posterior(KERNEL, BOUNDS, tried, [0, 0], [20.0, 25.0])
    near = [change(day_temperature_c=22.0 + step / 1000) for step in range(8)]
    far = [change(co2_target_ppm=1150.0, day_temperature_c=21.5)]
    chosen = acquisition.choose_batch(posterior, [*near, *far], tried, 2, 0, [0, 182])
    assert chosen[0] in near
    assert chosen[1] in far
    everything = acquisition.choose_batch(posterior, [*near, *far, *tried], tried, 50, 0, [0])
    assert len(everything) == 9


def test_the_best_mean_does_not_depend_on_order_and_needs_a_policy():
    tried = [change(day_temperature_c=19.0), change(day_temperature_c=20.0)]
    posterior = fit_posterior(KERNEL, BOUNDS, tried, [0, 0], [20.0, 25.0])
    assert acquisition.best_mean(posterior, tried, [0]) == acquisition.best_mean(
        posterior, tried[::-1], [0]
    )
    assert acquisition.best_mean(posterior, tried, [0])[0] == tried[1]
    with pytest.raises(ValueError, match="at least one"):
        acquisition.best_mean(posterior, [], [0])


def test_minimise_finds_the_bottom_of_a_curved_valley():
    def valley(points):
        x, y = points.T
        return (1 - x) ** 2 + 20 * (y - x**2) ** 2

    np.testing.assert_allclose(minimise(valley, np.array([-0.5, 0.5])), [1, 1], atol=0.02)


def test_the_refitted_kernel_sees_which_field_matters():
    policies = design.sobol_policies(16, design.whole_box(), BOUNDS, rng())
    unit = to_unit(encode(policies), BOUNDS)
    margins = 30 + 10 * np.sin(4 * unit[:, 2])
    kernel = fit_free_kernel(BOUNDS, policies, [0] * 16, margins)
    scales = kernel.policy_length_scales
    assert min(range(6), key=lambda field: scales[field]) == POLICY_FIELDS.index("co2_target_ppm")
    backwards = fit_free_kernel(BOUNDS, policies[::-1], [0] * 16, margins[::-1])
    assert backwards == kernel


def test_the_refitted_kernel_is_at_a_minimum():
    unit, margins = rng(3).random((6, 6)), rng(4).standard_normal(6)
    problem = _Problem(unit, np.repeat([0.0, 182.0], 3), margins, np.zeros(6))
    best = problem.solve()
    around = best + 0.05 * rng(5).standard_normal((200, len(PRIOR_CENTRES)))
    assert problem.objective(around).min() >= problem.objective(best[None])[0] - 1e-6


@pytest.mark.parametrize("count", [1, 2])
def test_the_refitted_kernel_exists_for_the_fewest_crops(count):
    margins = [30.0, 30.0][:count]
    kernel = fit_free_kernel(
        BOUNDS, [ANCHOR, change(day_temperature_c=23.0)][:count], [0] * count, margins
    )
    assert kernel.signal_sd_eur_m2 > 0
