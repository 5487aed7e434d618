"""The declaration: strict, in agreement with the study, and in charge of the statistics."""

from __future__ import annotations

import pytest

from slowlab.analysis.power import paired_t_power
from slowlab.analysis.study_inputs import MethodInfo, ReaderInfo, StudyDescription
from slowlab.config import ConfigError, override
from slowlab.prereg.agreement import confirmatory_spec, disagreements, too_few_sites
from slowlab.prereg.declaration import load_declaration
from slowlab.prereg.errors import LockError
from tests.prereg.repository import ROOT


@pytest.fixture(scope="module")
def declaration(originals):
    return load_declaration(originals[0])


def describe(*names, readers=()):
    methods = [MethodInfo(name=n, label=n, experiments=n != "fixed_reference") for n in names]
    return StudyDescription(
        study="drill",
        partition="test",
        sites=(0, 1, 2),
        repeats=1,
        feedback=("full", "endpoint"),
        methods=tuple(methods),
        readers=tuple(ReaderInfo(name=name, label=name) for name in readers),
        baseline="prior_bo",
        reference="fixed_reference",
        example_method="prior_bo",
    )


DECLARED = ("fixed_reference", "random_search", "repeat_best", "prior_bo")


def test_the_repositorys_own_declaration_is_sound():
    declaration = load_declaration(ROOT)
    primary = declaration.families[0]
    assert declaration.statistics.tost_bounds_eur_m2 == (-2.0, 2.0)
    assert primary.level(0.05) == 0.05 / len(primary.tests)
    for test, count in declaration.sites_needed().items():
        sd, level = declaration.power.sd_eur_m2[test], primary.level(0.05)
        powers = [paired_t_power(2.0, sd, n, level) for n in (count - 1, count)]
        assert powers[0] < 0.8 <= powers[1]
        assert count <= declaration.design.sites


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"statistics.tost_bounds_eur_m2": [-2.0, 1.0]}, "must be the SESOI with both signs"),
        ({"families.1.seed_offset": 2}, "two tests have the same seed"),
        ({"families.1.groups.0": {"question": "e1", "about": ["repeat_best"]}}, "declared twice"),
        ({"families.0.groups.0.question": "e9"}, "one of e1"),
        ({"power.sd_eur_m2": {"e1.other": 1.0}}, r"e1\.other is no test of the first family"),
        ({"statistics.alpha": 0.7}, "below 0.5"),
        ({"second_look.rope_eur_m2": [-1.0, 1.0]}, "must be statistics.tost_bounds_eur_m2"),
        ({"design.sites": "3"}, "a whole number"),
    ],
)
def test_an_unsound_declaration_is_refused(declaration, changes, words):
    with pytest.raises(ConfigError, match=words):
        override(declaration, changes)


def test_an_unknown_key_is_named(originals, tmp_path):
    folder = tmp_path / "preregistration"
    folder.mkdir()
    text = (originals[0] / "preregistration" / "study.yaml").read_text(encoding="utf-8")
    (folder / "study.yaml").write_text(text.replace("alpha:", "alfa:"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"alfa: unknown key; did you mean 'alpha'\?"):
        load_declaration(tmp_path)


def test_every_number_that_stands_twice_must_agree(declaration, bare):
    config = bare.config
    assert disagreements(declaration, config) == []
    for key, value in (
        ("purpose", "rehearsal"),
        ("sites", 2),
        ("first_site", 1),
        ("repeats", 2),
        ("feedback", ["endpoint", "full"]),
        ("analysis.baseline", "repeat_best"),
        ("analysis.sesoi_eur_m2", 1.0),
        ("analysis.base_seed", 1),
        ("analysis.flips", 2000),
        ("analysis.resamples", 2000),
    ):
        (found,) = disagreements(declaration, override(config, {key: value}))
        assert f"config/drill.yaml: {key} is" in found


def test_n_must_be_large_enough_for_every_primary_test(declaration):
    assert too_few_sites(declaration) == []
    power = declaration.power.model_copy(update={"sd_eur_m2": {"e2.prior_bo": 5.0}})
    wide = declaration.model_copy(update={"power": power})
    found = too_few_sites(wide)
    assert "design.sites is 3, but e2.prior_bo asks for 69" in found[0]
    assert [sentence.rpartition(" ")[2] for sentence in found[1:]] == [
        "e1.random_search",
        "e1.repeat_best",
    ]


def test_the_declared_families_and_numbers_are_those_of_the_analysis(declaration):
    spec = confirmatory_spec(declaration, describe(*DECLARED))
    assert [(f.name, [t.name for t in f.tests]) for f in spec.families[:2]] == [
        ("primary", ["e1.random_search", "e1.repeat_best", "e2.prior_bo"]),
        ("secondary", ["gain.prior_bo"]),
    ]
    assert (spec.base_seed, spec.flips, spec.power, spec.confidence) == (20261004, 1000, 0.8, 0.95)
    assert spec.families[2].name == "exploratory"


def test_what_somebody_adds_is_exploratory_and_moves_nothing(declaration):
    before = confirmatory_spec(declaration, describe(*DECLARED))
    after = confirmatory_spec(declaration, describe(*DECLARED, "mine", readers=["best_observed"]))
    assert after.families[:2] == before.families[:2]
    added = {test.name for test in after.families[2].tests}
    assert {"e1.mine", "e2.mine", "gain.mine", "reader.best_observed"} <= added
    seeds = [
        family.seed(after.base_seed, place)
        for family in after.families
        for place in range(len(family.tests))
    ]
    assert len(set(seeds)) == len(seeds)


def test_a_declared_test_that_the_study_lacks_is_named(declaration):
    with pytest.raises(LockError, match=r"the study has no test e1\.random_search"):
        confirmatory_spec(declaration, describe("fixed_reference", "repeat_best", "prior_bo"))
