import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from slowlab.weather.conversions import (
    dew_point_c,
    longwave_w_m2,
    saturation_pressure_pa,
    sky_temperature_c,
)
from slowlab.weather.resample import keep_interval_energy, series_from_records
from slowlab.weather.series import WeatherError

from .conftest import ordinary_values


def times(start, n_records, step_s):
    return np.datetime64(start, "s") + np.arange(n_records) * np.timedelta64(step_s, "s")


def daylight(n_hours):
    hours = np.arange(n_hours) % 24
    return np.maximum(0.0, 600.0 * np.sin(np.pi * (hours - 6) / 12))


def test_five_minute_records_become_means():
    values = ordinary_values(288)
    values[:, 1] = np.arange(288) * 0.1
    series = series_from_records(times("2021-05-01", 288, 300), values, "test")
    np.testing.assert_allclose(series.values[1:, 1], 0.05 + 0.2 * np.arange(144), atol=1e-12)
    assert series.provenance["record_before_start"] == "copy of the first record"


def test_records_before_midnight_give_the_record_before_the_start():
    values = ordinary_values(2 + 288)
    values[:2, 1] = (5.0, 7.0)
    series = series_from_records(times("2021-04-30T23:50:00", 290, 300), values, "test")
    assert series.start == "2021-05-01T00:00:00"
    assert series.values[0, 1] == 6.0
    assert "record_before_start" not in series.provenance


def test_hourly_radiation_keeps_the_energy_of_every_hour_and_the_night_dark():
    values = ordinary_values(48)
    values[:, 0] = daylight(48)
    series = series_from_records(times("2021-05-01", 48, 3600), values, "test", cyclic=True)
    fine = series.values[1:, 0].reshape(48, 6)
    np.testing.assert_allclose(fine.mean(axis=1), values[:, 0], rtol=1e-12)
    assert np.all(fine[values[:, 0] == 0.0] == 0.0)
    assert np.all(fine >= 0.0)


def test_hourly_temperature_runs_straight_between_the_middles_of_the_hours():
    values = ordinary_values(24)
    values[:, 1] = np.arange(24)
    series = series_from_records(times("2021-05-01", 24, 3600), values, "test")
    at = (np.arange(144) + 0.5) / 6 - 0.5
    np.testing.assert_allclose(series.values[1:, 1], np.clip(at, 0, 23), atol=1e-12)


def test_a_typical_year_is_closed_on_itself():
    values = ordinary_values(24)
    values[-1, 3] = 10.0
    series = series_from_records(times("2021-05-01", 24, 3600), values, "test", cyclic=True)
    assert series.values[1, 3] == pytest.approx(4.0 + 6.0 * 2.5 / 6)
    assert series.values[0, 3] == series.values[-1, 3] > 6.0


def test_interpolated_vapour_pressure_stays_below_saturation():
    values = ordinary_values(24)
    values[:, 1] = np.where(np.arange(24) % 2, 2.0, 20.0)
    values[:, 2] = saturation_pressure_pa(values[:, 1])
    series = series_from_records(times("2021-05-01", 24, 3600), values, "test")
    saturated = saturation_pressure_pa(series.values[:, 1])
    assert np.all(series.values[:, 2] <= saturated * (1 + 1e-12))


@given(arrays(np.float64, 12, elements=st.floats(0, 1000)), st.integers(1, 6))
@settings(deadline=None)
def test_energy_is_kept_for_any_radiation(means, per_interval):
    rough = np.interp(np.arange(12 * per_interval) / per_interval, np.arange(12), means)
    fine = keep_interval_energy(rough, means).reshape(12, per_interval)
    positive = rough.reshape(12, per_interval).mean(axis=1) > 0
    np.testing.assert_allclose(fine.mean(axis=1)[positive], means[positive], rtol=1e-9, atol=1e-12)
    assert np.all(fine >= 0)


@given(st.floats(-40, 50))
def test_dew_point_inverts_saturation(temperature):
    assert dew_point_c(saturation_pressure_pa(temperature)) == pytest.approx(temperature, abs=1e-9)


@given(st.floats(100, 600))
def test_sky_temperature_inverts_longwave(longwave):
    assert longwave_w_m2(sky_temperature_c(longwave)) == pytest.approx(longwave)


def test_saturation_pressure_is_that_of_steam_tables():
    assert saturation_pressure_pa(20.0) == pytest.approx(2339.0, rel=1e-2)
    assert saturation_pressure_pa(0.0) == pytest.approx(611.0, rel=1e-2)


def broken_grid(change):
    stamps = times("2021-05-01", 72, 3600)
    return change(list(stamps))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda t: t[:10] + t[11:], "1 records are missing: 2021-05-01T10:00:00 to 2021-05-01T10"),
        (lambda t: t[:5] + t[30:], "25 records are missing: 2021-05-01T05:00:00 to 2021-05-02T05"),
        (lambda t: t[:10] + t[9:], "time 2021-05-01T09:00:00 appears twice .*daylight saving"),
        (
            lambda t: [t[1], t[0], *t[2:]],
            "time goes back from 2021-05-01T01:00:00 to 2021-05-01T00",
        ),
        (lambda t: [*t[:5], t[5] + np.timedelta64(60, "s"), *t[6:]], "step changes from 3600 s to"),
        (lambda t: [*t[:3], np.datetime64("NaT", "s"), *t[4:]], "time of record 4 is missing"),
        (lambda t: t[:1], "1 records are too few"),
        (lambda t: t[::4], "step of 14400 s from 2021-05-01T00:00:00"),
        (lambda t: [s + np.timedelta64(600, "s") for s in t], "not a multiple of the step of 3600"),
        (lambda t: t[:-1], "end at 2021-05-03T23:00:00, not at the end"),
    ],
)
def test_irregular_times_are_named(change, reason):
    stamps = np.array(broken_grid(change), dtype="datetime64[s]")
    with pytest.raises(WeatherError, match=reason):
        series_from_records(stamps, ordinary_values(len(stamps)), "test")


def test_a_month_without_records_is_named():
    stamps = times("2021-01-01", 365 * 24, 3600)
    kept = (stamps < np.datetime64("2021-04-01")) | (stamps >= np.datetime64("2021-05-01"))
    with pytest.raises(
        WeatherError, match="720 records are missing: 2021-04-01T00:00:00 to 2021-04"
    ):
        series_from_records(stamps[kept], ordinary_values(int(kept.sum())), "test")


def test_values_are_checked_before_they_are_averaged():
    values = ordinary_values(288)
    values[100, 2] = np.nan
    with pytest.raises(WeatherError, match="vapour_pressure_pa at 2021-05-01T08:20:00 is missing"):
        series_from_records(times("2021-05-01", 288, 300), values, "test")


def test_a_vapour_pressure_in_hpa_is_suspected():
    values = ordinary_values(72)
    values[:, 2] = 10.0
    with pytest.raises(WeatherError, match="hPa or kPa"):
        series_from_records(times("2021-05-01", 72, 3600), values, "test")


def test_days_without_any_light_are_suspected():
    values = ordinary_values(96)
    values[:, 0] = 0.0
    with pytest.raises(WeatherError, match="nothing would grow"):
        series_from_records(times("2021-05-01", 96, 3600), values, "test")
