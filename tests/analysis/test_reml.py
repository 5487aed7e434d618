"""The mixed model: closed forms, a second opinion, known components, and declared outcomes."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from slowlab.analysis.reml import (
    RESIDUAL,
    FitStatus,
    fit_random_effects,
    separable_effects,
)
from slowlab.analysis.stability import variance_components


@pytest.fixture(autouse=True)
def _no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def crossed(sites, years, repeats=1):
    """Levels of a full crossing, in one order."""
    table = np.array(list(itertools.product(range(sites), range(years), range(repeats))))
    site, year, repeat = table.T
    return {
        "site": site,
        "repeat": site * repeats + repeat,
        "year": year,
        "site_year": site * years + year,
    }


def drawn(effects, deviations, mean, rng):
    """Values with known deviations of every effect and of the residual."""
    count = len(next(iter(effects.values())))
    values = mean + rng.normal(0.0, deviations[RESIDUAL], count)
    for name, levels in effects.items():
        values += rng.normal(0.0, deviations[name], int(levels.max()) + 1)[levels]
    return values


def test_balanced_sites_give_the_analysis_of_variance_and_the_paired_t_test() -> None:
    sites = crossed(9, 1, 4)["site"]
    values = drawn({"site": sites}, {"site": 2.0, RESIDUAL: 1.0}, 1.5, np.random.default_rng(3))
    fit = fit_random_effects(values, {"site": sites})
    table = values.reshape(9, 4)
    anova = variance_components(table)
    assert fit.status is FitStatus.FITTED
    assert fit.variances["site"] == pytest.approx(anova.site, rel=1e-8)
    assert fit.variances[RESIDUAL] == pytest.approx(anova.repeat, rel=1e-8)
    t = ttest_1samp(table.mean(axis=1), 0.0)
    assert fit.mean == pytest.approx(table.mean(), rel=1e-9)
    assert fit.mean / fit.error == pytest.approx(t.statistic, rel=1e-8)
    assert fit.freedom == pytest.approx(8.0, rel=1e-6)


def test_balanced_crossing_has_its_closed_form() -> None:
    """Mean squares of a two-way layout without replication (Searle et al. 1992, section 4.3)."""
    levels = crossed(10, 6)
    effects = {name: levels[name] for name in ("site", "year")}
    deviations = {"site": 2.0, "year": 1.5, RESIDUAL: 0.8}
    values = drawn(effects, deviations, -3.0, np.random.default_rng(8))
    table = values.reshape(10, 6)
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    of_site, of_year = 6 * rows.var(ddof=1), 10 * columns.var(ddof=1)
    left = table - rows[:, None] - columns[None, :] + table.mean()
    rest = float((left**2).sum()) / (9 * 5)
    fit = fit_random_effects(values, effects)
    assert fit.variances["site"] == pytest.approx((of_site - rest) / 6, rel=1e-7)
    assert fit.variances["year"] == pytest.approx((of_year - rest) / 10, rel=1e-7)
    assert fit.variances[RESIDUAL] == pytest.approx(rest, rel=1e-7)
    assert fit.error**2 == pytest.approx((of_site + of_year - rest) / 60, rel=1e-7)
    own = (of_site**2 / 9 + of_year**2 / 5 + rest**2 / 45) / (of_site + of_year - rest) ** 2
    assert fit.freedom == pytest.approx(1.0 / own, rel=1e-6)


def test_statsmodels_finds_the_same_maximum() -> None:
    """Its search stops early and warns at a boundary, so that the case is small and inside."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    levels = crossed(8, 5)
    effects = {name: levels[name] for name in ("site", "year")}
    deviations = {"site": 2.0, "year": 1.0, RESIDUAL: 0.7}
    values = drawn(effects, deviations, 4.0, np.random.default_rng(2))
    keep = np.random.default_rng(5).random(len(values)) > 0.2
    fit = fit_random_effects(values[keep], {name: group[keep] for name, group in effects.items()})
    frame = pd.DataFrame({"value": values, **effects})[keep].assign(whole=1)
    formulas = {"site": "0 + C(site)", "year": "0 + C(year)"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = MixedLM.from_formula(
            "value ~ 1", frame, groups="whole", re_formula="0", vc_formula=formulas
        ).fit(reml=True, method="lbfgs")
    assert fit.mean == pytest.approx(float(other.fe_params.iloc[0]), rel=1e-4)
    assert fit.error == pytest.approx(float(other.bse_fe.iloc[0]), rel=1e-3)
    found = [fit.variances["site"], fit.variances["year"], fit.variances[RESIDUAL]]
    assert found == pytest.approx([*other.vcomp, other.scale], rel=1e-2)


def test_known_components_are_found_on_average() -> None:
    effects, rng = crossed(16, 3, 2), np.random.default_rng(11)
    deviations = {"site": 2.0, "repeat": 1.5, "year": 0.0, "site_year": 1.0, RESIDUAL: 0.8}
    fits = [fit_random_effects(drawn(effects, deviations, 2.0, rng), effects) for _ in range(20)]
    means = {name: np.mean([fit.variances[name] for fit in fits]) for name in (*effects, RESIDUAL)}
    for name in ("site", "repeat", "site_year", RESIDUAL):
        assert means[name] == pytest.approx(deviations[name] ** 2, rel=0.35), name
    assert means["year"] < 0.3
    errors = np.mean([fit.error for fit in fits])
    assert np.std([fit.mean for fit in fits], ddof=1) == pytest.approx(errors, rel=0.4)


def test_unit_shift_and_order_of_rows_do_not_matter() -> None:
    effects = crossed(6, 3, 2)
    deviations = dict.fromkeys((*effects, RESIDUAL), 1.0)
    values = drawn(effects, deviations, 1.0, np.random.default_rng(4))
    fit = fit_random_effects(values, effects)
    order = np.random.default_rng(9).permutation(len(values))
    moved = fit_random_effects(
        100.0 * values[order] + 7.0, {name: group[order] + 5 for name, group in effects.items()}
    )
    assert moved.mean == pytest.approx(100.0 * fit.mean + 7.0, rel=1e-9)
    assert moved.error == pytest.approx(100.0 * fit.error, rel=1e-8)
    assert moved.freedom == pytest.approx(fit.freedom, rel=1e-6)
    assert moved.status is fit.status


def test_a_variance_at_the_boundary_is_zero_and_said() -> None:
    """Site means that differ less than chance allows."""
    sites = np.repeat(np.arange(5), 2)
    values = np.tile([-1.0, 1.0], 5) + np.repeat([0.0, 0.01, 0.02, 0.03, 0.04], 2)
    fit = fit_random_effects(values, {"site": sites})
    assert fit.status is FitStatus.SINGULAR
    assert fit.variances["site"] == 0.0
    assert fit.error == pytest.approx(values.std(ddof=1) / np.sqrt(10), rel=1e-9)
    assert fit.freedom == pytest.approx(9.0)


def test_equal_values_and_few_values_have_declared_outcomes() -> None:
    same = fit_random_effects([2.0] * 6, {"site": [0, 0, 1, 1, 2, 2]})
    assert (same.status, same.mean, same.error) == (FitStatus.NO_SPREAD, 2.0, None)
    assert fit_random_effects([1.0, 2.0], {}).status is FitStatus.TOO_FEW
    with pytest.raises(ValueError, match="effect site: 4 levels for 4 values"):
        fit_random_effects([1.0, 2.0, 3.0, 5.0], {"site": [0, 1, 2, 3]})


def test_effects_that_cannot_be_told_apart_are_left_out() -> None:
    both = crossed(5, 3, 2)
    assert separable_effects(both) == ("site", "repeat", "year", "site_year")
    single = crossed(5, 3, 1)
    assert separable_effects(single) == ("site", "year")  # repeat is site, site_year the residual
    one_year = crossed(5, 1, 3)
    assert separable_effects(one_year) == ("site",)
