"""A rehearsal as a file, as tables and as a picture, from a SYNTHETIC finished study."""

from __future__ import annotations

import copy

import pytest

from slowlab.analysis.numbers_file import write_numbers
from slowlab.analysis.rehearsal_file import (
    RehearsalError,
    markdown_document,
    planted_table,
    read_rehearsal,
    require_gates,
    sites_table,
    size_table,
    write_rehearsal,
)
from slowlab.analysis.study_numbers import build_numbers
from slowlab.config import CONFIG_ROOT
from slowlab.plots.rehearsal_plot import rehearsal_figure, write_rehearsal_figure
from slowlab.prereg.declaration import load_declaration
from slowlab.report import rehearsal as module
from slowlab.report.rehearsal import rehearse_study, rehearsed_spec, site_differences
from tests.analysis.synthetic_study import describe, synthetic_inputs

METHODS = ("fixed_reference", "random_search", "global_bo", "prior_bo")


@pytest.fixture(scope="module")
def declaration():
    found = load_declaration(CONFIG_ROOT.parent)
    limits = found.gates.model_copy(update={"rehearsals": 200, "rehearsal_flips": 1_000})
    return found.model_copy(update={"gates": limits})


@pytest.fixture(scope="module")
def inputs():
    return synthetic_inputs(METHODS[:2] + METHODS[3:], sites=24)


@pytest.fixture(scope="module")
def numbers(inputs):
    return build_numbers(inputs)


@pytest.fixture(scope="module")
def rehearsal(tmp_path_factory, declaration, inputs, numbers):
    folder = tmp_path_factory.mktemp("rehearsal")
    path = write_numbers(folder / "numbers.json", numbers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "load_inputs", lambda *_: inputs)
        made = [rehearse_study(None, declaration, folder, path, None) for _ in range(2)]
    files = [write_rehearsal(folder / f"{i}.json", item) for i, item in enumerate(made)]
    assert files[0].read_bytes() == files[1].read_bytes()
    return read_rehearsal(files[0])


def test_it_says_what_was_rehearsed_and_why(rehearsal, declaration):
    assert rehearsal["families"]["source"] == "own"
    assert "no test e1." in rehearsal["families"]["reason"]
    assert rehearsal["study"] == {"name": "synthetic", "marks": ["SYNTHETIC"], "n_sites": 24}
    assert rehearsal["plan"]["sites"] == declaration.design.sites
    assert set(rehearsal["size"]) == {"signs", "labels", "simulated"}
    assert rehearsal["size"]["signs"]["flips"] == declaration.statistics.flips


def test_readers_tests_have_signs_but_no_labels(rehearsal):
    signs, labels = (
        {row["name"]: row for row in rehearsal["size"][way]["families"]}["secondary"]["tests"]
        for way in ("signs", "labels")
    )
    assert signs["reader.gp"] is not None
    assert labels["reader.gp"] is None


def test_sites_are_those_that_the_declaration_asks_for(rehearsal, declaration):
    needed = {
        row["test"]: row["sites_needed"]
        for row in rehearsal["power"]["rows"]
        if row["source"] == "declared" and row["effect"] == declaration.statistics.sesoi_eur_m2
    }
    assert needed == declaration.sites_needed()


def test_declared_families_are_used_where_the_study_has_the_first(declaration, numbers):
    groups = [
        declaration.families[0].groups[0].model_copy(update={"about": ("random_search",)}),
        declaration.families[0].groups[1].model_copy(update={"about": ("prior_bo",)}),
    ]
    family = declaration.families[0].model_copy(update={"groups": tuple(groups)})
    declared = declaration.model_copy(update={"families": (family, declaration.families[1])})
    study = describe(METHODS, 6, 2, ())
    spec, why = rehearsed_spec(declared, study)
    assert why is None
    assert [test.name for test in spec.families[0].tests] == ["e1.random_search", "e2.prior_bo"]
    assert spec.flips == declaration.statistics.flips
    assert [test.name for test in spec.families[1].tests] == list(declaration.families[1].tests)
    found = site_differences(numbers, spec)
    assert "gain.prior_bo" in found
    assert "gain.grower" not in found


def test_own_families_have_the_numbers_of_the_declaration(declaration):
    spec, why = rehearsed_spec(declaration, describe(METHODS, 6, 2, (), alpha=0.2))
    assert why is not None
    assert (spec.alpha, spec.base_seed) == (
        declaration.statistics.alpha,
        declaration.statistics.base_seed,
    )


def test_differences_are_those_of_the_numbers(inputs, numbers, declaration):
    spec, _ = rehearsed_spec(declaration, inputs.study)
    found = site_differences(numbers, spec)
    assert (
        found["e1.random_search"].values.tolist()
        == (numbers["tests"]["e1.random_search"]["differences"])
    )
    assert len(found) == sum(bool(test["sites"]) for test in numbers["tests"].values())


def test_a_missed_gate_is_named_with_limit_and_value(rehearsal):
    passing = copy.deepcopy(rehearsal)
    for gate in passing["gates"]:
        gate |= {"measured": 0.01, "holds": True}
    assert len(require_gates(passing)) == 4
    passing["gates"][1] |= {"measured": 0.31, "holds": False}
    with pytest.raises(RehearsalError, match=r"family-wise error, labels: 0\.3100, at most 0\.06"):
        require_gates(passing)


def test_a_gate_that_cannot_be_missed_says_so(rehearsal):
    hollow = copy.deepcopy(rehearsal)
    for gate in hollow["gates"]:
        gate |= {"holds": True, "can_be_missed": False}
    assert all("too few sites" in line for line in require_gates(hollow))
    assert "too few sites" in markdown_document(hollow)


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"format":"slowlab-numbers-1"}', encoding="utf-8")
    with pytest.raises(RehearsalError, match="slowlab-rehearsal-1"):
        read_rehearsal(path)


def test_tables_hold_every_row(rehearsal):
    assert len(size_table(rehearsal)) == 5
    assert len(planted_table(rehearsal)) == len(rehearsal["planted"])
    assert len(sites_table(rehearsal)) == len(rehearsal["power"]["rows"])
    text = markdown_document(rehearsal)
    assert "**SYNTHETIC.**" in text
    assert "The declared families could not be used" in text


def test_the_picture_shows_the_numbers(rehearsal):
    left, middle, right = rehearsal_figure(rehearsal).axes
    shown = {line.get_gid(): line for axes in (left, middle) for line in axes.lines}
    for way, size in rehearsal["size"].items():
        for family in size["families"]:
            line = shown[f"size-{way}-{family['name']}"]
            assert line.get_ydata().tolist() == [family["share"]]
    for effect in {row["effect"] for row in rehearsal["planted"]}:
        rows = [row for row in rehearsal["planted"] if row["effect"] == effect]
        line = shown[f"planted-{effect:g}"]
        assert line.get_xdata().tolist() == [row["stated"] for row in rows]
        assert line.get_ydata().tolist() == [row["found_first_step"] for row in rows]
    curves = {line.get_gid(): list(line.get_ydata()) for line in right.lines}
    for test, shares in rehearsal["power"]["curves"]["measured"].items():
        assert curves[f"curve-measured-{test}"] == shares


def test_the_picture_is_the_same_on_every_run(rehearsal, tmp_path):
    runs = [[tmp_path / f"{run}.{kind}" for kind in ("svg", "png")] for run in "ab"]
    for paths in runs:
        write_rehearsal_figure(rehearsal, paths)
    for first, second in zip(*runs, strict=True):
        assert first.read_bytes() == second.read_bytes()
