"""Planted faults in methods: the checks of the toy world must see each of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from slowlab.methods import (
    _acquisition,
    _design,
    _local_bo,
    _waves,
    global_bo,
    prior_bo,
    prior_bo_two_wave,
)
from slowlab.tools import season_kernel
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.world import policy as policy_module
from slowlab.world.policy import POLICY_FIELDS, EncodedPolicies
from slowlab.world.task import Feedback
from tests.toy_checks import check_ranking, check_threshold
from tests.toy_world import toy_artifacts

Patch = pytest.MonkeyPatch
Check = Callable[[ArtifactFolder], None]


def encoded_by_sorted_position(patch: Patch) -> None:
    """Names as asked for, numbers in the order of sorted keys."""

    def encode(policies, fields=POLICY_FIELDS):
        rows = [[getattr(policy, name) for name in sorted(fields)] for policy in policies]
        return EncodedPolicies(tuple(fields), np.array(rows, float).reshape(-1, len(fields)))

    for module in (policy_module, _local_bo, _acquisition, _design, _waves, season_kernel):
        if hasattr(module, "encode"):
            patch.setattr(module, "encode", encode)


def kernel_columns_by_sorted_position(patch: Patch) -> None:
    """The original's fault: scaled fields in another order, everything within its range."""
    native = season_kernel.SeasonKernel.unit
    order = [POLICY_FIELDS.index(name) for name in sorted(POLICY_FIELDS)]
    patch.setattr(
        season_kernel.SeasonKernel, "unit", lambda self, *given: native(self, *given)[:, order]
    )


def improvement_with_the_wrong_sign(patch: Patch) -> None:
    native = _acquisition.expected_improvement
    patch.setattr(_acquisition, "expected_improvement", lambda *given: -native(*given))


def last_tried_is_recommended(patch: Patch) -> None:
    def last(crops):
        return max(crops, key=lambda crop: (crop.start_day, crop.unit)).policy

    for module in (prior_bo, prior_bo_two_wave):
        patch.setattr(module, "best_tried", lambda kernel, task, crops, otherwise=None: last(crops))
    patch.setattr(global_bo, "best_anywhere", lambda task, crops, pool, otherwise: last(crops))
    patch.setattr(_waves, "best_seen", lambda crops, otherwise: last(crops))


def posterior_upside_down(patch: Patch) -> None:
    native = season_kernel.PolicyPosterior.scored

    def scored(self, *given):
        mean, sd = native(self, *given)
        return -mean, sd

    patch.setattr(season_kernel.PolicyPosterior, "scored", scored)


def reaches(name: str, feedback: Feedback = Feedback.ENDPOINT) -> Check:
    """The threshold of one method as a check."""
    return lambda artifacts: check_threshold(name, artifacts, feedback)


MUTANTS = [
    (encoded_by_sorted_position, reaches("prior_bo")),
    (encoded_by_sorted_position, reaches("prior_bo_two_wave")),
    (encoded_by_sorted_position, check_ranking),
    (kernel_columns_by_sorted_position, check_ranking),
    (improvement_with_the_wrong_sign, reaches("prior_bo", Feedback.FULL)),
    (improvement_with_the_wrong_sign, reaches("prior_bo_two_wave")),
    (last_tried_is_recommended, reaches("prior_bo")),
    (last_tried_is_recommended, reaches("prior_bo_two_wave")),
    (last_tried_is_recommended, reaches("global_bo")),
    (last_tried_is_recommended, reaches("random_search")),
    (last_tried_is_recommended, reaches("local_random_search")),
    (last_tried_is_recommended, reaches("two_wave_sobol")),
    (posterior_upside_down, reaches("prior_bo")),
    (posterior_upside_down, reaches("global_bo")),
]


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory):
    return toy_artifacts(tmp_path_factory.mktemp("artifacts"))


@pytest.mark.parametrize(
    ("plant", "check"), MUTANTS, ids=[f"{n}-{m.__name__}" for n, (m, _) in enumerate(MUTANTS)]
)
def test_the_check_sees_the_fault(plant, check, artifacts, monkeypatch):
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=r"accuracy|: -?\d"):
        check(artifacts)
