"""The table that says how many sites an effect asks for."""

from __future__ import annotations

import pytest

from slowlab.analysis.power_table import SESOI_SHARES, power_curves, power_table

SDS = {"declared": {"e1.one": 5.07}, "measured": {"e1.one": 5.28, "e1.two": 5.71}}


def test_published_deviations_ask_for_the_published_numbers_of_sites() -> None:
    rows = power_table(SDS, 2.0, (48,), 0.05 / 7, 0.8)
    needed = [row["sites_needed"] for row in rows if row["effect"] == 2.0]
    assert needed == pytest.approx([84, 91, 106], abs=1)
    power = [row["at"][0]["power"] for row in rows if row["effect"] == 2.0]
    assert power == pytest.approx([0.48, 0.43, 0.36], abs=0.01)


def test_every_source_test_and_effect_has_its_row() -> None:
    rows = power_table(SDS, 2.0, (48, 80), 0.05, 0.8)
    assert len(rows) == 3 * len(SESOI_SHARES)
    assert {(row["source"], row["test"]) for row in rows} == {
        ("declared", "e1.one"),
        ("measured", "e1.one"),
        ("measured", "e1.two"),
    }
    for row in rows:
        few, many = row["at"]
        assert few["power"] < many["power"] or few["power"] == pytest.approx(1.0)
        assert few["minimum_detectable"] > many["minimum_detectable"]
        enough = next(
            found["at"][0]["power"]
            for found in power_table(
                {"s": {"t": row["sd"]}}, 2.0, (row["sites_needed"],), 0.05, 0.8
            )
            if found["effect"] == row["effect"]
        )
        assert enough >= 0.8


def test_curves_rise_with_the_number_of_sites() -> None:
    (curve,) = power_curves({"t": 4.0}, 2.0, (8, 16, 32, 64), 0.01).values()
    assert curve == sorted(curve)
    assert curve[0] < 0.2 < 0.8 < curve[-1]
