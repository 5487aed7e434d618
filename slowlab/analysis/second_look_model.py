"""The Bayesian model of site-level differences, and its sampling with NumPyro.

For test t on site s, with the cells c (a method under a feedback condition) that several tests have
in common::

    d[s, t] = mu[t] + sum over c of L[t, c] u[s, c] + e[s, t]
    u[s, c] ~ Normal(0, omega[c])      what is peculiar to a shared cell on a site
    e[s, t] ~ Normal(0, sigma[t])      the rest; every test has its own spread
    mu[t]   ~ Normal(0, tau[q(t)])     partial pooling within a question, towards no effect
    tau[q]  ~ HalfNormal(5), omega[c] ~ HalfNormal(3), sigma[t] ~ LogNormal(log 3, 0.7), EUR/m2

All tests that subtract the baseline subtract the same scores; ``L`` is 1 where a test adds a cell
and -1 where it subtracts one, so these correlations are known in sign and need no free matrix. The
normal distribution keeps ``mu`` at the mean over sites, which is the estimand; a heavy-tailed one
would count odd sites less.

``u`` and ``mu`` are integrated out, so that only scales are sampled and there is no funnel, whether
data are many or few; ``mu`` is then drawn from its exact conditional distribution (Gelman et al.,
Bayesian Data Analysis, 3rd edition, sections 5.4 and 15.1).

``omega`` enters as a square, so a normal number with a sign is sampled and its size taken: the same
prior without a wall at zero, where few sites leave it. ``tau`` is sampled by its logarithm, because
a question with one test leaves it a peak near zero and a long tail.

NumPyro takes seconds to import, so it is imported where it is used.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowlab.analysis.samples import Array
from slowlab.analysis.second_look_data import LookData, Moments, moments


@dataclass(frozen=True)
class Priors:
    """Scales of the priors.

    Attributes:
        effect_scale_eur_m2: of the half-normal of ``tau``.
        shared_scale_eur_m2: of the half-normal of ``omega``.
        spread_median_eur_m2: median of the log-normal of ``sigma``, which excludes zero: two tests
            whose values nearly agree would draw a model there that has no such bound.
        spread_log_sd: standard deviation of its logarithm.
    """

    effect_scale_eur_m2: float
    shared_scale_eur_m2: float
    spread_median_eur_m2: float
    spread_log_sd: float


@dataclass(frozen=True)
class SamplerPlan:
    """How the model is sampled.

    Attributes:
        chains: number of chains.
        warm_up: draws of each chain that are thrown away.
        draws: draws of each chain that are kept.
        target_accept: acceptance that steps are tuned to.
        seed: seed of everything random.
        priors: scales of the priors.
    """

    chains: int
    warm_up: int
    draws: int
    target_accept: float
    seed: int
    priors: Priors


@dataclass(frozen=True, eq=False)
class Fit:
    """Draws of the model.

    Attributes:
        posterior: ``mu[chain, draw, test]``, ``sigma`` likewise, ``omega[chain, draw, cell]`` and
            ``tau[chain, draw, question]``, EUR/m2.
        stats: ``[chain, draw]`` of the sampler: ``diverging``, ``acceptance_rate``, ``n_steps``,
            ``energy``, ``lp``.
        questions: names of the questions, as in ``tau``.
    """

    posterior: dict[str, Array]
    stats: dict[str, NDArray[Any]]
    questions: tuple[str, ...]


def fit_model(data: LookData, plan: SamplerPlan) -> Fit:
    """Sample the model.

    Args:
        data: at least one modelled test.
        plan: how it is sampled.

    Returns:
        The draws; on one machine equal arguments give equal numbers.
    """
    import jax
    import jax.numpy as jnp
    from jax import random
    from numpyro.infer import MCMC, NUTS, init_to_median

    questions = tuple(dict.fromkeys(data.questions))
    place = np.array([questions.index(question) for question in data.questions])
    with jax.enable_x64(True):
        known = tuple(map(jnp.asarray, _arrays(moments(data.values))))
        loadings = jnp.asarray(data.loadings)
        sampler = MCMC(
            NUTS(
                _model,
                target_accept_prob=plan.target_accept,
                init_strategy=init_to_median(num_samples=15),
            ),
            num_warmup=plan.warm_up,
            num_samples=plan.draws,
            num_chains=plan.chains,
            chain_method="vectorized",
            progress_bar=False,
            jit_model_args=True,
        )
        key, last = random.split(random.PRNGKey(plan.seed))
        sampler.run(
            key,
            known,
            loadings,
            jnp.asarray(place),
            jnp.ones(len(questions)),
            tuple(map(jnp.asarray, astuple(plan.priors))),
            extra_fields=("diverging", "accept_prob", "num_steps", "energy", "potential_energy"),
        )
        scales = sampler.get_samples(group_by_chain=True)
        shape = (plan.chains, plan.draws)
        noise = random.normal(last, (*shape, len(data.tests)))
        draw = jax.jit(
            jax.vmap(jax.vmap(_draw_effects, (0, None, None, None)), (0, None, None, None))
        )
        packed = (noise, scales["sigma"], scales["omega"], scales["tau"])
        effects = draw(packed, known, loadings, jnp.asarray(place))
        posterior = {"mu": effects} | {name: scales[name] for name in ("sigma", "omega", "tau")}
        found = sampler.get_extra_fields(group_by_chain=True)
    return Fit({k: np.asarray(v) for k, v in posterior.items()}, _stats(found), questions)


def _arrays(known: Moments) -> tuple[Array, Array, Array, Array]:
    return known.present, known.counts, known.means, known.scatter


def _stats(found: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Statistics of the sampler under the names of ArviZ."""
    return {
        "diverging": np.asarray(found["diverging"]),
        "acceptance_rate": np.asarray(found["accept_prob"], dtype=np.float64),
        "n_steps": np.asarray(found["num_steps"], dtype=np.int64),
        "energy": np.asarray(found["energy"], dtype=np.float64),
        "lp": -np.asarray(found["potential_energy"], dtype=np.float64),
    }


def _model(known: Any, loadings: Any, place: Any, ones: Any, priors: Any) -> None:
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    tests, cells = loadings.shape
    effect_scale, shared_scale, spread_median, spread_log_sd = priors
    tau = numpyro.sample("tau", dist.HalfNormal(effect_scale * ones).to_event(1))
    wide = dist.Normal(0.0, shared_scale).expand([cells]).to_event(1)
    omega = numpyro.deterministic("omega", jnp.abs(numpyro.sample("signed_omega", wide)))
    spread = dist.LogNormal(jnp.log(spread_median), spread_log_sd)
    sigma = numpyro.sample("sigma", spread.expand([tests]).to_event(1))
    numpyro.factor("differences", _log_likelihood(sigma, omega, tau[place], known, loadings))


def _covariances(sigma: Any, omega: Any, present: Any, loadings: Any) -> Any:
    """``[pattern, test, test]`` covariances; absent tests are independent with variance 1."""
    import jax.numpy as jnp

    whole = (loadings * omega**2) @ loadings.T + jnp.diag(sigma**2)
    both = present[:, :, None] * present[:, None, :]
    return both * whole + jnp.eye(len(sigma)) * (1.0 - present)[:, :, None]


def _log_likelihood(sigma: Any, omega: Any, tau: Any, known: Any, loadings: Any) -> Any:
    """Log density of the differences given the scales, up to a constant; ``mu`` integrated out."""
    import jax.numpy as jnp
    from jax.scipy.linalg import cho_factor, cho_solve

    present, counts, means, scatter = known
    lower = jnp.linalg.cholesky(_covariances(sigma, omega, present, loadings))
    log_det = 2.0 * jnp.log(jnp.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    squares = scatter + counts[:, None, None] * means[:, :, None] * means[:, None, :]
    inner = _inverse(lower)
    fit = -0.5 * (counts * log_det).sum() - 0.5 * (inner * squares).sum()
    precision, pull = _information(inner, known, tau)
    factor = cho_factor(precision, lower=True)
    gain = 0.5 * pull @ cho_solve(factor, pull)
    return fit + gain - jnp.log(jnp.diagonal(factor[0])).sum()


def _inverse(lower: Any) -> Any:
    """``[pattern, test, test]`` inverses from Cholesky factors."""
    import jax.numpy as jnp
    from jax.scipy.linalg import cho_solve

    eye = jnp.broadcast_to(jnp.eye(lower.shape[-1]), lower.shape)
    return cho_solve((lower, True), eye)


def _information(inner: Any, known: Any, tau: Any) -> tuple[Any, Any]:
    """Precision of ``mu / tau`` and its product with the conditional mean."""
    import jax.numpy as jnp

    present, counts, means, _ = known
    both = present[:, :, None] * present[:, None, :] * inner * counts[:, None, None]
    pull = jnp.einsum("pij,pj->i", both, means)
    return jnp.eye(len(tau)) + tau[:, None] * both.sum(axis=0) * tau[None, :], tau * pull


def _draw_effects(packed: Any, known: Any, loadings: Any, place: Any) -> Any:
    """One draw of ``mu`` given the scales, from a standard normal vector."""
    import jax.numpy as jnp
    from jax.scipy.linalg import cho_solve, solve_triangular

    noise, sigma, omega, tau = packed
    spread = tau[place]
    lower = jnp.linalg.cholesky(_covariances(sigma, omega, known[0], loadings))
    precision, pull = _information(_inverse(lower), known, spread)
    factor = jnp.linalg.cholesky(precision)
    scaled = cho_solve((factor, True), pull) + solve_triangular(factor.T, noise, lower=False)
    return spread * scaled
