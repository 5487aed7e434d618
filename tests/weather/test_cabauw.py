import json
import os
import shutil

import numpy as np
import pytest

from slowlab.weather import WeatherYear, read_weather
from slowlab.weather.cabauw import (
    available_years,
    files_needed,
    months_needed,
    read_cabauw_year,
    valid_records,
)
from slowlab.weather.cabauw_files import METEO, RADIATION, file_name, read_month_file
from slowlab.weather.conversions import longwave_w_m2, saturation_pressure_pa
from slowlab.weather.series import WeatherError

from .cabauw_months import channel, month_dataset, write_month, write_year

YEAR = 2015


@pytest.fixture(scope="session")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cabauw")
    write_year(folder, YEAR)
    return folder


@pytest.fixture
def folder(archive, tmp_path):
    """A copy of the archive whose files may be replaced."""
    for path in archive.iterdir():
        os.link(path, tmp_path / path.name)
    return tmp_path


def replace(folder, product, month, change, engine="h5netcdf"):
    path = folder / file_name(product, *month)
    data = change(month_dataset(product, *month))
    path.unlink()
    write_month(data, path, engine)


def set_values(channel_name, rows, value):
    def change(data):
        data[channel_name].values[rows] = value
        return data

    return change


def test_a_year_needs_the_december_before():
    assert months_needed(2015)[0] == (2014, 12)
    assert len(files_needed(2015)) == 26
    assert files_needed(2015)[0] == "cesar_surface_meteo_lc1_t10_v1.0_201412.nc"


def test_a_clean_year(archive):
    year = read_cabauw_year(archive, YEAR)
    assert isinstance(year, WeatherYear)
    assert year.source == "KNMI Cabauw 2015, measured"
    assert year.start == "2015-01-01T00:00:00"
    assert year.provenance["repairs"] == []
    assert len(year.provenance["files_sha256"]) == 26
    first = dict(zip(year.frame().columns, year.values[1], strict=True))
    assert first["global_radiation_w_m2"] == 0.0  # 23:00 UTC
    assert first["air_temperature_c"] == pytest.approx(10 + 5 * np.cos(np.pi * 11 / 12), abs=1e-4)
    assert first["vapour_pressure_pa"] == pytest.approx(
        float(saturation_pressure_pa(5.0)), rel=1e-5
    )
    assert first["wind_speed_m_s"] == 4.0
    expected = 320 - 10 * np.cos(np.pi * 11 / 12)
    assert longwave_w_m2(first["sky_temperature_c"]) == pytest.approx(expected, rel=1e-5)


def test_local_noon_is_one_hour_after_that_of_utc(archive):
    year = read_cabauw_year(archive, YEAR)
    day = year.day_records(180)[1:, 0]
    assert int(np.argmax(day)) == 13 * 6
    assert year.values[:, 0].min() == 0.0


def test_the_record_before_the_start_is_of_the_december_before(folder):
    last = 31 * 144 - 7  # 22:50 UTC on 31 December
    replace(folder, METEO, (2014, 12), set_values("F010", last, 11.0))
    year = read_cabauw_year(folder, YEAR)
    assert year.values[0, 3] == 11.0
    assert year.values[1, 3] == 4.0


def test_classic_netcdf_gives_the_same_year(archive, tmp_path):
    write_year(tmp_path, YEAR, engine="scipy")
    assert (tmp_path / files_needed(YEAR)[0]).read_bytes()[:3] == b"CDF"
    assert read_cabauw_year(tmp_path, YEAR).sha256 == read_cabauw_year(archive, YEAR).sha256


def test_a_leap_year_ends_on_30_december(tmp_path):
    write_year(tmp_path, 2016)
    year = read_cabauw_year(tmp_path, 2016)
    assert str(year.frame().index[-1]) == "2016-12-30 23:50:00"


def test_read_weather_takes_a_folder(archive, tmp_path):
    assert available_years(archive) == [2015]
    assert read_weather(archive).source == "KNMI Cabauw 2015, measured"
    with pytest.raises(WeatherError, match=r"26 files for 2017 are missing, the first is cesar"):
        read_weather(archive, year=2017)
    with pytest.raises(WeatherError, match=r"complete Cabauw years here: none"):
        read_weather(tmp_path)


def test_a_short_gap_is_repaired_and_logged(folder):
    replace(folder, RADIATION, (2015, 1), set_values("SWD", 1956, -93.9))
    year = read_cabauw_year(folder, YEAR)
    (repair,) = year.provenance["repairs"]
    assert repair["channel"] == "SWD"
    assert repair["time"] == "2015-01-14T14:00:00"
    assert repair["found"] == pytest.approx(-93.9, rel=1e-6)
    assert year.values[1956 + 6 + 1, 0] == pytest.approx(repair["replaced_by"])


@pytest.mark.parametrize(
    ("channel", "good", "bad"),
    [
        ("TA002", [230.1, 329.9], [12.0, 230.0, 330.0]),
        ("TD002", [220.1, 329.9], [220.0, 330.0]),
        ("F010", [0.0, 69.9], [-0.1, 70.0]),
        ("SWD", [-9.9, 1499.9], [-10.0, 1500.0]),
        ("LWD", [100.1, 599.9], [100.0, 600.0]),
    ],
)
def test_the_bounds_are_open_and_calm_is_valid(channel, good, bad):
    assert valid_records(channel, np.array(good)).all()
    assert not valid_records(channel, np.array([*bad, np.nan, np.inf, -np.inf])).any()


@pytest.mark.parametrize("bad", [331.0, -9999.0])
def test_seven_invalid_records_in_a_row_refuse_the_year(folder, bad):
    replace(folder, METEO, (2015, 3), set_values("TD002", slice(100, 107), bad))
    with pytest.raises(WeatherError, match=r"TD002: 7 invalid records from 2015-03-01T16:40:00"):
        read_cabauw_year(folder, YEAR)


def test_a_run_across_a_month_end_counts_as_one(folder):
    replace(folder, METEO, (2015, 3), set_values("TD002", slice(-4, None), np.nan))
    replace(folder, METEO, (2015, 4), set_values("TD002", slice(0, 4), np.nan))
    with pytest.raises(WeatherError, match=r"TD002: 8 invalid records from 2015-03-31T23:20:00"):
        read_cabauw_year(folder, YEAR)


def test_a_month_with_thirteen_repairs_refuses_the_year(folder):
    replace(folder, RADIATION, (2015, 3), set_values("LWD", slice(0, 1300, 100), np.nan))
    with pytest.raises(WeatherError, match=r"2015-03 needs 13 repairs"):
        read_cabauw_year(folder, YEAR)


def drop_record(data):
    return data.isel(time=slice(1, None))


def shift_time(data):
    hours = data["time"].values + np.float32(1 / 6)
    return data.assign_coords(time=("time", hours, data["time"].attrs))


def break_bounds(data):
    data["time_bnds"].values[7, 1] += 0.01
    return data


def flag_day(data):
    data["valid_dates"].values[4] = 0
    return data


def relabel(name, unit):
    def change(data):
        data[name].attrs["units"] = unit
        return data

    return change


def other_month(data):
    data["time"].attrs["units"] = "hours since 2015-04-01 00:00:00 0:00"
    return data


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (drop_record, "4463 records; the full grid of the month has 4464"),
        (shift_time, "record 0 is at 600.0 s of the month, not at the beginning of its interval"),
        (break_bounds, r"bounds of record 7"),
        (flag_day, "day 5 is not flagged as valid"),
        (relabel("TA002", "degF"), "unit of TA002 is 'degF'"),
        (relabel("F010", "km/h"), "unit of F010 is 'km/h'"),
        (other_month, "unit of time is"),
        (lambda data: data.drop_vars("TD002"), "channel TD002 is missing"),
        (lambda data: data.drop_vars("valid_dates"), "valid_dates is missing"),
        (lambda data: data.drop_vars("time_bnds"), "time_bnds is missing"),
        (lambda data: data.drop_vars("time"), "time is missing"),
    ],
)
def test_file_checks_name_the_file(tmp_path, change, reason):
    path = tmp_path / file_name(METEO, 2015, 3)
    write_month(change(month_dataset(METEO, 2015, 3)), path)
    with pytest.raises(WeatherError, match=rf"meteo_lc1_t10_v1.0_201503.nc: .*{reason}"):
        read_month_file(path, METEO, 2015, 3)


def test_channels_that_contradict_each_other_are_noticed(folder):
    def swap(data):
        data["RH002"] = channel(data["RH002"].values - 40.0, "%")
        return data

    replace(folder, METEO, (2015, 3), swap)
    with pytest.raises(WeatherError, match=r"RH002 differs by 40\.0 points"):
        read_cabauw_year(folder, YEAR)


def test_a_file_without_relative_humidity_is_accepted(folder):
    replace(folder, METEO, (2015, 3), lambda data: data.drop_vars("RH002"))
    assert read_cabauw_year(folder, YEAR).n_days == 365


def test_a_missing_file_is_named(folder):
    (folder / file_name(RADIATION, 2015, 7)).unlink()
    with pytest.raises(WeatherError, match=r"1 files for 2015 are missing.*radiation.*201507.nc"):
        read_cabauw_year(folder, YEAR)


@pytest.mark.parametrize("content", [b"<html>busy</html>", b"", b"\x89HDF\r\n\x1a\nrubbish"])
def test_a_file_that_is_no_netcdf_is_named(tmp_path, content):
    path = tmp_path / file_name(METEO, 2015, 3)
    path.write_bytes(content)
    with pytest.raises(WeatherError, match=r"201503.nc (is not a NetCDF|cannot be read)"):
        read_month_file(path, METEO, 2015, 3)


def test_a_file_changed_after_the_download_is_noticed(folder):
    names = files_needed(YEAR)
    (folder / "manifest.json").write_text(json.dumps({names[3]: {"sha256": "0" * 64}}))
    with pytest.raises(WeatherError, match=rf"{names[3]} is not the file that was downloaded"):
        read_cabauw_year(folder, YEAR)


def test_the_archive_itself_is_left_alone(archive, folder):
    replace(folder, METEO, (2015, 3), flag_day)
    shutil.rmtree(folder)
    assert read_cabauw_year(archive, YEAR).n_days == 365
