"""Numbers that are read back from the SVG files of all figures are those of their study.

Every named artist of every figure is expected from the numbers alone, so that neither a number is
missing in a figure nor anything stands in it that no number says.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slowlab.analysis.cell_text import p_text, two_decimals
from slowlab.analysis.numbers_file import write_numbers
from slowlab.analysis.study_numbers import build_numbers
from slowlab.plots.method_style import ordered_methods
from slowlab.plots.study_figures import TITLES, draw
from slowlab.plots.style import figure_bytes
from tests.analysis.synthetic_study import synthetic_inputs
from tests.plots.svg_content import svg_artists, svg_texts, x_values, y_values

ROOT = Path(__file__).parents[2]
METHODS = ("fixed_reference", "random_search", "prior_bo", "grower", "careful")
TOLERANCE = 2e-4
"""Of the width of the axes: coordinates in a file have six decimals of a point."""

type Expected = dict[str, list[float]]


@pytest.fixture(scope="module")
def numbers() -> dict[str, Any]:
    return build_numbers(
        synthetic_inputs(
            METHODS,
            readers=("gp", "grower"),
            example_method="grower",
            timeline_methods=("grower", "careful", "prior_bo"),
            failed=[(1, "random_search", "full", 0)],
            flips=200,
            resamples=200,
            marks=("REHEARSAL",),
        )
    )


@pytest.fixture(scope="module")
def files(numbers) -> dict[str, bytes]:
    return {name: figure_bytes(draw(name, numbers), "svg") for name in TITLES}


def interval(name: str, test: dict[str, Any] | None) -> Iterator[tuple[str, list[float]]]:
    """Mean and interval of an estimate, as far as there are any."""
    if test is None or test["estimate"] is None:
        return
    yield f"{name}-mean", [test["estimate"]]
    if test["ci_low"] is not None:
        yield f"{name}-interval", [test["ci_low"], test["ci_high"]]


def row(name: str, test: dict[str, Any]) -> Iterator[tuple[str, list[float]]]:
    """A row of an interval plot."""
    yield from interval(name, test)
    yield from interval(f"{name}-comparison", test["published"])
    if test["differences"]:
        yield f"{name}-sites", test["differences"]


def contrasts(numbers: dict, question: str, last: tuple[str, ...]) -> Expected:
    """All rows of a question; rows without a test are empty."""
    tests = {t["subject"]: t for t in numbers["tests"].values() if t["question"] == question}
    names = [item["name"] for item in ordered_methods(numbers["methods"], list(last))]
    if len(last) == 1:
        names = [name for name in names if name in tests]
    return {
        gid: values
        for place, name in enumerate(names)
        if name in tests
        for gid, values in row(f"{question}-row{place}", tests[name])
    }


def timeline(campaign: dict[str, Any], rules: dict[str, Any], name: str) -> Expected:
    """Bars of crops and cleaning as their ends, and days of reads."""
    found: Expected = {}
    for place, crop in enumerate(campaign["crops"]):
        found[f"{name}-crop{place}"] = [crop["start_day"], crop["end_day"]]
        clean = min(crop["end_day"] + rules["cleaning_days"], rules["campaign_days"])
        if clean > crop["end_day"]:
            found[f"{name}-cleaning{place}"] = [crop["end_day"], clean]
    if campaign["reads"]:
        found[f"{name}-reads"] = [read["day"] for read in campaign["reads"]]
    return found


def expected_figure1(numbers: dict) -> Expected:
    lines = numbers["timelines"]
    campaign = lines["campaigns"][lines["example_method"]]
    return timeline(campaign, lines, "gantt") | contrasts(numbers, "e1", ("prior_bo",))


def expected_figure3(numbers: dict) -> Expected:
    last = ("prior_bo", "fixed_reference")
    found = contrasts(numbers, "e1", last) | contrasts(numbers, "gain", last)
    found |= contrasts(numbers, "initial", ("prior_bo",))
    for place, item in enumerate(ordered_methods(numbers["methods"], list(last))):
        cell = numbers["resources"][item["name"]][item["feedback"]]
        for what in ("heat", "light"):
            found[f"resources-row{place}-{what}"] = [0.0, cell[f"{what}_kwh_m2"]]
            if cell["published"] is not None:
                published = cell["published"][f"{what}_kwh_m2"]
                found[f"resources-row{place}-published-{what}"] = [published]
    return found


def expected_figure5(numbers: dict) -> Expected:
    found: Expected = {}
    for place, reader in enumerate(numbers["readers"]["readers"]):
        pooled, name = numbers["tests"][f"reader.{reader}"], f"readers-row{place}"
        found |= dict(interval(f"{name}-pooled", pooled))
        found |= dict(interval(f"{name}-published", pooled["published"]))
        swaps = [item for item in numbers["readers"]["swaps"] if item["reader"] == reader]
        for number, item in enumerate(swaps):
            found |= dict(interval(f"{name}-source{number}", item))
    return found


def expected_figure7(numbers: dict) -> Expected:
    lines, found = numbers["timelines"], {}
    for place, name in enumerate(lines["timeline_methods"]):
        found |= timeline(lines["campaigns"][name], lines, f"gantt{place}")
    return found


EXPECTED = {
    "figure1": expected_figure1,
    "figure3": expected_figure3,
    "figure4": lambda numbers: contrasts(numbers, "e2", ("prior_bo",)),
    "figure5": expected_figure5,
    "figure7": expected_figure7,
}
"""Named artists of each figure with axes, and where they stand on the x-axis."""


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_holds_the_numbers_and_nothing_else(name, numbers, files) -> None:
    figure, drawn = draw(name, numbers), svg_artists(files[name])
    figure.draw_without_rendering()
    expected = EXPECTED[name](numbers)
    assert expected
    assert set(drawn) - {"mark", "caption"} == set(expected)
    axes = {
        artist.get_gid(): axis
        for axis in figure.axes
        for artist in [*axis.lines, *axis.patches, *axis.collections]
        if artist.get_gid()
    }
    for gid, values in expected.items():
        axis = axes[gid]
        found = x_values(axis, drawn[gid])
        if len(values) == 1:
            found = sorted({round(value, 9) for value in found})  # a marker and its own line
        elif gid.endswith("-reads"):
            found = found[::2]  # from and to of upright lines
        elif len(found) > len(values):
            found = [min(found), max(found)]  # corners of a bar
        error = TOLERANCE * abs(axis.get_xlim()[1] - axis.get_xlim()[0])
        assert found == pytest.approx(values, abs=error), gid


@pytest.mark.parametrize("name", ["figure1", "figure7"])
def test_crops_stand_in_their_compartments(name, numbers, files) -> None:
    figure, drawn = draw(name, numbers), svg_artists(files[name])
    figure.draw_without_rendering()
    lines = numbers["timelines"]
    shown = [lines["example_method"]] if name == "figure1" else lines["timeline_methods"]
    for place, method in enumerate(shown):
        gid = "gantt" if name == "figure1" else f"gantt{place}"
        for number, crop in enumerate(lines["campaigns"][method]["crops"]):
            heights = y_values(figure.axes[place], drawn[f"{gid}-crop{number}"])
            assert (min(heights) + max(heights)) / 2 == pytest.approx(crop["unit"], abs=0.01)
            assert signed(crop["margin_eur_m2"]) in svg_texts(files[name])


def signed(value: float) -> str:
    """A mean as figures write it."""
    text = two_decimals(value)
    return text.replace("-", "\N{MINUS SIGN}") if value < 0 else f"+{text}" if value else text


def test_means_and_p_values_beside_rows_are_those_of_the_tests(numbers, files) -> None:
    shown = {name: svg_texts(files[name]) for name in ("figure1", "figure3", "figure4", "figure5")}
    places = {"e1": "figure1", "gain": "figure3", "initial": "figure3", "e2": "figure4"}
    checked = 0
    for test in numbers["tests"].values():
        if test["question"] not in places or test["ci_kind"] != "bca":
            continue
        p = p_text(test["p_adjusted"])
        words = f"p < {p[1:]}" if p.startswith("<") else f"p = {p}"
        assert f"{signed(test['estimate'])}, {words}" in shown[places[test["question"]]]
        checked += 1
    assert checked > 6


def test_the_schematic_shows_the_rules_of_the_study(numbers, files) -> None:
    drawn = svg_artists(files["figure2"])
    facts = {(item["group"], item["item"]): item["value"] for item in numbers["environment"]}
    said = [" ".join(drawn[f"campaign-step{place}"].texts) for place in range(6)]
    assert said[0] == (
        f"{facts['interface', 'starts']} starts {facts['interface', 'decision calls']} decisions "
        f"{facts['interface', 'interface calls']} calls in all"
    )
    assert facts["facility", "compartments"] in said[1]
    assert f"{facts['calendar', 'crop']} a crop" in said[1]
    assert f"{facts['calendar', 'cleaning']} cleaning" in said[1]
    assert facts["calendar", "control step"] in said[2]
    assert [words.split(":")[0] for words in drawn["campaign-step3"].texts] == numbers["study"][
        "feedback"
    ]
    assert said[4] == f"{facts['interface', 'analysis tool calls']} calls"
    for day in numbers["timelines"]["scored_plantings"]:
        assert str(day) in said[5]
    assert f"{numbers['study']['scoring_years_per_site']} years a site" in said[5]


def test_crops_of_the_schematic_follow_the_calendar(numbers, files) -> None:
    drawn = svg_artists(files["figure2"])
    facts = {(item["group"], item["item"]): item["value"] for item in numbers["environment"]}
    crop, cleaning = (float(facts["calendar", name].split()[0]) for name in ("crop", "cleaning"))
    latest = float(facts["calendar", "latest start"].split()[1])
    crops = math.floor(latest / (crop + cleaning)) + 1
    units = numbers["timelines"]["compartments"]
    bars = {name: drawn[name].points for name in drawn if name.startswith("campaign-unit")}
    assert set(bars) == {f"campaign-unit{u}-crop{k}" for u in range(units) for k in range(crops)}
    ends = {name: (min(x for x, _ in p), max(x for x, _ in p)) for name, p in bars.items()}
    first, second = ends["campaign-unit0-crop0"], ends["campaign-unit0-crop1"]
    day = (first[1] - first[0]) / crop
    assert second[0] - first[0] == pytest.approx((crop + cleaning) * day, rel=1e-4)
    assert second[1] - second[0] == pytest.approx(crop * day, rel=1e-4)
    assert {ends[f"campaign-unit{unit}-crop0"] for unit in range(units)} == {first}


def test_the_harness_shows_the_counts_of_the_transcripts(numbers, files) -> None:
    drawn, totals = svg_artists(files["figure6"]), numbers["agents"]["totals"]
    stages = [" ".join(drawn[f"harness-stage{place}"].texts) for place in range(4)]
    calls = [int(words.split()[0].replace(",", "")) for words in stages]
    season = totals["calls_season"] + totals["calls_probe"]
    assert calls == [
        totals["calls_initial"],
        totals["calls_design"],
        season,
        totals["calls_final"],
    ]
    assert f"{totals['model_calls']:,} calls" in drawn["harness-box0"].texts
    assert f"{totals['attempts']:,} attempts" in drawn["harness-box2"].texts
    assert f"{totals['format_errors']} format errors" in drawn["harness-box3"].texts
    assert f"{totals['tool_calls']} tool calls" in drawn["harness-box4"].texts
    assert f"{totals['records']:,} records" in drawn["harness-box5"].texts


@pytest.mark.parametrize("name", EXPECTED)
def test_another_number_gives_another_file(name, numbers, files) -> None:
    """A figure that did not depend on its numbers would pass everything above by chance."""
    changed = build_numbers(
        synthetic_inputs(
            METHODS,
            readers=("gp", "grower"),
            example_method="grower",
            timeline_methods=("grower", "careful", "prior_bo"),
            flips=200,
            resamples=200,
            noise=3.0,
            marks=("REHEARSAL",),
        )
    )
    if name == "figure7":
        campaign = changed["timelines"]["campaigns"]["prior_bo"]
        campaign["crops"][0]["end_day"] -= 1
    assert figure_bytes(draw(name, changed), "svg") != files[name]


_DRAW = """
import hashlib, sys
from slowlab.analysis.numbers_file import read_numbers
from slowlab.plots.study_figures import TITLES, draw
from slowlab.plots.style import figure_bytes

numbers = read_numbers(sys.argv[1])
for name in TITLES:
    for kind in sys.argv[2:]:
        print(name, kind, hashlib.sha256(figure_bytes(draw(name, numbers), kind)).hexdigest())
"""


def hashes(path: Path, seed: int, kinds: tuple[str, ...]) -> list[str]:
    """Hashes of all figures, drawn by a process of its own with a seed for the order of sets."""
    command = [sys.executable, "-c", _DRAW, str(path), *kinds]
    environment = {"PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT), "PATH": ""}
    run = subprocess.run(
        command, env=environment, text=True, capture_output=True, check=True, timeout=300
    )
    return run.stdout.splitlines()


@pytest.mark.parametrize(
    "kinds", [("svg",), pytest.param(("svg", "png"), marks=pytest.mark.slow)], ids=len
)
def test_every_figure_is_the_same_in_every_process(kinds, numbers, tmp_path) -> None:
    path = write_numbers(tmp_path / "numbers.json", numbers)
    first = hashes(path, 1, kinds)
    assert len(first) == len(TITLES) * len(kinds)
    assert hashes(path, 2, kinds) == first
