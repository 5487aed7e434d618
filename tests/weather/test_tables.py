import numpy as np
import pandas as pd
import pytest

from slowlab.weather import bleiswijk_winter, read_weather, read_weather_year
from slowlab.weather import tables as tables_module
from slowlab.weather.series import DRIVERS, WeatherError, WeatherYear
from slowlab.weather.tables import read_csv, read_greenlight_csv, read_parquet

from .conftest import weather_table


def write(tmp_path, table, name="weather.csv", **options):
    path = tmp_path / name
    table.to_csv(path, index=False, **options)
    return path


@pytest.mark.parametrize("step_s", [60, 300, 600, 1800, 3600])
def test_every_accepted_step_gives_ten_minute_records(tmp_path, step_s):
    table = weather_table("2021-01-01", 2, step_s)
    series = read_csv(write(tmp_path, table))
    assert series.n_days == 2
    assert series.source == "weather.csv"
    mean = table["global_radiation_w_m2"].mean()
    assert series.column("global_radiation_w_m2")[1:].mean() == pytest.approx(mean, rel=1e-9)


def test_a_series_survives_its_own_table(tmp_path, development_years):
    year = development_years[0]
    path = tmp_path / "year.csv"
    year.frame().to_csv(path)
    assert read_weather_year(path).sha256 == year.sha256
    year.frame().to_parquet(tmp_path / "year.parquet")
    assert read_weather_year(tmp_path / "year.parquet").sha256 == year.sha256


def test_columns_are_taken_by_name_and_others_ignored(tmp_path):
    table = weather_table("2021-01-01", 2, 600)
    shuffled = table[["sky_temperature_c", "time", *reversed(DRIVERS[:4])]].assign(rain_mm=1.0)
    plain, mixed = write(tmp_path, table, "a.csv"), write(tmp_path, shuffled, "b.csv")
    assert read_csv(plain).sha256 == read_csv(mixed).sha256


def test_byte_order_mark_crlf_comments_and_blanks_in_names_are_accepted(tmp_path):
    table = weather_table("2021-01-01", 2, 600)
    plain = read_csv(write(tmp_path, table)).sha256
    text = "# measured on the roof\n" + table.to_csv(index=False, lineterminator="\n")
    windows = text.replace(",air_temperature_c", ", air_temperature_c").replace("\n", "\r\n")
    path = tmp_path / "windows.csv"
    path.write_bytes(b"\xef\xbb\xbf" + windows.encode())
    assert read_weather(path).sha256 == plain


def test_times_with_an_offset_are_converted_to_local_time(tmp_path):
    table = weather_table("2021-06-01", 2, 600)
    plain = read_csv(write(tmp_path, table)).sha256
    local = pd.to_datetime(table["time"]).dt.tz_localize("+01:00")
    for zone in ("UTC", "Europe/Amsterdam"):
        table["time"] = local.dt.tz_convert(zone).map(lambda moment: moment.isoformat())
        assert read_csv(write(tmp_path, table, "zone.csv")).sha256 == plain


@pytest.mark.parametrize("column", ["time", *DRIVERS])
def test_a_missing_column_is_named(tmp_path, column):
    table = weather_table("2021-01-01", 2, 600).drop(columns=column)
    with pytest.raises(WeatherError, match=f"column {column} is missing; found: "):
        read_csv(write(tmp_path, table))


def test_a_column_that_appears_twice_is_refused(tmp_path):
    table = weather_table("2021-01-01", 2, 600)
    text = table.to_csv(index=False)
    header, rest = text.split("\n", 1)
    path = tmp_path / "twice.csv"
    path.write_text(header.replace("wind_speed_m_s", " air_temperature_c") + "\n" + rest)
    with pytest.raises(WeatherError, match=r"wind_speed_m_s is missing|appears twice"):
        read_csv(path)


@pytest.mark.parametrize("text", ["", "NaN", "n/a", "10,5", "-"])
def test_a_value_that_is_no_number_is_named_with_its_time(tmp_path, text):
    table = weather_table("2021-01-01", 2, 3600).astype(object)
    table.loc[30, "air_temperature_c"] = text
    with pytest.raises(
        WeatherError, match=r"air_temperature_c at 2021-01-02T06:00:00 is missing or"
    ):
        read_csv(write(tmp_path, table))


def test_a_fill_value_is_named_with_its_time(tmp_path):
    table = weather_table("2021-01-01", 2, 3600)
    table.loc[30, "wind_speed_m_s"] = -999.0
    with pytest.raises(WeatherError, match=r"wind_speed_m_s at 2021-01-02T06:00:00 = -999 is outs"):
        read_csv(write(tmp_path, table))


def test_a_file_that_ends_on_day_300_is_no_year(tmp_path):
    path = write(tmp_path, weather_table("2021-01-01", 300, 3600))
    with pytest.raises(WeatherError, match=r"300 and ends at 2021-10-28T00:00:00"):
        read_weather_year(path)


def test_a_file_that_stops_within_a_day_is_refused(tmp_path):
    table = weather_table("2021-01-01", 2, 3600).iloc[:-5]
    with pytest.raises(WeatherError, match=r"end at 2021-01-02T19:00:00, not"):
        read_csv(write(tmp_path, table))


def test_a_missing_hour_is_named(tmp_path):
    table = weather_table("2021-03-27", 3, 3600).drop(index=26)
    with pytest.raises(WeatherError, match=r"1 records are missing: 2021-03-28T02:00:00"):
        read_csv(write(tmp_path, table))


@pytest.mark.parametrize("text", ["", "yesterday", "32-01-2021 00:00"])
def test_a_time_that_is_none_is_refused(tmp_path, text):
    table = weather_table("2021-01-01", 2, 3600)
    table.loc[3, "time"] = text
    with pytest.raises(WeatherError, match=r"time of record 4 is missing|not an ISO date"):
        read_csv(write(tmp_path, table))


def test_a_table_without_records_is_refused(tmp_path):
    with pytest.raises(WeatherError, match=r"too few"):
        read_csv(write(tmp_path, weather_table("2021-01-01", 2, 3600).iloc[:0]))


def test_parquet_with_times_as_times(tmp_path):
    table = weather_table("2021-01-01", 2, 600)
    plain = read_csv(write(tmp_path, table)).sha256
    table["time"] = pd.to_datetime(table["time"])
    table.to_parquet(tmp_path / "weather.parquet")
    assert read_parquet(tmp_path / "weather.parquet").sha256 == plain
    assert read_weather(tmp_path / "weather.parquet").sha256 == plain


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"day;month\n1;2\n", "separate columns with commas"),
        (b"once upon a time", "no known weather format"),
        (b"\x89HDF\r\n", "folder of KNMI months"),
    ],
)
def test_unknown_files_are_refused(tmp_path, content, reason):
    path = tmp_path / "weather.csv"
    path.write_bytes(content)
    with pytest.raises(WeatherError, match=reason):
        read_weather(path)


# --- GreenLight ----------------------------------------------------------------------------------


def greenlight_text(n_records=288, vapour=1000.0):
    header = (
        "Time,tOut,vpOut,co2Out,wind,tSky,tSoOut,iGlob,dayRadSum,isDay,isDaySmooth,hElevation\n"
        "Time since start of data,Outdoor temperature,-,-,-,-,-,-,-,-,-,-\n"
        "s,\xb0C,Pa,mg m**-3,m s**-1,\xb0C,\xb0C,W m**-2,MJ m**-2,-,-,m above sea level\n"
    )
    rows = [
        f"{300 * row},{row * 0.01},{vapour},760,3.5,-5,8,100,2.5,1,1,0" for row in range(n_records)
    ]
    return header + "\n".join(rows) + "\n"


def greenlight_file(tmp_path, name="from_20091020.csv", **content):
    path = tmp_path / name
    path.write_text(greenlight_text(**content), encoding="latin-1")
    return path


def test_greenlight_files_are_averaged_and_mapped_by_name(tmp_path):
    series = read_weather(greenlight_file(tmp_path))
    assert series.start == "2009-10-20T00:00:00"
    expected = [100.0, 0.005, 1000.0, 3.5, -5.0]
    np.testing.assert_allclose(series.values[1], expected)


def test_greenlight_files_hold_no_date(tmp_path):
    path = greenlight_file(tmp_path, "winter.csv")
    with pytest.raises(WeatherError, match=r"winter.csv holds no date"):
        read_weather(path)
    assert read_weather(path, start="2015-02-03").start == "2015-02-03T00:00:00"


def test_greenlight_columns_are_required(tmp_path):
    path = tmp_path / "from_20091020.csv"
    path.write_text(greenlight_text().replace("tSky", "sky"), encoding="latin-1")
    with pytest.raises(WeatherError, match=r"column tSky is missing"):
        read_weather(path)


def test_impossible_records_are_repaired_only_when_asked(tmp_path):
    path = greenlight_file(tmp_path)
    path.write_text(
        greenlight_text().replace("300,0.01,1000.0", "300,0.01,0.02"), encoding="latin-1"
    )
    with pytest.raises(WeatherError, match=r"vapour_pressure_pa at 2009-10-20T00:05:00 = 0.02"):
        read_greenlight_csv(path, "2009-10-20")
    series = read_greenlight_csv(path, "2009-10-20", repair=True)
    (repair,) = series.provenance["repairs"]
    assert repair["found"] == 0.02
    assert repair["replaced_by"] == 1000.0


def test_the_bleiswijk_winter():
    winter = bleiswijk_winter()
    assert not isinstance(winter, WeatherYear)
    assert winter.n_days == 111
    assert winter.start == "2009-10-20T00:00:00"
    assert "Bleiswijk" in winter.source
    assert winter.sha256 == "5dcbd1dfda51cbf4d1ef59cf1acf020b99c099b6400c1817a94d3b5ad8fa554d"
    assert [repair["time"] for repair in winter.provenance["repairs"]] == ["2009-11-08T05:15:00"]
    means = winter.values[1:].mean(axis=0)
    np.testing.assert_allclose(means, [32.776, 4.885, 798.32, 3.140, -2.689], rtol=1e-3)


def test_without_greenlight_the_winter_says_what_is_missing(monkeypatch):
    def absent(name):
        raise tables_module.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(tables_module.metadata, "distribution", absent)
    with pytest.raises(WeatherError, match=r"part of the package greenlight"):
        bleiswijk_winter()
