"""Searches: proposals stay in the box, find optima on bounds and inside, and repeat exactly."""

from __future__ import annotations

import numpy as np
import pytest

from slowlab.evaluation.search import (
    SearchSettings,
    cold_corner,
    predict,
    propose,
    repaired,
    space_filling,
)
from slowlab.world.contract import load_contract
from slowlab.world.policy import POLICY_FIELDS, encode, parse_policy, to_unit

BOUNDS = load_contract().policy
SETTINGS = SearchSettings(sobol=16, rounds=6, population=12)


def search(optimum, settings=SETTINGS):
    def value(policies):
        unit = to_unit(encode(policies), BOUNDS)
        return 50.0 - 40.0 * ((unit - optimum) ** 2).sum(axis=1)

    policies = space_filling(settings.sobol, BOUNDS, settings.seed)
    for number in range(settings.rounds):
        policies += propose(
            policies,
            value(policies),
            count=settings.population,
            number=number,
            bounds=BOUNDS,
            settings=settings,
            rng=np.random.default_rng([settings.seed, number]),
        )
    return policies, value(policies)


@pytest.mark.parametrize(
    "optimum",
    [np.array([0, 0, 1, 1, 1, 1]), np.array([0.6, 0.2, 0.5, 0.4, 0.7, 0.3]), np.full(6, 0.5)],
)
def test_optima_on_bounds_and_inside_are_found(optimum):
    _, values = search(optimum)
    assert values.max() > 49.8
    assert len(values) == 16 + 6 * 12


def test_proposals_are_allowed_new_and_spread():
    policies, _ = search(np.full(6, 0.9))
    assert len(set(policies)) == len(policies)
    for policy in policies:
        assert parse_policy(policy, BOUNDS) == policy


def test_a_search_repeats_exactly_and_other_seeds_differ():
    one, again = search(np.full(6, 0.5)), search(np.full(6, 0.5))
    assert one[0] == again[0]
    other, _ = search(np.full(6, 0.5), SearchSettings(sobol=16, rounds=6, population=12, seed=1))
    assert set(other) != set(one[0])


def test_points_outside_are_brought_back_and_nights_lowered():
    (policy,) = repaired(np.array([[-1.0, 2.0, 0.5, 0.5, 0.5, 0.5]]), BOUNDS)
    assert policy.day_temperature_c == 18
    assert policy.night_temperature_c == 18
    assert space_filling(0, BOUNDS, 0) == []


def test_the_cold_corner_is_the_prototype_s_optimum():
    corner = [getattr(cold_corner(BOUNDS), name) for name in POLICY_FIELDS]
    assert corner == [18.0, 15.0, 1130.0, 16.0, 6.0, 90.0]


def test_predictions_interpolate_and_are_unsure_far_away():
    rng = np.random.default_rng(0)
    known = rng.uniform(size=(40, 6))
    values = -((known - 0.5) ** 2).sum(axis=1)
    mean, deviation = predict(known, values, known)
    assert np.argmax(mean) == np.argmax(values)
    assert np.corrcoef(mean, values)[0, 1] > 0.9
    _, far = predict(known, values, np.full((1, 6), 3.0))
    assert far[0] > 3 * deviation.max()


def test_equal_values_do_not_stop_a_search():
    policies = space_filling(8, BOUNDS, 0)
    fresh = propose(
        policies,
        np.zeros(8),
        count=4,
        number=0,
        bounds=BOUNDS,
        settings=SETTINGS,
        rng=np.random.default_rng(0),
    )
    assert len(fresh) == 4
