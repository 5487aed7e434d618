"""The second look finds planted effects, stops at its gates, and says what it cannot model."""

from __future__ import annotations

import copy
import runpy
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from slowlab.analysis import second_look_model as model
from slowlab.analysis.numbers_file import FORMAT, write_numbers
from slowlab.analysis.second_look import take_second_look
from slowlab.analysis.second_look_data import Outcome, look_data, moments
from slowlab.analysis.second_look_file import (
    SecondLookError,
    gate_lines,
    read_draws,
    read_second_look,
    require_gates,
    write_draws,
    write_second_look,
)
from slowlab.analysis.second_look_model import Priors, SamplerPlan
from slowlab.analysis.second_look_summary import LookLimits, check_rows, gates, replicated
from slowlab.analysis.second_look_table import second_look_table
from slowlab.plots.second_look_plot import TITLES, draw_second_look_figure
from slowlab.report.second_look_shown import shown_look
from tests.analysis.synthetic_look import EFFECTS, look_numbers

LIMITS = LookLimits((-2.0, 2.0), 0.95, 1.01, 400, 0, (0.5, 2.0))
PRIORS = Priors(5.0, 3.0, 3.0, 0.7)
PLAN = SamplerPlan(chains=4, warm_up=300, draws=500, target_accept=0.9, seed=7, priors=PRIORS)


@pytest.fixture(scope="module")
def numbers():
    return look_numbers(sites=30)


@pytest.fixture(scope="module")
def taken(numbers):
    return take_second_look(numbers, PLAN, LIMITS, None)


def test_planted_effects_lie_within_their_intervals_and_gates_hold(taken):
    look, _ = taken
    assert [gate["holds"] for gate in look["gates"]] == [True] * 4
    assert len(require_gates(look)) == 4
    rows = {row["test"]: row for row in look["tests"]}
    for name, effect in EFFECTS.items():
        assert rows[name]["low"] < effect < rows[name]["high"], name
    assert (rows["e1.a"]["reading"], rows["e1.b"]["p_below"] > 0.8) == ("beyond", True)
    assert rows["e2.a"] | {"outcome": "all_equal", "value": 0.0, "mean": None} == rows["e2.a"]
    for row in rows.values():
        if row["mean"] is not None:
            assert row["p_inside"] + row["p_above"] + row["p_below"] == pytest.approx(1.0)


def test_the_posterior_lies_between_the_mean_over_sites_and_no_effect(taken, numbers):
    for row in taken[0]["tests"]:
        if row["mean"] is not None:
            given = numbers["tests"][row["test"]]["estimate"]
            assert row["mean"] == pytest.approx(given, abs=0.5)
    shared = taken[1]["posterior"]["omega"].mean().item()
    assert 1.3 < shared < 3.0  # 2.0 was planted


def test_other_prior_scales_change_little_where_there_are_many_sites(taken):
    look, _ = taken
    for scale in look["scales"]:
        assert scale["draws"] > LIMITS.smallest_ess
        for test, found in zip(look["modelled"], scale["tests"], strict=True):
            row = next(row for row in look["tests"] if row["test"] == test)
            assert found["mean"] == pytest.approx(row["mean"], abs=0.2)
            assert found["low"] == pytest.approx(row["low"], abs=0.4)


def test_replications_look_like_normal_differences(taken):
    checks = {(row["test"], row["statistic"]): row for row in taken[0]["checks"]}
    assert {name for _, name in checks} == {"sd", "lowest", "highest", "skewness"}
    for row in checks.values():
        assert row["replicated_low"] < row["observed"] < row["replicated_high"]
    skewness = checks["e1.a", "skewness"]
    assert skewness["replicated"] == pytest.approx(0.0, abs=0.1)


def test_an_odd_site_is_noticed_by_the_check():
    numbers = look_numbers(sites=30)
    numbers["tests"]["e1.a"]["differences"][3] += 25.0
    data = look_data(numbers["tests"], numbers["families"][0]["tests"])
    shapes = {"mu": 4, "sigma": 4, "omega": 1, "tau": 2}
    steady = {name: np.full((2, 300, size), 3.0) for name, size in shapes.items()}
    rows = check_rows(data, *replicated(data, model.Fit(steady, {}, ("e1", "e2")), seed=1))
    found = {row["statistic"]: row for row in rows if row["test"] == "e1.a"}
    assert found["skewness"]["share_as_large"] < 0.005
    assert found["highest"]["observed"] > found["highest"]["replicated_high"]
    usual = {row["statistic"]: row for row in rows if row["test"] == "e1.b"}
    assert 0.01 < usual["skewness"]["share_as_large"] < 0.99


def test_files_hold_what_was_written_and_bear_no_time(taken, tmp_path):
    import arviz as az

    look, tree = taken
    path = write_second_look(tmp_path / "second_look.json", look)
    assert read_second_look(path) == look
    written = write_draws(tmp_path / "second_look.nc", tree)
    again = write_draws(tmp_path / "again.nc", read_draws(written))
    assert written.read_bytes() == again.read_bytes()
    with az.from_netcdf(written) as found:
        assert set(found.children) == {
            "posterior",
            "sample_stats",
            "posterior_predictive",
            "observed_data",
        }
        assert not [name for node in found.subtree for name in node.attrs if "created" in name]
        mean = found["posterior"]["mu"].sel(test="e1.a").mean().item()
    row = next(row for row in look["tests"] if row["test"] == "e1.a")
    assert mean == pytest.approx(row["mean"])
    path.write_text("{}")
    with pytest.raises(SecondLookError, match="is not of the form"):
        read_second_look(path)


def test_figures_show_the_numbers(taken, numbers):
    look, _ = taken
    figure = draw_second_look_figure("second_look", numbers, look)
    lines = {line.get_gid(): line for axis in figure.axes for line in axis.get_lines()}
    for row in look["tests"]:
        if row["mean"] is None:
            assert f"{row['test']}-posterior" not in lines
            continue
        assert list(lines[f"{row['test']}-posterior"].get_xdata()) == [row["low"], row["high"]]
        assert list(lines[f"{row['test']}-posterior-mean"].get_xdata()) == [row["mean"]]
        test = numbers["tests"][row["test"]]
        assert list(lines[f"{row['test']}-bca"].get_xdata()) == [test["ci_low"], test["ci_high"]]
    checks = draw_second_look_figure("second_look_checks", numbers, look)
    dots = {line.get_gid(): line for axis in checks.axes for line in axis.get_lines()}
    for row in look["checks"]:
        shown = dots[f"{row['test']}-{row['statistic']}-observed"].get_xdata()
        assert list(shown) == [row["observed"]]


def test_the_table_has_a_row_for_every_declared_test(taken, numbers):
    frame = second_look_table(numbers, taken[0]).set_index("test")
    assert list(frame.index) == numbers["families"][0]["tests"]
    assert frame.loc["e2.a", ["posterior_mean", "reading"]].tolist() == ["", ""]
    assert "all sites equal" in frame.loc["e2.a", "outcome"]
    assert set(frame["mark"]) == {"SYNTHETIC"}


@pytest.mark.parametrize("name", [*TITLES, "second_look_table"])
def test_scripts_draw_only_what_may_be_shown(taken, numbers, tmp_path, monkeypatch, name):
    given = [tmp_path / "numbers.json", tmp_path / "second_look.json"]
    write_numbers(given[0], numbers | {"format": FORMAT})
    suffixes = (".csv", ".md") if name.endswith("table") else (".svg", ".png")
    outputs = [tmp_path / f"{name}{suffix}" for suffix in suffixes]
    script = Path(__file__).parents[2] / "figures" / f"{name}.py"
    monkeypatch.setattr(sys, "argv", list(map(str, [script.name, *given, *outputs])))
    look = copy.deepcopy(taken[0])
    look["gates"][0]["holds"] = False
    write_second_look(given[1], look)
    with pytest.raises(SecondLookError, match="is not shown, it misses r_hat of"):
        runpy.run_path(str(script), run_name="__main__")
    assert not any(path.exists() for path in outputs)
    write_second_look(given[1], taken[0])
    runpy.run_path(str(script), run_name="__main__")
    assert all(path.stat().st_size > 100 for path in outputs)


def test_nothing_is_shown_where_a_gate_is_missed(taken, numbers):
    look = copy.deepcopy(taken[0])
    assert set(shown_look(numbers, look).figures) == set(TITLES)
    look["gates"][1] |= {"measured": 12.0, "holds": False}
    shown = shown_look(numbers, look)
    assert (shown.figures, shown.table) == ({}, None)
    assert "ess_bulk" in shown.missed[0]
    assert "12, at least 400" in shown.missed[0]


def test_a_missed_gate_names_parameter_statistic_value_and_limit():
    row = {"parameter": "mu", "about": "e1.a", "r_hat": 1.0, "ess_bulk": 900.0, "ess_tail": 800.0}
    bad = row | {"about": "e1.b", "r_hat": 1.25, "ess_tail": None}
    found = gates([row, bad], 3, LIMITS)
    with pytest.raises(SecondLookError) as raised:
        require_gates({"gates": found})
    message = str(raised.value)
    assert "r_hat of mu of e1.b: 1.25, at most 1.01" in message
    assert "ess_tail of mu of e1.b: no number, at least 400" in message
    assert "divergences of all chains: 3, at most 0" in message
    assert "ess_bulk" not in message


def test_tests_that_cannot_be_modelled_keep_their_rows():
    numbers = look_numbers(sites=6)
    tests = numbers["tests"]
    tests["e1.b"] |= {"sites": [0, 1], "differences": [1.0, 2.0]}
    tests["e1.c"]["differences"] = [-value for value in tests["e1.a"]["differences"]]
    names = [*numbers["families"][0]["tests"], "e1.absent"]
    data = look_data(tests, names)
    assert {item.name: item.outcome for item in data.outcomes} == {
        "e1.a": Outcome.MODELLED,
        "e1.b": Outcome.TOO_FEW,
        "e1.c": Outcome.SAME,
        "e2.base": Outcome.MODELLED,
        "e2.a": Outcome.ALL_EQUAL,
        "e1.absent": Outcome.NO_DATA,
    }
    same = data.outcomes[2]
    assert (same.twin, same.sign) == ("e1.a", -1)
    assert data.cells == ("base/full",)
    assert data.loadings.tolist() == [[-1.0], [1.0]]


def test_a_study_of_two_sites_has_nothing_to_model_and_misses_no_gate(tmp_path):
    numbers = look_numbers(sites=2)
    look, tree = take_second_look(numbers, PLAN, LIMITS, None)
    assert {row["outcome"] for row in look["tests"]} == {"too_few"}
    assert gate_lines(look) == require_gates(look) == ["no test to model, no gate to miss"]
    assert list(read_draws(write_draws(tmp_path / "draws.nc", tree)).children) == ["observed_data"]
    for name in TITLES:
        axes = draw_second_look_figure(name, numbers, look).axes
        assert any("no test" in text.get_text() for axis in axes for text in axis.texts)
    assert len(second_look_table(numbers, look)) == 5


def _incomplete():
    values = np.random.default_rng(3).normal(1.0, 2.0, (7, 3))
    values[2, 1] = values[5, 0] = np.nan
    loadings = np.array([[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]])
    sigma, omega, tau = np.array([1.0, 2.0, 0.5]), np.array([1.5, 0.7]), np.array([3.0, 3.0, 1.0])
    return values, loadings, sigma, omega, tau


def _dense(values, loadings, sigma, omega, tau):
    """Joint covariance of all differences that there are, with the effects integrated out."""
    sites = len(values)
    own = np.diag(sigma**2) + loadings @ np.diag(omega**2) @ loadings.T
    kept = np.isfinite(values).ravel()
    joint = np.kron(np.eye(sites), own) + np.kron(np.ones((sites, sites)), np.diag(tau**2))
    cross = np.kron(np.ones((1, sites)), np.diag(tau**2))
    return values.ravel()[kept], joint[np.ix_(kept, kept)], cross[:, kept]


def test_the_likelihood_is_the_joint_normal_density_also_with_missing_sites():
    import jax

    values, loadings, sigma, omega, tau = _incomplete()
    with jax.enable_x64(True):
        known = model._arrays(moments(values))
        ours = [
            float(model._log_likelihood(k * sigma, omega, tau, known, loadings)) for k in (1.0, 1.7)
        ]
    theirs = []
    for k in (1.0, 1.7):
        given, joint, _ = _dense(values, loadings, k * sigma, omega, tau)
        theirs.append(multivariate_normal(np.zeros(len(given)), joint).logpdf(given))
    assert ours[1] - ours[0] == pytest.approx(theirs[1] - theirs[0], abs=1e-9)


def test_effects_are_drawn_from_their_conditional_distribution():
    import jax

    values, loadings, sigma, omega, tau = _incomplete()
    given, joint, cross = _dense(values, loadings, sigma, omega, tau)
    mean = cross @ np.linalg.solve(joint, given)
    covariance = np.diag(tau**2) - cross @ np.linalg.solve(joint, cross.T)
    noise = np.random.default_rng(0).standard_normal((20000, 3))
    with jax.enable_x64(True):
        known = model._arrays(moments(values))
        draw = jax.vmap(
            lambda z: model._draw_effects((z, sigma, omega, tau), known, loadings, np.arange(3))
        )
        drawn = np.asarray(draw(noise))
    assert drawn.mean(axis=0) == pytest.approx(mean, abs=0.04)
    assert np.cov(drawn.T) == pytest.approx(covariance, abs=0.05)


def test_moments_do_not_depend_on_the_order_of_a_study_s_sites():
    numbers = look_numbers(sites=9)
    mixed = _permuted(numbers)
    names = numbers["families"][0]["tests"]
    one, two = (look_data(given["tests"], names) for given in (numbers, mixed))
    assert one.sites == two.sites
    assert one.values.tobytes() == two.values.tobytes()


@pytest.mark.slow
def test_the_order_of_rows_changes_no_byte(tmp_path):
    numbers = look_numbers(sites=9)
    made = []
    for name, given in (("one", numbers), ("two", _permuted(numbers))):
        look, tree = take_second_look(given, PLAN, LIMITS, None)
        paths = (
            write_second_look(tmp_path / f"{name}.json", look),
            write_draws(tmp_path / f"{name}.nc", tree),
        )
        made.append([path.read_bytes() for path in paths])
    assert made[0] == made[1]


@pytest.mark.slow
def test_too_few_draws_miss_the_gates():
    plan = replace(PLAN, chains=2, warm_up=3, draws=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        look, _ = take_second_look(look_numbers(), plan, LIMITS, None)
    with pytest.raises(SecondLookError, match=r"ess_bulk of \w+ of \S+: [\d.e-]+, at least 400"):
        require_gates(look)


@pytest.mark.slow
def test_intervals_cover_planted_effects_on_eight_sites():
    covered, plan = [], replace(PLAN, draws=1000)
    for seed in range(6):
        look, _ = take_second_look(look_numbers(8, seed, spread=3.0), plan, LIMITS, None)
        require_gates(look)
        rows = {row["test"]: row for row in look["tests"]}
        covered += [
            rows[name]["low"] < effect < rows[name]["high"] for name, effect in EFFECTS.items()
        ]
    assert np.mean(covered) >= 0.8


def _permuted(numbers):
    mixed = copy.deepcopy(numbers)
    rng = np.random.default_rng(1)
    for test in mixed["tests"].values():
        order = rng.permutation(len(test["sites"]))
        for key in ("sites", "differences"):
            test[key] = [test[key][place] for place in order]
    return mixed
