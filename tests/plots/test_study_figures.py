"""Figures of a study: what is drawn is what the numbers say, and nothing runs into anything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from slowlab.analysis.numbers_file import read_numbers, write_numbers
from slowlab.analysis.study_numbers import build_numbers
from slowlab.plots.method_style import method_styles, ordered_methods
from slowlab.plots.study_figures import TITLES, draw, figures_of, write_figure
from slowlab.plots.style import figure_bytes
from tests.analysis.synthetic_study import EFFECTS, READERS, synthetic_inputs, without

FEW = ("fixed_reference", "random_search", "prior_bo")
MODELS = (*FEW, "grower", "careful")


@pytest.fixture(scope="module")
def few():
    return build_numbers(synthetic_inputs(FEW))


@pytest.fixture(scope="module")
def many():
    return build_numbers(
        synthetic_inputs(
            (*EFFECTS, "grower", "careful"),
            sites=6,
            repeats=1,
            readers=(*READERS, "grower"),
            flips=200,
            resamples=200,
            failed=[(3, "random_search", "full", 0)],
            marks=("REHEARSAL", "DRAFT", "STAND-IN"),
        )
    )


@pytest.fixture(scope="module")
def models():
    """A study with language models, one of them a stand-in, as methods and as a reader."""
    return build_numbers(
        synthetic_inputs(
            MODELS,
            readers=("gp", "grower"),
            example_method="grower",
            timeline_methods=("grower", "careful", "prior_bo"),
            marks=("REHEARSAL", "STAND-IN"),
        )
    )


@pytest.fixture(scope="module")
def equal():
    """Without noise every interval is a point, as for a method that reads no records."""
    methods = (*FEW, "two_wave_sobol", "random_search_with_anchor")
    return build_numbers(synthetic_inputs(methods, sites=3, noise=0.0))


@pytest.fixture(scope="module")
def two():
    return build_numbers(synthetic_inputs(FEW, sites=2))


def artists(figure: Figure) -> dict[str, object]:
    """Everything with a name."""
    found = {}
    for axis in figure.axes:
        for artist in [*axis.lines, *axis.patches, *axis.collections, *axis.texts]:
            if artist.get_gid():
                found[artist.get_gid()] = artist
    return found


def x_of(figure: Figure, gid: str) -> list[float]:
    return np.asarray(artists(figure)[gid].get_xdata(), dtype=float).tolist()


def assert_row(figure: Figure, name: str, test: dict) -> None:
    """A row of intervals holds the numbers of its test."""
    assert x_of(figure, f"{name}-mean") == [test["estimate"]]
    assert x_of(figure, f"{name}-interval") == [test["ci_low"], test["ci_high"]]
    assert x_of(figure, f"{name}-sites") == test["differences"]
    if test["published"] is not None:
        published = test["published"]
        assert x_of(figure, f"{name}-comparison-mean") == [published["estimate"]]
        span = [published["ci_low"], published["ci_high"]]
        assert x_of(figure, f"{name}-comparison-interval") == span


def order_of(numbers: dict, question: str, last: list[str]) -> list[str]:
    subjects = [t["subject"] for t in numbers["tests"].values() if t["question"] == question]
    order = ordered_methods(numbers["methods"], last)
    return [item["name"] for item in order if item["name"] in subjects]


@pytest.mark.parametrize("study", ["few", "many"])
def test_intervals_are_read_back(study, request) -> None:
    numbers = request.getfixturevalue(study)
    tests = numbers["tests"]
    for name, question in (("figure1", "e1"), ("figure4", "e2")):
        figure = draw(name, numbers)
        for place, subject in enumerate(order_of(numbers, question, ["prior_bo"])):
            assert_row(figure, f"{question}-row{place}", tests[f"{question}.{subject}"])


@pytest.mark.parametrize("study", ["few", "many"])
def test_comparison_and_resources_are_read_back(study, request) -> None:
    numbers = request.getfixturevalue(study)
    figure = draw("figure3", numbers)
    methods = ordered_methods(numbers["methods"], ["prior_bo", "fixed_reference"])
    for place, item in enumerate(methods):
        for question in ("e1", "gain"):
            test = numbers["tests"].get(f"{question}.{item['name']}")
            if test is None:
                assert f"{question}-row{place}-mean" not in artists(figure)
            else:
                assert_row(figure, f"{question}-row{place}", test)
        cell = numbers["resources"][item["name"]][item["feedback"]]
        for what in ("heat", "light"):
            bar = artists(figure)[f"resources-row{place}-{what}"]
            assert bar.get_width() == cell[f"{what}_kwh_m2"]
    place = [item["name"] for item in methods].index("prior_bo")
    assert x_of(figure, f"resources-row{place}-published-heat") == [94.898]


def test_readers_are_read_back(many) -> None:
    figure = draw("figure5", many)
    for place, reader in enumerate(many["readers"]["readers"]):
        pooled = many["tests"][f"reader.{reader}"]
        assert x_of(figure, f"readers-row{place}-pooled-mean") == [pooled["estimate"]]
        swaps = [item for item in many["readers"]["swaps"] if item["reader"] == reader]
        for number, item in enumerate(swaps):
            assert x_of(figure, f"readers-row{place}-source{number}-mean") == [item["estimate"]]
    assert x_of(figure, "readers-row0-published-mean") == [
        many["tests"]["reader.gp"]["published"]["estimate"]
    ]


def test_timelines_are_read_back(few) -> None:
    figure = draw("figure7", few)
    for place, name in enumerate(few["timelines"]["timeline_methods"]):
        campaign = few["timelines"]["campaigns"][name]
        for number, crop in enumerate(campaign["crops"]):
            bar = artists(figure)[f"gantt{place}-crop{number}"]
            assert bar.get_x() == crop["start_day"]
            assert bar.get_x() + bar.get_width() == pytest.approx(crop["end_day"])
            assert bar.get_y() + bar.get_height() / 2 == pytest.approx(crop["unit"])
        reads = artists(figure)[f"gantt{place}-reads"]
        assert isinstance(reads, LineCollection)
        days = [segment[0][0] for segment in reads.get_segments()]
        assert days == [read["day"] for read in campaign["reads"]]
        assert f"{campaign['n_crops']} crops, {campaign['n_reads']} reads" in (
            figure.axes[place].get_title(loc="left")
        )


def test_what_models_learned_is_read_back(models, few) -> None:
    figure = draw("figure3", models)
    for place, subject in enumerate(("careful", "grower")):
        assert_row(figure, f"initial-row{place}", models["tests"][f"initial.{subject}"])
    assert not [name for name in artists(draw("figure3", few)) if name.startswith("initial")]


def test_the_harness_bears_the_counts_of_the_transcripts(models) -> None:
    figure, totals = draw("figure6", models), models["agents"]["totals"]
    said = {gid: artist.get_text() for gid, artist in artists(figure).items()}
    calls = [
        totals["calls_initial"],
        totals["calls_design"],
        totals["calls_season"] + totals["calls_probe"],
        totals["calls_final"],
    ]
    assert [said[f"harness-stage{place}"] for place in range(4)] == [f"{n:,} calls" for n in calls]
    millions = totals["prompt_characters"] / 1e6
    counts = [
        [f"{totals['model_calls']:,} calls", f"{millions:.1f} M characters"],
        [f"{totals['blocked']} blocked"],
        [
            f"{totals['attempts']:,} attempts",
            f"{totals['failed_attempts']} failed",
            f"USD {totals['cost_usd']:.2f}",
            "+ unknown cost",
        ],
        [
            f"{totals['answers'] - totals['format_errors']:,} parsed",
            f"{totals['format_errors']} format errors",
        ],
        [
            f"{totals['actions']:,} actions",
            f"{totals['invalid_actions']} refused",
            f"{totals['tool_calls']} tool calls",
            f"{totals['tool_errors']} tool errors",
        ],
        [f"{totals['records']:,} records"],
    ]
    assert [said[f"harness-box{place}"].split("\n") for place in range(6)] == counts


def test_large_counts_stay_in_their_boxes(models) -> None:
    known = models["agents"]["totals"]
    grown = {name: value * 500 for name, value in known.items() if name != "faults"}
    figure = draw("figure6", {**models, "agents": {**models["agents"], "totals": grown}})
    figure.draw_without_rendering()
    (axis,) = figure.axes
    boxes = [patch for patch in axis.patches if isinstance(patch, FancyBboxPatch)]
    for place, box in enumerate(boxes):
        inside, text = box.get_window_extent(), artists(figure)[f"harness-box{place}"]
        written_at = text.get_window_extent()
        assert inside.x0 < written_at.x0 < written_at.x1 < inside.x1


def test_a_study_without_models_has_no_figure_of_the_harness(few, models) -> None:
    assert "figure6" not in figures_of(few)
    assert list(figures_of(models)) == list(TITLES)
    assert "no language model" in " ".join(" ".join(written(draw("figure6", few))).split())


@pytest.mark.parametrize("name", ["figure1", "figure3", "figure4", "figure5", "figure7"])
def test_stand_ins_are_called_so_in_every_figure(models, name: str) -> None:
    figure = draw(name, models)
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    texts = [" ".join(text.split()) for text in [*written(figure), *titles]]
    named = [text for text in texts if "grower" in text]
    assert named
    assert all("grower (stand-in)" in text for text in named)
    (caption,) = [text.get_text() for text in figure.texts if text.get_gid() == "caption"]
    said = "Stand-ins are scripted programs, not language models."
    assert said in " ".join(caption.split())


def test_captions_without_stand_ins_do_not_speak_of_them(few) -> None:
    assert "Stand-ins" not in " ".join(written(draw("figure3", few)))


def written(figure: Figure) -> list[str]:
    """All texts of a figure."""
    texts = [text.get_text() for text in figure.texts]
    for axis in figure.axes:
        texts += [text.get_text() for text in axis.texts]
        texts += [label.get_text() for label in axis.get_yticklabels()]
    return texts


@pytest.mark.parametrize("name", TITLES)
def test_every_figure_bears_the_marks(many, name: str) -> None:
    (mark,) = [text for text in draw(name, many).texts if text.get_gid() == "mark"]
    assert mark.get_text() == "REHEARSAL \N{MIDDLE DOT} DRAFT \N{MIDDLE DOT} STAND-IN"


def test_without_marks_there_is_none() -> None:
    numbers = build_numbers(synthetic_inputs(FEW, sites=3, readers=(), marks=()))
    assert not [text for text in draw("figure4", numbers).texts if text.get_gid() == "mark"]


@pytest.mark.parametrize(
    ("study", "name"), list(itertools.product(("few", "many", "equal", "two", "models"), TITLES))
)
def test_nothing_overlaps_or_leaves_the_page(study, name: str, request) -> None:
    figure = draw(name, request.getfixturevalue(study))
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.texts]
    for axis in figure.axes:
        boxes += [text.get_window_extent() for text in axis.texts]
        boxes += [label.get_window_extent() for label in axis.get_yticklabels()]
        boxes += [axis._left_title.get_window_extent(), axis.xaxis.label.get_window_extent()]
    boxes = [box for box in boxes if box.width > 1]
    page = figure.bbox
    for number, box in enumerate(boxes):
        assert page.x0 <= box.x0 < box.x1 <= page.x1
        assert page.y0 <= box.y0 < box.y1 <= page.y1
        for other in boxes[number + 1 :]:
            assert not box.shrunk(0.95, 0.8).overlaps(other.shrunk(0.95, 0.8))


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_same_bytes_on_every_run_and_from_the_file(few, kind: str, tmp_path) -> None:
    again = read_numbers(write_numbers(tmp_path / "numbers.json", few))
    assert figure_bytes(draw("figure3", few), kind) == figure_bytes(draw("figure3", again), kind)


def test_equal_values_are_said_to_be_equal(equal) -> None:
    assert "\N{MINUS SIGN}0.70, all equal" in written(draw("figure4", equal))


def test_one_site_is_said_to_be_one() -> None:
    numbers = build_numbers(synthetic_inputs(FEW, sites=1, repeats=1))
    for name in TITLES:
        text = " ".join(" ".join(written(draw(name, numbers))).split())
        assert "One site: neither intervals nor tests" in text
        assert "p =" not in text.replace("p = 0.44", "").replace("p = 0.064", "")
    assert "e1-row0-interval" not in artists(draw("figure1", numbers))


def test_a_missing_method_is_shown_as_missing() -> None:
    numbers = build_numbers(without(synthetic_inputs(FEW, sites=3), "random_search"))
    for name in TITLES:
        assert isinstance(draw(name, numbers), Figure)
    assert "no data" in written(draw("figure1", numbers))
    assert "no campaign" in written(draw("figure7", numbers))


def test_without_endpoint_feedback_readers_or_other_methods() -> None:
    numbers = build_numbers(
        synthetic_inputs(("fixed_reference", "prior_bo"), sites=3, readers=(), feedback=("full",))
    )
    for name in TITLES:
        assert isinstance(draw(name, numbers), Figure)
    assert "not compared" in written(draw("figure4", numbers))
    assert "no readers" in written(draw("figure5", numbers))


def test_methods_can_be_told_apart_in_grey(many) -> None:
    styles = method_styles([item for item in many["methods"] if item["experiments"]])
    assert len({style.marker for style in styles.values()}) == len(styles)


def test_files_are_written_by_suffix(few, tmp_path) -> None:
    paths = [tmp_path / "figure4.svg", tmp_path / "figure4.png"]
    write_figure("figure4", few, paths)
    assert paths[0].read_bytes().startswith(b"<?xml")
    assert paths[1].read_bytes().startswith(b"\x89PNG")
