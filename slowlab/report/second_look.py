"""From the declaration and a finished study to its Bayesian second look."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowlab.analysis.numbers_file import read_numbers
from slowlab.analysis.second_look import take_second_look
from slowlab.analysis.second_look_model import Priors, SamplerPlan
from slowlab.analysis.second_look_summary import LookLimits
from slowlab.prereg.declaration import Declaration

if TYPE_CHECKING:
    from xarray import DataTree


def second_look_of(
    numbers: Path, declaration: Declaration, lock: str | None
) -> tuple[dict[str, Any], DataTree]:
    """The second look at a finished study; all its settings are declared.

    Args:
        numbers: the study's numbers.
        declaration: ``preregistration/study.yaml``; a study that is not locked has the same
            settings.
        lock: identity of the preregistration's lock; None where there is none.

    Raises:
        StrictJsonError, NumbersError: the numbers cannot be read.
        OSError: likewise.
    """
    plan, limits = second_look_plan(declaration)
    return take_second_look(read_numbers(numbers), plan, limits, lock)


def second_look_plan(declaration: Declaration) -> tuple[SamplerPlan, LookLimits]:
    """Settings of the sampler, and gates, from the declaration."""
    wanted, bounds = declaration.second_look, declaration.gates
    plan = SamplerPlan(
        chains=wanted.chains,
        warm_up=wanted.warm_up,
        draws=wanted.draws,
        target_accept=wanted.target_accept,
        seed=wanted.seed,
        priors=Priors(**wanted.priors.model_dump()),
    )
    limits = LookLimits(
        rope_eur_m2=wanted.rope_eur_m2,
        probability=wanted.probability,
        largest_r_hat=bounds.largest_r_hat,
        smallest_ess=bounds.smallest_ess,
        most_divergences=bounds.most_divergences,
        other_scales=wanted.other_effect_scales,
    )
    return plan, limits
