"""What every method must reach in the toy world, and how well the kernel ranks there.

Used by the tests of the toy world and by the planted faults that must fail them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slowlab.methods._design import random_policy
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.tools.season_kernel import SeasonKernel, fit_posterior
from slowlab.world.task import Feedback
from tests.toy_world import (
    CONTRACT,
    mean_of_random_policies,
    play_toys,
    toy_margin,
    toy_score,
)

SITES = range(20)


@dataclass(frozen=True)
class Threshold:
    """Least mean score over the toy sites.

    Attributes:
        gain_eur_m2: least mean gain.
        over: ``anchor``, or ``random`` for methods that know nothing.
    """

    gain_eur_m2: float
    over: str

    def score_eur_m2(self) -> float:
        """The threshold as a score."""
        anchor = self.over == "anchor"
        base = toy_score(CONTRACT.fixed_reference) if anchor else mean_of_random_policies()
        return base + self.gain_eur_m2


THRESHOLDS = {
    "global_bo": Threshold(7.0, "random"),
    "local_random_search": Threshold(8.5, "anchor"),
    "prior_bo": Threshold(8.0, "anchor"),
    "prior_bo_two_wave": Threshold(10.0, "anchor"),
    "random_search": Threshold(8.5, "random"),
    "repeat_best": Threshold(4.5, "anchor"),
    "two_wave_sobol": Threshold(9.0, "random"),
}
"""What was measured over 100 sites, less about one and a half EUR/m2 (about two standard errors of
the mean of 20 sites)."""

RANKING_ACCURACY = 0.845
"""Least share of pairs that the kernel puts in the right order. It reaches 0.88; with the policy
fields in another order, 0.81."""


def check_threshold(name: str, artifacts: ArtifactFolder, feedback: Feedback) -> None:
    """Assert that a method reaches its threshold."""
    outcomes = play_toys(name, artifacts, SITES, feedback=feedback)
    mean = float(np.mean([outcome.score_eur_m2 for outcome in outcomes]))
    assert mean >= THRESHOLDS[name].score_eur_m2(), f"{name}: {mean:.2f}"


def ranking_accuracy(kernel: SeasonKernel, crops: int = 12, draws: int = 60) -> float:
    """Share of pairs of unseen policies that are ranked right after some random crops."""
    rng, hits = np.random.default_rng(11), []
    for _ in range(draws):
        policies = [random_policy(CONTRACT.policy, rng) for _ in range(crops + 15)]
        margins = np.array([toy_margin(policy, 0) for policy in policies])
        seen, unseen = policies[:crops], policies[crops:]
        posterior = fit_posterior(kernel, CONTRACT.policy, seen, [0] * crops, margins[:crops])
        mean, truth = posterior.at(unseen, 0)[0], margins[crops:]
        i, j = np.triu_indices(len(unseen), 1)
        hits.append(np.mean((mean[i] > mean[j]) == (truth[i] > truth[j])))
    return float(np.mean(hits))


def check_ranking(artifacts: ArtifactFolder) -> None:
    """Assert that the kernel of the toy world ranks as well as it can."""
    found = ranking_accuracy(SeasonKernel.from_artifact(artifacts.load("kernel")))
    assert found >= RANKING_ACCURACY, f"ranking accuracy {found:.3f}"
