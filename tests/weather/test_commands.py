import json

import pytest
from typer.testing import CliRunner

from slowlab.commands.weather import app
from slowlab.plots.style import figure_style, new_figure
from slowlab.weather.constants import default_constants
from slowlab.weather.plots import FIGURE_IN, compare_years, draw_comparison
from slowlab.weather.targets import load_targets

from .conftest import weather_table


def run(*arguments, **options):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


def test_check_says_what_a_file_holds(tmp_path):
    path = tmp_path / "roof.csv"
    weather_table("2021-01-01", 3, 3600).to_csv(path, index=False)
    result = run("check", path)
    assert result.exit_code == 0
    assert "source: roof.csv" in result.output
    assert "days: 3" in result.output
    summary = json.loads(run("check", path, "--json").output)
    assert summary["start"] == "2021-01-01T00:00:00"
    assert 9.0 < summary["drivers"]["air_temperature_c"]["mean"] < 16.0


def test_check_names_the_fault_without_a_traceback(tmp_path):
    path = tmp_path / "roof.csv"
    weather_table("2021-01-01", 3, 3600).drop(columns="wind_speed_m_s").to_csv(path, index=False)
    result = run("check", path)
    assert result.exit_code == 2
    assert "column wind_speed_m_s is missing" in result.stderr
    assert "Traceback" not in result.output


def test_check_can_require_a_whole_year(tmp_path):
    path = tmp_path / "roof.csv"
    weather_table("2021-01-01", 300, 3600).to_csv(path, index=False)
    assert run("check", path).exit_code == 0
    result = run("check", path, "--whole-year")
    assert result.exit_code == 2
    assert "ends at 2021-10-28T00:00:00" in result.stderr


def test_check_of_a_file_that_is_not_there(tmp_path):
    result = run("check", tmp_path / "none.csv")
    assert result.exit_code == 2
    assert "none.csv" in result.stderr


def test_plot_writes_the_same_picture_twice(tmp_path):
    pictures = []
    for name in ("one", "two"):
        result = run("plot", "--years", 2, "--out", tmp_path / name)
        assert result.exit_code == 0, result.output
        assert "development-000 to development-001" in result.output
        assert "of 74 figures within their limits" in result.output
        pictures.append([(tmp_path / f"{name}.{kind}").read_bytes() for kind in ("svg", "png")])
    assert pictures[0] == pictures[1]
    assert pictures[0][1].startswith(b"\x89PNG")


def test_plot_takes_measured_years(tmp_path, development_years):
    files = []
    for at in (0, 1):
        files.append(tmp_path / f"y{at}.parquet")
        development_years[at].frame().to_parquet(files[at])
    result = run("plot", *files, "--out", tmp_path / "picture")
    assert result.exit_code == 0, result.output
    assert "y0.parquet; y1.parquet" in result.output
    assert run("plot", files[0], "--out", tmp_path / "picture").exit_code == 2


@pytest.mark.parametrize("options", [("--pool", "secret"), ("--partition", "A b")])
def test_plot_refuses_unknown_pools(tmp_path, options):
    result = run("plot", *options, "--years", 2, "--out", tmp_path / "picture")
    assert result.exit_code == 2
    assert options[1] in result.stderr


def test_fetch_needs_a_key(tmp_path):
    result = run("fetch", 2017, "--folder", tmp_path, env={"KNMI_API_KEY": ""})
    assert result.exit_code == 2
    assert "KNMI_API_KEY" in result.stderr


def test_the_figure_names_source_and_units_in_every_panel(development_years):
    compared = compare_years(development_years[:3], "three years")
    with figure_style():
        figure = new_figure(*FIGURE_IN)
        draw_comparison(figure, compared, load_targets(), default_constants())
    assert figure.get_suptitle() == "three years"
    panels = figure.axes
    assert len(panels) == 12
    for panel in panels:
        assert panel.get_title(loc="left")
        assert panel.get_ylabel() or panel.get_xlabel()
    texts = " ".join(text.get_text() for text in figure.texts)
    assert "SEL reference year" in texts
