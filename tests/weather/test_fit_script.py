"""The parts of the fitting script that need neither its inputs nor minutes."""

import json

import numpy as np
import pytest

from scripts import fit_weather_generator as fit
from slowlab.weather.constants import default_constants, read_packaged
from slowlab.weather.fitting import feasible, latent_correlations, least_noise
from slowlab.weather.targets import load_targets


def test_smoothing_stays_within_its_room():
    rough = 10 + 5 * np.cos(2 * np.pi * np.arange(12) / 12) + np.array([2.0, -2.0] * 6)
    smooth = fit.smooth(rough, absolute=0.5)
    np.testing.assert_allclose(np.abs(smooth - rough), 0.5)
    harmonic = 10 + 5 * np.cos(2 * np.pi * np.arange(12) / 12)
    np.testing.assert_allclose(fit.smooth(harmonic, 0.5), harmonic)


def test_feasible_correlations_leave_room_for_noise():
    rng = np.random.default_rng(4)
    today = np.stack([np.eye(5) + rng.uniform(-0.9, 0.9, (5, 5)) for _ in range(2)])
    lag = np.stack(
        [np.diag(rng.uniform(0.2, 0.9, 5)) + rng.uniform(-0.4, 0.4, (5, 5)) for _ in "ab"]
    )
    fixed_today, fixed_lag = feasible(today, lag)
    for share in np.linspace(0, 1, 11):
        mixed = share * fixed_today[0] + (1 - share) * fixed_today[1]
        assert np.linalg.eigvalsh(mixed)[0] > 0
        assert least_noise(fixed_today, fixed_lag, share) > 0
    np.testing.assert_allclose(np.diagonal(fixed_today, axis1=1, axis2=2), 1.0)


def test_correlations_are_recovered_from_a_generated_year(development_years):
    """One year is noisy; the strong ones must come out with their sign."""
    today, _ = latent_correlations(development_years[0], fit.clear_sky_days(), np.zeros(5))
    constants = default_constants()
    strong = np.abs(constants.correlation) > 0.55
    assert np.all(np.sign(today[strong]) == np.sign(constants.correlation[strong]))


def test_expected_months_are_those_of_generated_years(development_years):
    from slowlab.weather.statistics import describe_year

    expected = fit.expected_months(default_constants())
    for name, room in (("air_temperature_mean_c", 1.5), ("global_radiation_mean_mj_m2_day", 1.8)):
        measured = np.mean([describe_year(y).monthly[name] for y in development_years], axis=0)
        np.testing.assert_allclose(measured, expected[name], atol=room)


def test_expected_months_meet_the_targets():
    expected, monthly = fit.expected_months(default_constants()), load_targets().monthly
    for name, room in (("air_temperature_mean_c", 0.35), ("global_radiation_mean_mj_m2_day", 0.5)):
        np.testing.assert_allclose(expected[name], monthly[name], atol=room)


def test_the_packaged_file_holds_plain_numbers_and_their_basis(tmp_path):
    content = read_packaged("cabauw_like_v1.json")
    assert content["made_by"] == "scripts/fit_weather_generator.py"
    assert "assumed" in content["basis"]["sky.fast, wind.fast"]
    fit.write(tmp_path / "again.json", content)
    assert json.loads((tmp_path / "again.json").read_text("utf-8")) == content


@pytest.mark.parametrize("name", ["air_temperature_mean_c", "global_radiation_sum_mj_m2"])
def test_the_stated_spread_is_about_that_of_the_netherlands(name):
    """About 0.6 K and 3.5 % between years."""
    spread = default_constants().stated_spread[name]
    low, high = {"air_temperature_mean_c": (0.5, 0.7)}.get(name, (110, 165))
    assert low < spread < high
