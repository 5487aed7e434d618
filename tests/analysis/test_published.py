"""Our statistics reproduce every published number that can be computed from published ones."""

from __future__ import annotations

import copy
import json
from importlib.resources import files

import numpy as np
import pytest

from slowlab.analysis.multiplicity import benjamini_hochberg, holm
from slowlab.analysis.power import minimum_detectable_difference, paired_t_power, sites_needed
from slowlab.analysis.published import (
    Version,
    load_published,
    parse_published,
    primary_tests,
    published_table,
    secondary_tests,
)
from slowlab.analysis.results import RESULT_SCHEMA
from slowlab.analysis.scores import mean_over_years
from slowlab.config import ConfigError

VERSIONS = list(Version)
PRIMARY = ("table3_primary", "corrected", "tests")


@pytest.fixture
def content() -> dict:
    return json.loads((files("slowlab.analysis") / "published.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("version", VERSIONS)
def test_every_holm_value_follows_from_its_raw_p(version: Version) -> None:
    tests = primary_tests(version).values()
    assert len(tests) == 7
    adjusted = holm([test.p_sign_flip for test in tests])
    np.testing.assert_allclose(adjusted, [test.p_adjusted for test in tests], rtol=1e-14)


def test_counts_and_largest_deviations_of_all_that_is_reproduced() -> None:
    """All adjusted p-values and all primary means; shown with ``pytest -rP``."""
    published, adjusted, means = load_published(), [], []
    for version in VERSIONS:
        primary, joint = primary_tests(version), secondary_tests(version)
        scores = getattr(published.table3_secondary, version.value).tests
        for family, rule, column in (
            (primary, holm, "p_adjusted"),
            (joint, benjamini_hochberg, "p_bh_joint17"),
            (scores, benjamini_hochberg, "p_bh_without_e3"),
        ):
            ours = rule([test.p_sign_flip for test in family.values()])
            theirs = [getattr(test, column) for test in family.values()]
            adjusted += [abs(a - b) for a, b in zip(ours, theirs, strict=True)]
        by_year = published.primary_by_evaluation_year
        for name, values in getattr(by_year, version.value).means.items():
            mean = mean_over_years(values, by_year.sites_per_year)
            means.append(abs(mean - primary[name].mean))
    print(f"adjusted p-values: {len(adjusted)}, largest deviation {max(adjusted):.1e}")
    print(f"means from yearly means: {len(means)}, largest deviation {max(means):.1e} EUR/m2")
    assert (len(adjusted), len(means)) == (2 * (7 + 17 + 13), 2 * 7)
    assert max(adjusted) < 1e-15
    assert max(means) < 1e-12


@pytest.mark.parametrize("version", VERSIONS)
def test_every_joint_bh_value_follows_from_its_raw_p(version: Version) -> None:
    tests = secondary_tests(version).values()
    assert len(tests) == 17
    adjusted = benjamini_hochberg([test.p_sign_flip for test in tests])
    np.testing.assert_allclose(adjusted, [test.p_bh_joint17 for test in tests], rtol=1e-14)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_bh_value_without_readers_follows_too(version: Version) -> None:
    tests = getattr(load_published().table3_secondary, version.value).tests.values()
    adjusted = benjamini_hochberg([test.p_sign_flip for test in tests])
    assert len(tests) == 13
    np.testing.assert_allclose(adjusted, [test.p_bh_without_e3 for test in tests], rtol=1e-14)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_primary_mean_follows_from_its_yearly_means(version: Version) -> None:
    by_year = load_published().primary_by_evaluation_year
    assert sum(by_year.sites_per_year) == 48 * 3
    for name, means in getattr(by_year, version.value).means.items():
        mean = mean_over_years(means, by_year.sites_per_year)
        assert mean == pytest.approx(primary_tests(version)[name].mean, abs=1e-12)


@pytest.mark.parametrize("version", VERSIONS)
def test_differences_are_those_of_the_mean_scores(version: Version) -> None:
    scores = getattr(load_published().table2_mean_scores, version.value).values
    found = {name: test.mean for name, test in primary_tests(version).items()}
    found |= {name: test.mean for name, test in secondary_tests(version).items()}
    gains = {m: scores[m]["full"] - scores[m]["endpoint"] for m in scores if m[0] != "f"}
    expected = {}
    for model in ("deepseek", "glm", "mimo"):
        full = scores[model]["full"]
        expected[f"E1_{model}_minus_baseline"] = full - scores["baseline"]["full"]
        expected[f"{model}_full_minus_initial"] = full - scores[model]["initial"]
    for method, gain in gains.items():
        expected[f"E2_{method}_full_minus_endpoint"] = gain
        fixed = scores["fixed_reference"]["none"]
        expected[f"{method}_full_minus_fixed_reference"] = scores[method]["full"] - fixed
        for other, its in gains.items():
            expected[f"feedback_gain_{method}_minus_{other}"] = gain - its
    compared = {name for name in found if not name.startswith("E3")}
    assert len(compared) == 20
    for name in compared:
        assert found[name] == pytest.approx(expected[name], abs=1e-12), name


@pytest.mark.parametrize("version", VERSIONS)
def test_detectable_differences_follow_from_the_deviations(version: Version) -> None:
    rows = [(test, 0.05 / 7) for test in primary_tests(version).values()]
    rows += [(test, 0.05) for test in secondary_tests(version).values() if test.sd]
    assert len(rows) == 20
    for test, alpha in rows:
        found = minimum_detectable_difference(test.sd, test.n, alpha)
        assert found == pytest.approx(test.mde_80pct, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "power", "sites"),
    [
        ("E1_deepseek_minus_baseline", 0.48, 84),
        ("E1_glm_minus_baseline", 0.43, 91),
        ("E1_mimo_minus_baseline", 0.36, 106),
        ("E2_deepseek_full_minus_endpoint", 1.00, None),
        ("E2_glm_full_minus_endpoint", 0.95, None),
        ("E2_mimo_full_minus_endpoint", 0.77, None),
        ("E2_baseline_full_minus_endpoint", 0.90, None),
    ],
)
def test_power_at_the_sesoi_with_the_corrected_deviations(name, power, sites) -> None:
    test = primary_tests(Version.CORRECTED)[name]
    assert round(paired_t_power(2.0, test.sd, 48, 0.05 / 7), 2) == power
    if sites is not None:
        assert sites_needed(2.0, test.sd, 0.05 / 7) == sites


def test_headroom_is_the_mean_over_its_sites() -> None:
    headroom = load_published().headroom
    best, fixed = (headroom["columns"].index(c) for c in ("best_known", "fixed_reference"))
    gaps = [row[best] - row[fixed] for row in headroom["sites_corrected"].values()]
    assert np.mean(gaps) == pytest.approx(headroom["mean_headroom_over_fixed_reference"], abs=1e-9)


def test_table_has_the_names_of_our_own_results() -> None:
    table = published_table()
    assert len(table) == 2 * 24
    assert set(table) - {"version"} <= set(RESULT_SCHEMA.columns)
    assert table.notna().all(axis=None) or set(table.columns[table.isna().any()]) == {
        "sd",
        "minimum_detectable",
    }


def test_the_source_is_named_and_no_path_of_a_machine(content: dict) -> None:
    assert "SlowLab" in content["source"]["paper"]
    text = json.dumps(content)
    for word in ("/home", "/root", "/work", "/tmp"):
        assert word not in text


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "other", "format"),
        ((*PRIMARY, "E1_glm_minus_baseline", "p_sign_flip"), 2, "p_sign_flip"),
        (
            (*PRIMARY, "E1_glm_minus_baseline", "mean"),
            9.0,
            "interval",
        ),
        (("primary_by_evaluation_year", "years"), ["2002"], "each year"),
        (("kernel_fit", "crops"), None, "kernel_fit"),
        (("unknown_block",), {}, "unknown"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(content: dict, path, value, message) -> None:
    broken = copy.deepcopy(content)
    target = broken
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    with pytest.raises(ConfigError, match=message):
        parse_published(broken)
