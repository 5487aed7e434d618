"""Policies spread evenly over the allowed range."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.tools.space_filling import NoCandidatesError, sobol_policies
from slowlab.world.policy import POLICY_FIELDS, encode, parse_policy, to_unit
from tests.tools.campaigns import contract

BOUNDS = contract().policy


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 64),
    fixed=st.sampled_from(
        ({}, {"night_temperature_c": 22}, {"day_temperature_c": 18.0, "co2_target_ppm": 777.777})
    ),
)
def test_policies_are_valid_different_and_keep_what_is_fixed(seed, count, fixed):
    found = sobol_policies(BOUNDS, count, np.random.default_rng(seed), fixed)
    assert len(set(found)) == count
    for item in found:
        parse_policy(item, BOUNDS)
        for name in POLICY_FIELDS:
            value = getattr(item, name)
            assert value == fixed[name] if name in fixed else value == round(value, 2)


def test_a_larger_set_begins_with_the_smaller_one():
    small, large = (sobol_policies(BOUNDS, n, np.random.default_rng(3)) for n in (5, 64))
    assert large[:5] == small


def test_points_are_spread_more_evenly_than_chance():
    points = to_unit(encode(sobol_policies(BOUNDS, 64, np.random.default_rng(1))), BOUNDS)
    counts = np.histogram(points[:, POLICY_FIELDS.index("co2_target_ppm")], 8, (0, 1))[0]
    assert counts.min() >= 4


def test_too_little_freedom_is_an_error():
    fixed = {name: BOUNDS.of(name).min for name in POLICY_FIELDS[:-1]}
    assert len(sobol_policies(BOUNDS, 3, np.random.default_rng(0), fixed)) == 3
    with pytest.raises(NoCandidatesError, match="fewer than 1"):
        sobol_policies(BOUNDS, 1, np.random.default_rng(0), dict.fromkeys(POLICY_FIELDS, 20.0))
    hot_night = {"night_temperature_c": 22.0, "day_temperature_c": 18.0}
    with pytest.raises(NoCandidatesError, match="different policies"):
        sobol_policies(BOUNDS, 2, np.random.default_rng(0), hot_night)
