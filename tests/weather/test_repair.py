from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.weather.repair import Repair, check_monthly_limit, invalid_runs, repair_runs
from slowlab.weather.series import WeatherError

TIMES = np.datetime64("2015-01-14T13:00:00") + np.arange(60) * np.timedelta64(600, "s")


def repair(bad_rows, limit=6):
    values = np.linspace(0.0, 59.0, 60)
    valid = np.ones(60, dtype=bool)
    valid[list(bad_rows)] = False
    values[~valid] = np.nan
    return repair_runs(values, valid, TIMES, "SWD", limit)


def test_a_run_is_replaced_by_the_straight_line_and_logged():
    repaired, log = repair([10, 11, 12, 30])
    np.testing.assert_allclose(repaired, np.linspace(0.0, 59.0, 60))
    assert [entry.time for entry in log][:2] == ["2015-01-14T14:40:00", "2015-01-14T14:50:00"]
    assert log[3] == Repair("SWD", "2015-01-14T18:00:00", None, 30.0)


def test_the_found_value_is_kept_in_the_log():
    values = np.array([60.0, -93.9, 66.8])
    repaired, log = repair_runs(values, values > -10, TIMES[:3], "SWD")
    assert repaired[1] == pytest.approx(63.4)
    assert log[0].found == -93.9
    assert values[1] == -93.9


def test_six_in_a_row_are_repaired_and_seven_refused():
    repair(range(20, 26))
    with pytest.raises(WeatherError, match="SWD: 7 invalid records from 2015-01-14T16:20:00 to"):
        repair(range(20, 27))


@pytest.mark.parametrize("row", [0, 59])
def test_a_run_at_an_end_is_refused(row):
    with pytest.raises(WeatherError, match="touch an end of the series"):
        repair([row])


def test_a_month_may_need_twelve_repairs_over_all_channels():
    month = [Repair("SWD", f"2015-01-{day:02d}T00:00:00", None, 0.0) for day in range(1, 13)]
    check_monthly_limit(month)
    check_monthly_limit([*month, Repair("LWD", "2015-02-01T00:00:00", None, 0.0)])
    with pytest.raises(WeatherError, match="2015-01 needs 13 repairs"):
        check_monthly_limit([*month, Repair("LWD", "2015-01-31T00:00:00", None, 0.0)])


@given(st.lists(st.booleans(), min_size=1, max_size=40))
@settings(deadline=None)
def test_runs_cover_exactly_the_invalid_records(flags):
    valid = np.array(flags)
    runs = invalid_runs(valid)
    covered = {row for first, last in runs for row in range(first, last + 1)}
    assert covered == set(np.flatnonzero(~valid))
    assert all(later[0] > earlier[1] + 1 for earlier, later in pairwise(runs))


@given(st.sets(st.integers(1, 58), max_size=6))
@settings(deadline=None)
def test_valid_records_are_never_changed(bad):
    repaired, log = repair(bad)
    np.testing.assert_allclose(repaired, np.linspace(0.0, 59.0, 60))
    assert len(log) == len(bad)
