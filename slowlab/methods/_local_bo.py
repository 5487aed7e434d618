"""What the local optimisers share: what they know, what they believe, what they choose.

All decisions are functions of the public task and the crops seen so far. Crops enter by planting
day, policy and margin and never by compartment.

Source: SlowLab, prior-informed local optimiser. The original's trust region had no occasion to
change its size in this calendar; here the box has a fixed half-width and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field

from slowlab.campaign.history import SeenCrop
from slowlab.config import ConfigModel
from slowlab.methods._acquisition import best_mean, choose_batch
from slowlab.methods._design import (
    box_around,
    design_around,
    random_policy,
    sobol_policies,
    without,
)
from slowlab.methods._field_work import CropName, Estimate
from slowlab.methods._free_kernel import fit_free_kernel
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.tools.public_task import policy_bounds, scoring_days
from slowlab.tools.season_kernel import PolicyPosterior, SeasonKernel, fit_posterior
from slowlab.world.policy import Policy, PolicyBounds, encode, parse_policy

COMPLETED = "completed"
"""How a crop has closed whose margin may enter a fit."""
ARTIFACTS = ("fixed_reference", "kernel", "radius")
"""Artifacts that a local optimiser may read."""


class LocalBoSettings(ConfigModel):
    """What a local optimiser knows beforehand, and how far it looks."""

    anchor: bool = Field(
        default=True,
        description="Whether it starts at the fixed reference; else at a random policy.",
    )
    kernel: Literal["frozen", "free"] = Field(
        default="frozen",
        description="Kernel fitted on development sites, or refitted to the campaign's own crops.",
    )
    radius: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="Half-width of the box in widths of the range; null for the artifact radius.",
    )
    pool_size: int = Field(default=256, ge=1, le=4096, description="Candidates per decision.")


@dataclass(frozen=True)
class Knowledge:
    """What is known before the first crop.

    Attributes:
        centre: where the design is centred; also the recommendation if every crop fails.
        radius: half-width of the box in widths of the allowed range.
        kernel: frozen hyperparameters; None to refit them to each set of crops.
        pool_size: candidates per decision.
    """

    centre: Policy
    radius: float
    kernel: SeasonKernel | None
    pool_size: int


@dataclass(frozen=True)
class Observations:
    """Crops that enter a fit, in an order that tells nothing about compartments.

    Attributes:
        policies: policies.
        planting_days: planting days.
        margins_eur_m2: margins, measured or predicted.
        error_sd_eur_m2: SD of the error of a predicted margin; 0 for a measured one.
    """

    policies: tuple[Policy, ...]
    planting_days: tuple[float, ...]
    margins_eur_m2: tuple[float, ...]
    error_sd_eur_m2: tuple[float, ...]

    def __len__(self) -> int:
        """Number of crops."""
        return len(self.policies)


def local_knowledge(
    settings: LocalBoSettings,
    artifacts: ArtifactFolder,
    task: Mapping[str, Any],
    rng: np.random.Generator,
) -> Knowledge:
    """What the settings say is known; only the artifacts that it needs are read.

    Raises:
        ArtifactError: an artifact is missing or damaged, or is one of another contract.
        PolicyError: the fixed reference is outside the task's bounds.
    """
    bounds = policy_bounds(task)
    start = random_policy(bounds, rng)  # always drawn, so that all other numbers are the same
    if settings.anchor:
        start = parse_policy(artifacts.load("fixed_reference").content["policy"], bounds)
    radius = settings.radius
    if radius is None:
        radius = float(artifacts.load("radius").content["radius"])
    kernel = None
    if settings.kernel == "frozen":
        kernel = SeasonKernel.from_artifact(artifacts.load("kernel"))
    return Knowledge(start, radius, kernel, settings.pool_size)


def design_points(
    known: Knowledge, count: int, task: Mapping[str, Any], rng: np.random.Generator
) -> list[Policy]:
    """The centre, then different points of the design around it: at most ``count`` policies."""
    around = design_around(known.centre, known.radius, count - 1, policy_bounds(task), rng)
    return [known.centre, *around][:count]


def observations(
    crops: Sequence[SeenCrop], estimates: Mapping[CropName, Estimate] | None = None
) -> Observations:
    """Normally completed crops whose totals were read, and running crops that were predicted.

    Args:
        crops: all crops seen, in any order.
        estimates: predicted margins of running crops.
    """
    rows = []
    for crop in crops:
        estimate = (estimates or {}).get((crop.unit, crop.run_index))
        if crop.totals is not None and crop.reason == COMPLETED:
            rows.append((crop.start_day, crop.policy, crop.totals.margin_eur_m2, 0.0))
        elif not crop.closed and estimate is not None:
            error = estimate.error_sd_eur_m2
            rows.append((crop.start_day, crop.policy, estimate.margin_eur_m2, error))
    rows.sort(key=lambda row: (row[0], encode([row[1]]).values[0].tolist(), row[2], row[3]))
    days, policies, margins, errors = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Observations(policies, days, margins, errors)


def fit(kernel: SeasonKernel | None, bounds: PolicyBounds, seen: Observations) -> PolicyPosterior:
    """Beliefs after some crops, at least one; the kernel is refitted where none is given."""
    data = (seen.policies, seen.planting_days, seen.margins_eur_m2, seen.error_sd_eur_m2)
    return fit_posterior(kernel or fit_free_kernel(bounds, *data), bounds, *data)


def believe_running(
    posterior: PolicyPosterior, crops: Sequence[SeenCrop], seen: Observations
) -> PolicyPosterior:
    """Take running crops that were not observed in any way at their predicted margins."""
    known = list(zip(seen.planting_days, seen.policies, strict=True))
    running = [
        (crop.start_day, crop.policy)
        for crop in crops
        if not crop.closed and (crop.start_day, crop.policy) not in known
    ]
    for day, policy in sorted(running, key=lambda row: (row[0], encode([row[1]]).values.tolist())):
        posterior = posterior.believe(policy, day)
    return posterior


def candidates_worth_a_score(crops: Sequence[SeenCrop]) -> list[Policy]:
    """Policies that grow or have grown to the end: any of them may be the best one so far."""
    return [c.policy for c in crops if not c.closed or c.reason in (COMPLETED, None)]


def choose_next(
    known: Knowledge,
    task: Mapping[str, Any],
    crops: Sequence[SeenCrop],
    estimates: Mapping[CropName, Estimate],
    count: int,
    planting_day: float,
    rng: np.random.Generator,
) -> list[Policy]:
    """Choose policies to plant inside the box around the best policy so far.

    Args:
        known: what is known beforehand.
        task: the public task.
        crops: all crops seen.
        estimates: predicted margins of running crops.
        count: how many to choose.
        planting_day: when they will be planted.
        rng: scrambles the candidates.

    Returns:
        ``count`` policies that were not tried; fewer if the candidates are exhausted, and none if
        no crop tells anything yet.
    """
    seen = observations(crops, estimates)
    if not len(seen):
        return []
    bounds, days = policy_bounds(task), scoring_days(task)
    posterior = believe_running(fit(known.kernel, bounds, seen), crops, seen)
    worthy = candidates_worth_a_score(crops)
    incumbent, _ = best_mean(posterior, worthy, days)
    box = box_around(incumbent, known.radius, bounds)
    pool = sobol_policies(known.pool_size, box, bounds, rng)
    untried = without(pool, [crop.policy for crop in crops])
    return choose_batch(posterior, untried, worthy, count, planting_day, days)


def best_tried(
    kernel: SeasonKernel | None,
    task: Mapping[str, Any],
    crops: Sequence[SeenCrop],
    otherwise: Policy | None = None,
) -> Policy:
    """The last step: of the policies grown to the end, the one with the highest posterior mean.

    Args:
        kernel: frozen hyperparameters; None to refit them.
        task: the public task.
        crops: all crops seen, in any order.
        otherwise: what is recommended where no crop was completed.

    Raises:
        ValueError: no crop was completed and nothing else is given.
    """
    seen = observations(crops)
    if not len(seen):
        if otherwise is None:
            raise ValueError("no crop was completed and no other policy is given")
        return otherwise
    posterior = fit(kernel, policy_bounds(task), seen)
    return best_mean(posterior, seen.policies, scoring_days(task))[0]
