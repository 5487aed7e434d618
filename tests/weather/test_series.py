import dataclasses
import pickle

import numpy as np
import pytest

from slowlab.weather.series import (
    BOUNDS,
    DRIVERS,
    WeatherError,
    WeatherSeries,
    WeatherYear,
    record_time,
)

from .conftest import ordinary_values


def series(n_days=2, start="2021-03-04T00:00:00", **changes):
    return WeatherSeries("test", start, ordinary_values(1 + 144 * n_days), **changes)


def year_values(n_days=365):
    return ordinary_values(1 + 144 * n_days)


def test_row_0_is_the_ten_minutes_before_the_start():
    assert record_time("2021-01-01T00:00:00", 0) == "2020-12-31T23:50:00"
    frame = series().frame()
    assert str(frame.index[0]) == "2021-03-03 23:50:00"
    assert str(frame.index[1]) == "2021-03-04 00:00:00"
    assert list(frame.columns) == list(DRIVERS)
    assert len(frame) == 289


def test_day_records_start_with_the_record_before_the_day():
    values = ordinary_values(1 + 144 * 3)
    values[:, 1] = np.arange(len(values)) * 0.01
    weather = WeatherSeries("test", "2021-03-04", values)
    day = weather.day_records(1)
    assert day.shape == (145, 5)
    assert day[0, 1] == values[144, 1]
    assert day[-1, 1] == values[288, 1]
    with pytest.raises(IndexError, match=r"day 3 is outside 0\.\.2"):
        weather.day_records(3)


def test_values_are_copied_and_read_only():
    values = ordinary_values(145)
    weather = WeatherSeries("test", "2021-03-04", values)
    values[3, 1] = 99.0
    assert weather.values[3, 1] == 10.0
    with pytest.raises(ValueError, match=r"read-only"):
        weather.values[3, 1] = 99.0
    with pytest.raises(TypeError):
        weather.provenance["seed"] = 1


def test_the_hash_is_of_the_content_alone():
    weather = series()
    same = series(provenance={"file": "elsewhere"})
    assert weather.sha256 == dataclasses.replace(same, source="another name").sha256
    assert weather.sha256 == series(start="2021-03-04").sha256
    assert weather.sha256 != series(start="2021-03-05").sha256
    changed = weather.values.copy()
    changed[7, 3] += 1e-9
    assert weather.sha256 != dataclasses.replace(weather, values=changed).sha256


def test_the_hash_is_the_same_on_every_platform():
    assert series().sha256 == "e98940a2402e5f03ce52c0802a7a7c59a776b7af8c68e50c2387dc280109a0fb"


def test_negative_zero_hashes_as_zero():
    plus, minus = ordinary_values(145), ordinary_values(145)
    plus[5, 0], minus[5, 0] = 0.0, -0.0
    hashes = {WeatherSeries("test", "2021-03-04", values).sha256 for values in (plus, minus)}
    assert len(hashes) == 1


def test_big_endian_and_fortran_arrays_are_the_same_weather():
    values = ordinary_values(145)
    other = np.asfortranarray(values.astype(">f8"))
    assert series(1).sha256 == WeatherSeries("test", "2021-03-04", other).sha256


def test_pickling_keeps_content_and_class():
    year = WeatherYear("test", "2021-01-01", year_values(), {"seed": 4})
    copy = pickle.loads(pickle.dumps(year))
    assert type(copy) is WeatherYear
    assert copy.sha256 == year.sha256
    assert dict(copy.provenance) == {"seed": 4}


def test_column_is_taken_by_name():
    assert series().column("vapour_pressure_pa")[0] == 1000.0
    with pytest.raises(KeyError, match=r"unknown driver 'tOut'"):
        series().column("tOut")


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("side", [0, 1])
def test_a_value_outside_its_bounds_is_named_with_its_time(driver, side):
    values = ordinary_values(145)
    values[10, DRIVERS.index(driver)] = BOUNDS[driver][side]
    WeatherSeries("test", "2021-03-04", values)
    values[10, DRIVERS.index(driver)] += 2 * side - 1
    with pytest.raises(WeatherError, match=rf"{driver} at 2021-03-04T01:30:00 = .* outside"):
        WeatherSeries("test", "2021-03-04", values)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_missing_value_is_named_with_its_time(bad):
    values = ordinary_values(145)
    values[144, 3] = bad
    with pytest.raises(WeatherError, match=r"wind_speed_m_s at 2021-03-04T23:50:00 is missing"):
        WeatherSeries("test", "2021-03-04", values)


@pytest.mark.parametrize("shape", [(145, 4), (144, 5), (1, 5), (0, 5), (146, 5), (145,)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(WeatherError, match=r"shape|records"):
        WeatherSeries("test", "2021-03-04", np.ones(shape))


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ("4 March", "not an ISO date"),
        ("2021-03-04T00:10:00", "not midnight"),
        ("2021-03-04T00:00:00+01:00", "time zone"),
        ("2021-02-29", "not an ISO date"),
    ],
)
def test_other_starts_are_refused(start, reason):
    with pytest.raises(WeatherError, match=reason):
        series(start=start)


def test_a_year_has_365_days_from_1_january():
    with pytest.raises(WeatherError, match=r"has 300 and ends at 2021-10-28T00:00:00"):
        WeatherYear("test", "2021-01-01", year_values(300))
    with pytest.raises(WeatherError, match=r"starts on 1 January, not on 2021-01-02"):
        WeatherYear("test", "2021-01-02", year_values())


def test_a_leap_year_ends_on_30_december():
    leap = WeatherSeries("test", "2020-01-01", year_values(366))
    year = WeatherYear.from_series(leap)
    assert year.n_days == 365
    assert str(year.frame().index[-1]) == "2020-12-30 23:50:00"
