import numpy as np
import pytest

from slowlab.weather import read_weather
from slowlab.weather.conversions import longwave_w_m2, saturation_pressure_pa
from slowlab.weather.epw import read_epw
from slowlab.weather.series import WeatherError

HEADER = [
    "LOCATION,Rotterdam,-,NLD,TMYx.2007-2021,063440,51.9600,4.4500,1.0,-4.3",
    "DESIGN CONDITIONS,0",
    "TYPICAL/EXTREME PERIODS,0",
    "GROUND TEMPERATURES,0",
    "HOLIDAYS/DAYLIGHT SAVINGS,No,0,0,0",
    "COMMENTS 1,made for a test",
    "COMMENTS 2,",
    "DATA PERIODS,1,1,Data,Sunday,1/1,12/31",
]


def rows(year="2001", first="2001-01-01", n_hours=8760):
    moments = np.datetime64(f"{first}T00", "h") + np.arange(n_hours)
    lines = []
    for at, moment in enumerate(moments.astype(object)):
        fields = ["9999"] * 35
        fields[:5] = [year, str(moment.month), str(moment.day), str(moment.hour + 1), "60"]
        sun = max(0.0, 400 * np.sin(np.pi * (moment.hour - 6) / 12))
        fields[6], fields[7], fields[12] = str(at % 24), "5.5", "310"
        fields[13], fields[21] = f"{sun:.1f}", "4.2"
        lines.append(fields)
    return lines


def write(tmp_path, data, header=HEADER):
    path = tmp_path / "test.epw"
    text = "\r\n".join([*header, *(",".join(fields) for fields in data)]) + "\r\n"
    path.write_bytes(text.encode("latin-1"))
    return path


def test_an_epw_year(tmp_path):
    year = read_weather(write(tmp_path, rows()))
    assert year.source == "EPW Rotterdam NLD (TMYx.2007-2021)"
    assert year.start == "2001-01-01T00:00:00"
    assert year.provenance["utc_offset_h"] == 1.0
    assert year.provenance["latitude_deg"] == 51.96
    hourly = year.values[1:].reshape(8760, 6, 5).mean(axis=1)
    expected = [max(0.0, 400 * np.sin(np.pi * (hour - 6) / 12)) for hour in range(24)]
    np.testing.assert_allclose(hourly[:24, 0], expected, atol=0.051)
    np.testing.assert_allclose(hourly[3:20, 1], np.arange(3, 20), atol=1e-9)
    assert hourly[0, 3] == pytest.approx(4.2)
    assert longwave_w_m2(hourly[0, 4]) == pytest.approx(310)
    assert year.values[:, 2].max() == pytest.approx(float(saturation_pressure_pa(5.5)))


def test_months_of_different_years_give_the_nominal_year(tmp_path):
    data = rows()
    for fields in data[:744]:
        fields[0] = "2014"
    assert read_epw(write(tmp_path, data)).start == "2001-01-01T00:00:00"
    assert read_epw(write(tmp_path, rows(year="2019"))).start == "2019-01-01T00:00:00"


def test_of_a_leap_year_the_first_365_days_are_read(tmp_path):
    data = rows(year="2016", first="2016-01-01", n_hours=8784)
    year = read_epw(write(tmp_path, data))
    assert year.n_days == 365
    assert year.start == "2016-01-01T00:00:00"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: d[: 300 * 24], r"7200 hourly rows, ends after month 10 day 27 hour 24"),
        (lambda d: d[:100] + d[101:], "expected month 1 day 5 hour 5, found month 1 day 5 hour 6"),
        (lambda d: d[:744] + d[744 + 672 :], "expected month 2 day 1 hour 1, found month 3 day 1"),
        (
            lambda d: [*d[:5], d[4], *d[5:]],
            "expected month 1 day 1 hour 6, found month 1 day 1 hour 5",
        ),
        (lambda d: [], "0 hourly rows"),
        (lambda d: [*d[:9], d[9][:20], *d[10:]], "data row 10 has 20 columns"),
    ],
)
def test_missing_or_repeated_hours_are_named(tmp_path, change, reason):
    with pytest.raises(WeatherError, match=reason):
        read_epw(write(tmp_path, change(rows())))


@pytest.mark.parametrize(
    ("column", "text", "name"),
    [
        (6, "99.9", "dry bulb temperature"),
        (7, "99.9", "dew point temperature"),
        (12, "9999", "horizontal infrared radiation"),
        (13, "9999", "global horizontal radiation"),
        (21, "999", "wind speed"),
        (21, "", "wind speed"),
        (6, "warm", "dry bulb temperature"),
    ],
)
def test_a_missing_value_is_named(tmp_path, column, text, name):
    data = rows()
    data[50][column] = text
    with pytest.raises(WeatherError, match=f"{name} at month 1 day 3 hour 3 is missing"):
        read_epw(write(tmp_path, data))


def test_an_impossible_value_is_named(tmp_path):
    data = rows()
    data[50][13] = "1700"
    with pytest.raises(WeatherError, match="global_radiation_w_m2 at 2001-01-03T02:00:00 = 1700"):
        read_epw(write(tmp_path, data))


def test_a_file_without_location_is_refused(tmp_path):
    with pytest.raises(WeatherError, match="LOCATION"):
        read_epw(write(tmp_path, rows(n_hours=24), header=["nothing", *HEADER[1:]]))
    bad = [HEADER[0].replace("51.9600", "north"), *HEADER[1:]]
    with pytest.raises(WeatherError, match="no numbers for latitude_deg"):
        read_epw(write(tmp_path, rows(), header=bad))
