"""Verdicts of the comparison with published numbers."""

from __future__ import annotations

import numpy as np
import pytest

from slowlab.canonical import canonical_json
from slowlab.evaluation.physics import (
    PhysicsError,
    PublishedEffect,
    _Check,
    check_physics,
    published_physics,
)
from slowlab.greenlight.lanes import check_parameters
from slowlab.world.policy import parse_policy
from slowlab.world.site_distribution import load_sites

PARAMETERS = load_sites().default_parameters()


def test_the_published_numbers_are_complete(contract):
    published = published_physics()
    assert len(published.effects) == 18
    assert len(published.reference_sites.published) == len(published.reference_sites.sites)
    mean = np.mean(published.reference_sites.published)
    assert mean == pytest.approx(published.reference_sites.published_mean, abs=0.01)
    for policy in published.policies.values():
        assert parse_policy(policy, contract.policy) == policy
    for effect in published.effects:
        assert effect.parameters != {k: PARAMETERS[k] for k in effect.parameters}
        check_parameters(effect.parameters)


@pytest.mark.parametrize(
    ("published", "measured", "verdict"),
    [
        (0.5, 0.01, "agrees"),
        (0.5, -0.01, "differs"),
        (4.0, 2.1, "agrees"),
        (4.0, 1.9, "differs"),
        (-4.0, -8.1, "differs"),
        (-4.0, 4.0, "differs"),
    ],
)
def test_effects_are_judged_by_sign_and_size(fake_runner, published, measured, verdict):
    check = _Check(fake_runner, published_physics(), PARAMETERS, ["development-000"])
    effect = PublishedEffect(name="x", parameters={"laiMax": 2.5}, published=published)
    assert check._effect(effect, np.array([measured, measured])).verdict == verdict
    spared = effect.model_copy(update={"exempt": "because"})
    assert check._effect(spared, np.array([measured])).verdict == "not judged"


def test_a_report_names_what_differs(fake_runner, development):
    report = check_physics(fake_runner, PARAMETERS, development, years=2)
    assert report.years == ("development-000", "development-001")
    assert {item.name for item in report.failed} >= {"policy_a_january_margin"}
    assert len(report.reference_scores) == len(development)
    assert canonical_json(report.plain())


def test_a_failed_run_is_no_comparison(fake_runner, development):
    fake_runner.failing = lambda run: True
    with pytest.raises(PhysicsError, match="integration failed"):
        check_physics(fake_runner, PARAMETERS, development, years=2)
