"""Pictures of the development stage show the numbers they are given, the same on every run."""

import numpy as np
import pytest

from slowlab.plots.development import (
    PREDICTOR_AGES_DAYS,
    PUBLISHED_LENGTH_SCALES,
    PUBLISHED_PREDICTOR_RMSE_EUR_M2,
    kernel_figure,
    predictor_figure,
)
from slowlab.plots.style import figure_bytes

AGES = [10, 90, 175]
ERRORS = {
    "policy_only": [10.0, 10.0, 10.0],
    "harvest_lai": [9.5, 6.5, 3.5],
    "all": [9.0, 6.0, 2.5],
    "naive": [52.0, 27.0, 1.2],
}
SCALES = {name: 1.1 * value for name, value in PUBLISHED_LENGTH_SCALES.items()}


def line(figure, gid):
    (found,) = [item for item in figure.axes[0].get_lines() if item.get_gid() == gid]
    return np.asarray(found.get_xdata(), float), np.asarray(found.get_ydata(), float)


@pytest.mark.parametrize("name", ERRORS)
def test_predictor_curves_and_published_marks(name):
    figure = predictor_figure(AGES, ERRORS, 20.0)
    x, y = line(figure, name)
    np.testing.assert_array_equal(x, AGES)
    np.testing.assert_array_equal(y, ERRORS[name])
    x, y = line(figure, f"{name}-published")
    np.testing.assert_array_equal(x, PREDICTOR_AGES_DAYS)
    np.testing.assert_array_equal(y, PUBLISHED_PREDICTOR_RMSE_EUR_M2[name])


def test_kernel_rows_show_both_length_scales():
    figure = kernel_figure(SCALES, (0.05, 20.0))
    x, _ = line(figure, "ours")
    np.testing.assert_array_equal(x, list(SCALES.values()))
    x, _ = line(figure, "published")
    np.testing.assert_array_equal(x, list(PUBLISHED_LENGTH_SCALES.values()))


def test_files_are_the_same_on_every_run():
    for draw in (
        lambda: predictor_figure(AGES, ERRORS, 20.0),
        lambda: kernel_figure(SCALES, (0.05, 20.0)),
    ):
        assert figure_bytes(draw(), "svg") == figure_bytes(draw(), "svg")
