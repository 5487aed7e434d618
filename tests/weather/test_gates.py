import copy
import dataclasses

import numpy as np
import pytest

from slowlab.weather.constants import GeneratorConstants, default_constants, read_packaged
from slowlab.weather.gates import Gate, check_gates, month_figures
from slowlab.weather.sel import level_shift
from slowlab.weather.series import WeatherYear
from slowlab.weather.statistics import (
    CURVE_DRIVERS,
    MONTH_OF_DAY,
    autocorrelation,
    describe_year,
    diurnal_cycles,
    duration_curve,
    seasonal_residuals,
)
from slowlab.weather.targets import load_targets

from .conftest import ordinary_values


def test_a_gate_is_inclusive_and_says_its_margin():
    assert Gate("x", 1.0, 3.0, 3.0).passed
    assert not Gate("x", 1.0, 3.0, 3.1).passed
    assert not Gate("x", 1.0, 3.0, float("nan")).passed
    assert Gate("x", 1.0, 3.0, 2.5).margin == pytest.approx(0.5)
    assert Gate("x", 1.0, 3.0, 4.0).margin == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("shift", "figure"),
    [
        ({"temperature_k": 2.0}, "air_temperature_mean_c, Jan"),
        ({"radiation_factor": 1.2}, "global_radiation_mean_mj_m2_day, Jun"),
        ({"wind_factor": 1.3}, "wind_10m_mean_m_s, mean of years"),
        ({"longwave_w_m2": 20.0}, "longwave_mean_w_m2, mean of years"),
    ],
)
def test_another_climate_is_noticed(development_years, shift, figure):
    """The gates would not pass for any weather: a shifted one fails where it must."""
    none = {"temperature_k": 0.0, "radiation_factor": 1.0, "wind_factor": 1.0, "longwave_w_m2": 0.0}
    descriptions = [
        describe_year(level_shift(year, **(none | shift))) for year in development_years[:12]
    ]
    gates = check_gates(descriptions, load_targets(), default_constants())
    assert figure in {gate.figure for gate in gates if not gate.passed}


def test_shuffled_days_fail_the_memory_gates(development_years):
    order = np.random.default_rng(1).permutation(365)
    descriptions = []
    for year in development_years[:12]:
        days = year.values[1:].reshape(365, 144, 5)
        shuffled = np.concatenate([days[order[MONTH_OF_DAY[order] == m]] for m in range(12)])
        values = np.vstack([year.values[:1], shuffled.reshape(-1, 5)])
        descriptions.append(describe_year(dataclasses.replace(year, values=values)))
    gates = check_gates(descriptions, load_targets(), default_constants())
    missed = {gate.figure for gate in gates if not gate.passed}
    assert "daily residuals, temperature_autocorrelation" in missed
    assert "daily residuals, radiation_autocorrelation" in missed


def test_few_years_are_given_room_for_the_error_of_their_mean(development_years):
    descriptions = [describe_year(year) for year in development_years]
    inputs = (load_targets(), default_constants())
    bare = check_gates(descriptions, *inputs, standard_errors=0.0)
    few = check_gates(descriptions[:6], *inputs)
    many = check_gates(descriptions, *inputs)
    width = [np.mean([gate.high - gate.low for gate in gates[20:]]) for gates in (bare, many, few)]
    assert width[0] < width[1] < width[2]


def test_figures_of_a_constant_year():
    year = WeatherYear("test", "2001-01-01", ordinary_values(1 + 365 * 144))
    with np.errstate(invalid="ignore"):
        figures = describe_year(year)
    np.testing.assert_allclose(figures.monthly["air_temperature_mean_c"], 10.0)
    np.testing.assert_allclose(figures.monthly["global_radiation_mean_mj_m2_day"], 120 * 0.0864)
    np.testing.assert_allclose(figures.monthly["mean_diurnal_range_c"], 0.0, atol=1e-12)
    assert figures.annual["global_radiation_sum_mj_m2"] == pytest.approx(120 * 0.0864 * 365)


def test_residuals_hold_no_season():
    days = np.arange(365)
    daily = 10 + 8 * np.cos(2 * np.pi * days / 365) + np.sin(4 * np.pi * days / 365)
    np.testing.assert_allclose(seasonal_residuals(daily), 0.0, atol=1e-9)
    assert autocorrelation(np.array([1.0, -1.0] * 20), 1) == pytest.approx(-1.0)


def test_month_figures_average_squares_of_spreads(development_years):
    descriptions = [describe_year(year) for year in development_years[:2]]
    name = "global_radiation_sd_mj_m2_day"
    one, other = (description.monthly[name] for description in descriptions)
    expected = np.sqrt((one**2 + other**2) / 2)
    np.testing.assert_allclose(month_figures(descriptions, name), expected)


def test_curves_have_the_shape_of_their_targets(development_years):
    targets = load_targets()
    for name in CURVE_DRIVERS:
        assert diurnal_cycles(development_years[0], name).shape == targets.diurnal[name].shape
        curve = duration_curve(development_years[0], name)
        assert curve.shape == targets.duration[name].shape
        assert np.all(np.diff(curve) <= 0)


def test_targets_carry_their_source_and_the_level_of_cabauw():
    targets = load_targets()
    assert "SEL reference year" in targets.source
    lengths = np.bincount(MONTH_OF_DAY)
    monthly = targets.monthly
    mean = (monthly["air_temperature_mean_c"] * lengths).sum() / 365
    energy = (monthly["global_radiation_mean_mj_m2_day"] * lengths).sum()
    wind = (monthly["wind_mean_m_s"] * lengths).sum() / 365
    assert mean == pytest.approx(10.79, abs=0.02)
    assert energy == pytest.approx(3886, abs=10)
    assert wind == pytest.approx(4.33, abs=0.02)


def test_constants_of_another_shape_are_refused():
    content = read_packaged("cabauw_like_v1.json")
    GeneratorConstants.from_mapping(content)
    renamed = copy.deepcopy(content)
    renamed["latent"]["names"] = renamed["latent"]["names"][::-1]
    with pytest.raises(ValueError, match="latent variables"):
        GeneratorConstants.from_mapping(renamed)
    content["monthly"].pop("diurnal_gain")
    with pytest.raises(ValueError, match="monthly constants"):
        GeneratorConstants.from_mapping(content)
