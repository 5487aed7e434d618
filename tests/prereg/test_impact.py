"""What a change concerns, and what it does not."""

from __future__ import annotations

import pytest

from slowlab.plan.entries import MethodEntry
from slowlab.plan.fingerprint import code_sha256
from slowlab.plan.known_best import OracleSection, SideWallSection
from slowlab.plan.study import load_study
from slowlab.prereg.dependencies import method_parts, reader_parts, study_jobs
from slowlab.prereg.impact import affected_records, impact_of, rerun_commands
from slowlab.prereg.parts import study_parts
from tests.prereg.repository import ROOT

EVERY_SHOWN = {f"shown:{path.stem}" for path in (ROOT / "figures").glob("*.py")}
SECOND_LOOK_SHOWN = {name for name in EVERY_SHOWN if name.startswith("shown:second_look")}
AFTER_SCORES = {"numbers", "report", "rehearsal", "second_look", *EVERY_SHOWN}
READ = {
    "packets",
    *(f"{kind}:{r}" for kind in ("readings", "reading_scores") for r in ("best_observed", "gp")),
}
METHODS = ("fixed_reference", "random_search", "repeat_best", "prior_bo", "own")


@pytest.fixture(scope="module")
def config():
    paper = load_study(ROOT / "config" / "paper.yaml")
    entries = [paper.entry(name) for name in METHODS[:-1]]
    entries.append(MethodEntry(name="own", command=("python", "examples/agent.py")))
    readers = [paper.reader(name) for name in ("best_observed", "gp")]
    changes = {"methods": tuple(entries), "readers": tuple(readers), "sites": 10, "reader_sites": 4}
    changes |= {"reader_sources": None, "oracle": None, "side_wall": None}
    return paper.model_copy(update=changes)


@pytest.fixture(scope="module")
def jobs(config):
    return study_jobs(ROOT, config)


@pytest.mark.parametrize(
    ("changed", "concerned"),
    [
        ("preregistration/protocol.md", set()),
        ("slowlab/commands/play.py", set()),
        ("workflow/schemas/study.schema.json", set()),
        ("figures/figure3.py", {"shown:figure3"}),
        ("slowlab/plots/study_figures.py", {"report", *EVERY_SHOWN} - SECOND_LOOK_SHOWN),
        ("slowlab/plots/second_look_plot.py", {"report", *SECOND_LOOK_SHOWN}),
        ("slowlab/analysis/second_look_model.py", {"report", "second_look", *SECOND_LOOK_SHOWN}),
        ("slowlab/report/page.html.j2", {"report"}),
        ("preregistration/study.yaml", AFTER_SCORES),
        ("slowlab/analysis/bca.py", AFTER_SCORES),
        (
            "slowlab/methods/random_search.py",
            {"campaigns:random_search", "scores:random_search", *READ, *AFTER_SCORES},
        ),
        (
            "slowlab/methods/fixed_reference.py",
            {"campaigns:fixed_reference", "scores:fixed_reference", *AFTER_SCORES},
        ),
        (
            "slowlab/readers/best_observed.py",
            {"readings:best_observed", "reading_scores:best_observed", *AFTER_SCORES},
        ),
        (
            "workflow/scripts/score_method.py",
            {
                *(f"scores:{name}" for name in METHODS),
                *(f"reading_scores:{name}" for name in ("best_observed", "gp")),
                *AFTER_SCORES,
            },
        ),
    ],
)
def test_a_change_concerns_what_depends_on_it(jobs, changed, concerned):
    assert set(impact_of(jobs, [changed]).affected) == concerned


@pytest.mark.parametrize(
    "changed",
    [
        "requirements.lock",
        "config/contracts/v8.yaml",
        "slowlab/world/facility.py",
        "slowlab/greenlight/stepper.py",
        "slowlab/weather/data/cabauw_like_v1.json",
    ],
)
def test_a_change_of_the_world_concerns_every_campaign_and_score(jobs, changed):
    found = impact_of(jobs, [changed])
    assert set(found.of("campaigns")) == set(METHODS)
    assert set(found.of("scores")) == set(METHODS)
    assert found.of("readings") == ("best_observed", "gp")


def test_artifacts_concern_who_uses_them(jobs):
    concerned = impact_of(jobs, ["config/artifacts/v8/kernel.json"])
    assert concerned.of("campaigns") == ("prior_bo",)
    assert concerned.of("readings") == ("best_observed", "gp")  # packets of prior_bo change
    tools = impact_of(jobs, ["config/artifacts/v8/predictor.json"])
    assert set(tools.of("campaigns")) == set(METHODS) - {"fixed_reference"}


def test_best_policies_and_side_walls_concern_no_campaign(config):
    asked = config.model_copy(update={"oracle": OracleSection(), "side_wall": SideWallSection()})
    own = study_jobs(ROOT, asked)

    def concerned(**changes):
        other = study_parts(asked.model_copy(update=changes))
        parts = [name for name, locked in study_parts(asked).items() if other.get(name) != locked]
        return set(impact_of(own, [], parts).affected)

    assert concerned(oracle=OracleSection(repeated=4)) == {"oracle", *AFTER_SCORES}
    assert concerned(side_wall=SideWallSection(sites=5)) == {"side_wall", *AFTER_SCORES}
    error = impact_of(own, ["config/artifacts/v8/evaluation_error.json"])
    assert set(error.affected) == {"oracle", *AFTER_SCORES}
    method = impact_of(own, ["slowlab/methods/random_search.py"])
    assert {"oracle", "side_wall"} <= set(method.affected)  # both read its recommendations
    script = impact_of(own, ["workflow/scripts/rescore_side_wall.py"])
    assert set(script.affected) == {"side_wall", *AFTER_SCORES}


def test_a_program_concerns_its_own_method(jobs):
    assert impact_of(jobs, ["examples/agent.py"]).of("campaigns") == ("own",)


def test_parts_of_a_study_concern_their_own_jobs(config, jobs):
    def concerned(**changes):
        other = study_parts(config.model_copy(update=changes))
        parts = [name for name, locked in study_parts(config).items() if other.get(name) != locked]
        return impact_of(jobs, [], parts)

    entry = config.entry("prior_bo").model_copy(update={"label": "Other"})
    methods = (*(e for e in config.methods if e.name != "prior_bo"), entry)
    assert concerned(methods=methods).of("campaigns") == ("prior_bo",)
    assert concerned(sites_per_shard=1, first_site=0).affected == ()
    assert concerned(reader_sites=2).affected[0] == "packets"
    assert set(concerned(repeats=3).of("campaigns")) == set(METHODS)
    added = (*config.methods, MethodEntry(name="mine", method="random_search"))
    assert set(concerned(methods=added).affected) == AFTER_SCORES
    analysis = config.analysis.model_copy(update={"alpha": 0.01})
    assert set(concerned(analysis=analysis).affected) == AFTER_SCORES


def test_every_key_of_a_study_is_in_a_part_or_changes_no_result(config):
    plain = config.model_dump()
    unchanged = study_parts(config)
    silent = []
    for name, value in plain.items():
        other = config.model_copy(update={name: f"{value}?"}) if isinstance(value, str) else None
        if other is not None and study_parts(other) == unchanged:
            silent.append(name)
    assert silent == []
    assert study_parts(config.model_copy(update={"sites_per_shard": 7})) == unchanged


def test_records_and_commands(config, jobs):
    found = impact_of(jobs, ["slowlab/methods/random_search.py"])
    assert affected_records(config, found) == {
        "campaigns": 10 * 4,
        "scored_recommendations": 10 * 4,
        "readings": 2 * 4 * 4,
        "scored_readings": 2 * 4 * 4,
    }
    assert rerun_commands("config/x.yaml", found)[1].endswith("--configfile config/x.yaml")
    nothing = impact_of(jobs, ["slowlab/commands/play.py"])
    assert nothing.unconcerned == ("slowlab/commands/play.py",)
    assert rerun_commands("config/x.yaml", nothing) == ["slowlab prereg carry-over"]


def test_every_rule_and_script_of_a_study_concerns_a_job(config):
    asked = config.model_copy(update={"oracle": OracleSection(), "side_wall": SideWallSection()})
    known = {file for job in study_jobs(ROOT, asked).values() for file in job.files}
    own = [*ROOT.glob("workflow/rules/*.smk"), *ROOT.glob("workflow/scripts/*.py")]
    named = {path.relative_to(ROOT).as_posix() for path in own if "develop" not in path.name}
    with_models = {"workflow/rules/agents.smk", "workflow/scripts/run_agents.py"}
    assert named - known <= with_models
    quick = study_jobs(ROOT, load_study(ROOT / "config" / "config.yaml"))
    assert named <= {file for job in quick.values() for file in job.files}


@pytest.mark.parametrize(
    "changed",
    [
        "slowlab/agents/prompts/system.j2",
        "config/harness/digest_notes.yaml",
        "slowlab/agents/harness.py",
    ],
)
def test_a_changed_prompt_concerns_language_models_alone(changed):
    quick = load_study(ROOT / "config" / "config.yaml")
    found = impact_of(study_jobs(ROOT, quick), [changed])
    models = {entry.name for entry in quick.methods if entry.model is not None}
    assert set(found.of("campaigns")) == models != set()


@pytest.mark.parametrize("file", ["paper.yaml", "config.yaml"])
def test_dependencies_are_those_of_the_workflow(file):
    from slowlab.plan.inputs import agent_code, method_code, reader_code

    study = load_study(ROOT / "config" / file)
    for entry in study.methods:
        known = agent_code if entry.model is not None else method_code
        assert code_sha256(*method_parts(study, entry)) == known(study, entry.name)
    for reader in study.readers:
        assert code_sha256(*reader_parts(study, reader)) == reader_code(study, reader.name)
