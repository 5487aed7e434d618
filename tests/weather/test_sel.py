import numpy as np
import pandas as pd
import pytest

from slowlab.weather import WeatherYear, level_shift, read_sel, read_weather
from slowlab.weather.conversions import longwave_w_m2, saturation_pressure_pa
from slowlab.weather.sel import SEL_COLUMNS
from slowlab.weather.series import WeatherError


def sel_table():
    hours = np.arange(1, 8761)
    clock = (hours - 0.5) % 24
    warm = 10 - 8 * np.cos(2 * np.pi * hours / 8760)
    return pd.DataFrame(
        {
            "hour_of_year": hours,
            "global_radiation_w_m2": np.maximum(0, 400 * np.cos(np.pi * (clock - 11.7) / 12)),
            "wind_m_s": 3.0,
            "air_temperature_c": warm,
            "sky_temperature_c": warm - 12,
            "relative_humidity_pct": np.where(hours == 7, 100.4, 80.0),
        },
        columns=list(SEL_COLUMNS),
    )


@pytest.fixture
def sel_file(tmp_path):
    path = tmp_path / "sel.csv"
    sel_table().to_csv(path, index=False)
    return path


def noon(series):
    day = series.column("global_radiation_w_m2")[1:].reshape(365, 144).mean(axis=0)
    return float((day * (np.arange(144) + 0.5) / 6).sum() / day.sum())


def test_the_sel_year_is_moved_from_utc_to_local_time(sel_file):
    year = read_weather(sel_file)
    assert isinstance(year, WeatherYear)
    assert year.source == "SEL reference year, De Bilt"
    assert noon(year) == pytest.approx(12.7, abs=0.02)
    assert noon(read_sel(sel_file, utc=False)) == pytest.approx(11.7, abs=0.02)


def test_relative_humidity_is_capped_at_saturation(sel_file):
    year = read_sel(sel_file)
    humidity = year.column("vapour_pressure_pa") / saturation_pressure_pa(
        year.column("air_temperature_c")
    )
    assert humidity.max() <= 1.0 + 1e-12
    assert np.median(humidity) == pytest.approx(0.8, rel=1e-3)


def test_the_level_shift_keeps_relative_humidity(sel_file):
    year = read_sel(sel_file)
    shifted = level_shift(year)
    assert isinstance(shifted, WeatherYear)
    before, after = year.values.T, shifted.values.T
    np.testing.assert_allclose(after[0], before[0] * 1.16)
    np.testing.assert_allclose(after[1], before[1] + 1.4)
    humidity = [vp / saturation_pressure_pa(air) for air, vp in (before[1:3], after[1:3])]
    np.testing.assert_allclose(*humidity)
    np.testing.assert_allclose(after[3], before[3] * 1.38)
    np.testing.assert_allclose(longwave_w_m2(after[4]), longwave_w_m2(before[4]) + 16.5)
    assert "shifted +1.4 K" in shifted.source
    assert shifted.provenance["level_shift"]["wind_factor"] == 1.38


def test_no_shift_changes_nothing_but_the_name(sel_file):
    year = read_sel(sel_file)
    same = level_shift(year, 0.0, 1.0, 1.0, 0.0)
    np.testing.assert_allclose(same.values, year.values, rtol=1e-12, atol=1e-12)


def test_a_shift_beyond_the_bounds_is_refused(sel_file):
    with pytest.raises(WeatherError, match="air_temperature_c at"):
        level_shift(read_sel(sel_file), temperature_k=60.0)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda table: table.drop(columns="wind_m_s"), "column wind_m_s is missing"),
        (lambda table: table.drop(index=4000), "does not run from 1 to 8760"),
        (lambda table: table.iloc[: 300 * 24], "7200 rows"),
        (lambda table: table.iloc[::-1], "does not run from 1 to 8760"),
    ],
)
def test_an_incomplete_sel_file_is_refused(tmp_path, change, reason):
    path = tmp_path / "sel.csv"
    change(sel_table()).to_csv(path, index=False)
    with pytest.raises(WeatherError, match=reason):
        read_sel(path)


def test_a_missing_hour_value_is_named(tmp_path):
    table = sel_table()
    table.loc[4000, "air_temperature_c"] = np.nan
    path = tmp_path / "sel.csv"
    table.to_csv(path, index=False)
    with pytest.raises(WeatherError, match="air_temperature_c at 2001-06-16T17:00:00 is missing"):
        read_sel(path)
