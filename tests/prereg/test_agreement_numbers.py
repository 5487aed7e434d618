"""A locked study's numbers follow the declaration, whatever the study file says."""

from dataclasses import replace

from slowlab.analysis.study_families import analysis_spec, declared_tests
from slowlab.analysis.study_numbers import build_numbers
from slowlab.plan.study import load_study
from slowlab.prereg.agreement import disagreements
from slowlab.prereg.declaration import load_declaration
from slowlab.report.study import describe_study
from slowlab.world.contract import load_contract
from slowlab.world.site_distribution import load_sites
from tests.analysis.synthetic_study import synthetic_inputs
from tests.prereg.repository import ROOT


def test_declared_families_take_the_place_of_the_studys_own():
    inputs = synthetic_inputs(sites=3, readers=())
    own = analysis_spec(inputs.study)
    first, *others = own.families
    kept = first.model_copy(update={"tests": first.tests[:1], "name": "declared"})
    moved = first.model_copy(update={"tests": first.tests[1:], "name": "exploratory"})
    declared = own.model_copy(update={"families": (kept, moved, *others)})
    before, after = build_numbers(inputs), build_numbers(replace(inputs, declared=declared))
    assert [family["name"] for family in after["families"][:2]] == ["declared", "exploratory"]
    assert after["families"][0]["tests"] == before["families"][0]["tests"][:1]
    name = after["families"][0]["tests"][0]
    raw, adjusted = (after["tests"][name][key] for key in ("p", "p_adjusted"))
    assert adjusted == raw, "alone in its family"
    assert before["tests"][name]["p"] == raw


def test_the_repositorys_study_agrees_with_its_declaration():
    declaration = load_declaration(ROOT)
    study = load_study(ROOT / declaration.config)
    assert disagreements(declaration, study) == []
    known = {
        test.contrast.name
        for test in declared_tests(describe_study(study, load_contract(), load_sites()))
    }
    declared = {name for family in declaration.families for name in family.tests}
    assert declared <= known
