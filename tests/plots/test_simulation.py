"""The picture of a simulation: says what it shows, the same on every run, without warnings."""

from __future__ import annotations

import dataclasses
import io

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

from slowlab.plots.simulation import draw_simulation
from slowlab.plots.style import figure_bytes
from slowlab.world.simulation import RunOptions, simulate_crop, simulate_year
from tests import simulations
from tests.simulations import plain_weather


def texts(figure):
    return [item.get_text() for item in figure.findobj(Text) if item.get_text()]


@pytest.fixture(scope="module")
def crop():
    simulator = simulations.short_simulator()
    return simulate_crop(simulator, simulator.contract.fixed_reference, plain_weather(8))


@pytest.fixture(scope="module")
def year():
    simulator = simulations.short_simulator()
    options = RunOptions(noise_seed=3)
    policy = simulator.contract.fixed_reference
    return simulate_year(simulator, policy, simulations.plain_year(), options=options)


def test_it_names_weather_policy_margin_and_units(crop):
    shown = " ".join(texts(draw_simulation(crop)))
    for part in (
        "plain test weather",
        "21 °C by day, 17 °C by night",
        f"{abs(crop.mean_margin):.2f} EUR",
        "completed",
        "exact readings",
        "planted 1 Jan",
        "UTC+1",
        "(kWh m$^{-2}$)",
        "(ppm)",
        "Leaf area index",
        "Screen",
    ):
        assert part in shown


def test_a_year_shows_one_crop_of_each_planting(year):
    figure = draw_simulation(year)
    shown = " ".join(texts(figure))
    assert "planted 1 Jan and 7 Jan" in shown
    assert "compartments 0 and 2" in shown
    assert "noisy readings" in shown
    leaf_area = next(a for a in figure.axes if "Leaf area" in a.get_ylabel())
    assert len(leaf_area.lines) == 2


def test_lines_show_the_daily_table(crop):
    figure = draw_simulation(crop)
    harvest = next(a for a in figure.axes if "harvest" in a.get_ylabel())
    assert harvest.lines[0].get_ydata()[-1] == pytest.approx(crop.crops[0].totals.harvest_kg_m2)
    heat = next(a for a in figure.axes if "Heat" in a.get_ylabel())
    ends = [line.get_ydata()[-1] for line in heat.lines]
    totals = crop.crops[0].totals
    assert ends == pytest.approx([totals.heat_kwh_m2, totals.light_kwh_m2])


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_files_are_the_same_whatever_the_users_settings(crop, kind):
    first = figure_bytes(draw_simulation(crop), kind)
    with mpl.rc_context({"font.size": 20, "svg.hashsalt": "other", "axes.grid": False}):
        second = figure_bytes(draw_simulation(crop), kind)
    assert first == second
    assert b"<dc:date>" not in first


def test_a_draft_and_a_lost_crop_are_drawn_too(crop):
    simulator = simulations.short_simulator()
    draft = simulator.contract.model_copy(update={"draft": True})
    failing = dataclasses.replace(
        simulator,
        contract=draft,
        stepper=simulations.FailingStepper(simulator.stepper, 0),
    )
    lost = simulate_crop(failing, simulator.contract.fixed_reference, plain_weather(2))
    shown = " ".join(texts(draw_simulation(lost)))
    assert "DRAFT" in shown
    assert "the integration failed" in shown


def test_two_lines_in_one_axes_differ_in_grey_or_style(year):
    for axes in draw_simulation(year).axes:
        looks = set()
        for line in axes.lines:
            if not line.get_label().startswith("_"):
                red, green, blue = mpl.colors.to_rgb(line.get_color())
                grey = round(0.3 * red + 0.59 * green + 0.11 * blue, 1)
                looks.add((grey, line.get_linestyle()))
        assert len(looks) == len([ln for ln in axes.lines if not ln.get_label().startswith("_")])


def test_the_picture_has_the_width_of_two_columns(crop):
    image = Image.open(io.BytesIO(figure_bytes(draw_simulation(crop), "png")))
    assert image.size[0] == 2160
    assert np.asarray(image).std() > 0
