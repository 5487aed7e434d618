"""Choice of the fixed reference and of the radius, from tables of scores; freezing of artifacts."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from slowlab.config import override
from slowlab.development.artifact_files import ARTIFACTS, write
from slowlab.development.config import Layout, load_development
from slowlab.development.freeze import differences, freeze, problems_of
from slowlab.development.radius import rank_radii
from slowlab.development.reference import (
    OtherReferenceError,
    rank_candidates,
    reference_content,
    study_error,
)
from slowlab.development.runs import jobs, plan_run, planned_runs
from slowlab.tools.artifacts import ArtifactError, ArtifactFolder
from slowlab.world.contract import load_contract
from slowlab.world.policy import parse_policy

CONTRACT = load_contract()
CONFIG = load_development()


def candidate_scores(levels, year_sd=0.0, sites=200, years=5):
    """Scores of candidates: a level each, a common effect of sites and years, own noise."""
    rng = np.random.default_rng(1)
    rows = []
    for site in range(sites):
        for year in range(years):
            common = 5 * site / sites + rng.normal()
            rows += [
                {
                    "site": site,
                    "candidate": name,
                    "year": str(year),
                    "scoring": year < 3,
                    "score_eur_m2": level + common + rng.normal(0, year_sd),
                    "energy_kwh_m2": 100.0 + len(name),
                }
                for name, level in levels.items()
            ]
    return pd.DataFrame(rows)


def test_reference_is_the_candidate_with_the_best_mean():
    levels = {"grower_standard": 34.0, "policy_a": 31.0, "policy_b": 32.0}
    ranked = rank_candidates(candidate_scores(levels))
    assert [item.name for item in ranked] == ["grower_standard", "policy_b", "policy_a"]
    content = reference_content(CONTRACT, ranked)
    assert content["policy"] == CONTRACT.fixed_reference.model_dump()
    assert [item["name"] for item in content["candidates"]] == [item.name for item in ranked]


def test_a_winner_that_is_not_the_contracts_reference_is_an_error():
    levels = {"grower_standard": 30.0, "policy_a": 31.0, "policy_b": 29.0}
    with pytest.raises(OtherReferenceError, match="policy_a scores best"):
        reference_content(CONTRACT, rank_candidates(candidate_scores(levels)))


def test_only_scoring_years_choose_and_ties_go_to_less_energy():
    scores = candidate_scores({"policy_b": 30.0, "longer_name": 30.0})
    ranked = rank_candidates(scores)
    assert ranked[0].name == "policy_b"  # equal scores, less energy
    scores.loc[~scores["scoring"] & (scores["candidate"] == "longer_name"), "score_eur_m2"] += 99
    assert rank_candidates(scores)[0].name == "policy_b"


def test_error_study_finds_the_noise_of_a_difference():
    found = study_error(candidate_scores({"a": 3.0, "b": 1.0, "c": 2.0}, year_sd=0.8))
    assert (found.sites, found.years) == (200, 5)
    assert found.difference_sd_one_year_eur_m2 == pytest.approx(0.8 * np.sqrt(2), rel=0.05)
    ratio = found.difference_sd_one_year_eur_m2 / found.difference_sd_three_years_eur_m2
    assert ratio == pytest.approx(np.sqrt(3))
    assert found.score_sd_eur_m2 == pytest.approx(np.sqrt(1 + 0.64), rel=0.05)
    assert all(0 < share <= 5 / 3 for share in found.share_of_between_site_variance.values())


def radius_table(means, repeat_sd=None):
    rng = np.random.default_rng(2)
    noise = dict.fromkeys(means, 0.0) | (repeat_sd or {})
    return pd.DataFrame(
        [
            {
                "radius": radius,
                "site": site,
                "feedback": feedback,
                "repeat": repeat,
                "score_eur_m2": mean + site + (1 if repeat else -1) * noise[radius],
                "reference_eur_m2": 30.0 + site + 0.1 * rng.normal(),
            }
            for radius, mean in means.items()
            for site in range(24)
            for feedback in ("full", "endpoint")
            for repeat in range(2)
        ]
    )


def test_radius_with_the_best_mean_wins():
    ranked = rank_radii(radius_table({0.15: 31.0, 0.25: 33.0, 0.5: 32.0}))
    assert [item.radius for item in ranked] == [0.25, 0.5, 0.15]
    assert ranked[0].gain_eur_m2 == pytest.approx(3.0, abs=0.1)
    assert ranked[0].by_feedback_eur_m2.keys() == {"full", "endpoint"}
    assert ranked[0].repeat_sd_eur_m2 == pytest.approx(0.0, abs=1e-6)


def test_equal_means_go_to_the_radius_whose_repeats_differ_less():
    ranked = rank_radii(radius_table({0.15: 33.0, 0.35: 33.0, 0.5: 1.0}, {0.15: 2.0, 0.35: 1.0}))
    assert [item.radius for item in ranked] == [0.35, 0.15, 0.5]
    assert ranked[0].repeat_sd_eur_m2 == pytest.approx(np.sqrt(2))


def test_planned_runs_are_legal_different_and_repeatable():
    runs = planned_runs(CONFIG, CONTRACT)
    assert len(runs) == 160
    assert [len(job) for job in jobs(CONFIG, CONTRACT)] == [16] * CONFIG.runs.jobs
    assert runs == planned_runs(CONFIG, CONTRACT)
    last = CONTRACT.calendar.latest_start_day
    for run in runs:
        assert len(run.crops) == {"single": 4}.get(run.layout.value, 8)
        assert all(crop.start_day <= last for crop in run.crops)
        for crop in run.crops:
            assert parse_policy(crop.policy, CONTRACT.policy) == crop.policy
    free = [c.policy for run in runs if run.layout is not Layout.REPLICATE for c in run.crops]
    assert len(set(free)) == len(free)


def test_a_replicate_run_has_one_policy_a_wave():
    run = plan_run(CONFIG, CONTRACT, 3, 0, Layout.REPLICATE)
    by_day = {day: {c.policy for c in run.crops if c.start_day == day} for day in (0, 182)}
    assert [len(policies) for policies in by_day.values()] == [1, 1]
    assert by_day[0] != by_day[182]


def test_every_radius_job_has_a_folder_of_its_own():
    names = CONFIG.radius.every_job()
    assert len(names) == 4 * 2 * 2
    assert CONFIG.radius.jobs(0.35)["radius-0.35/full-1"] == ("full", 1)


@pytest.fixture
def fresh(tmp_path):
    """A folder with all artifacts, as a finished stage leaves them."""
    for name in ARTIFACTS:
        write(tmp_path / f"fresh/{name}.json", CONTRACT, {"provisional": False}, {"of": name})
    return ArtifactFolder(tmp_path / "fresh", CONTRACT.id)


def test_freeze_copies_what_is_sound_and_says_what_changed(fresh, tmp_path):
    frozen = ArtifactFolder(tmp_path / "frozen", CONTRACT.id)
    assert freeze(fresh, frozen.folder) == list(ARTIFACTS)
    assert freeze(fresh, frozen.folder) == []
    assert problems_of(frozen) == [] == differences(frozen, fresh)
    write(fresh.path("radius"), CONTRACT, {"provisional": False}, {"of": "another"})
    assert differences(frozen, fresh) == ["radius"]
    assert freeze(fresh, frozen.folder) == ["radius"]


@pytest.mark.parametrize("fault", ["missing", "damaged", "provisional", "unknown", "contract"])
def test_freeze_refuses_what_is_not_sound(fresh, tmp_path, fault):
    path = fresh.path("kernel")
    if fault == "missing":
        path.unlink()
    elif fault == "damaged":
        path.write_text(path.read_text().replace('"of":"kernel"', '"of":"Kernel"'))
    elif fault == "provisional":
        write(path, CONTRACT, {"provisional": True}, {})
    elif fault == "unknown":
        write(fresh.path("stray"), CONTRACT, {"provisional": False}, {})
    else:
        fresh = dataclasses.replace(fresh, contract="another")
    assert problems_of(fresh)
    with pytest.raises(ArtifactError):
        freeze(fresh, tmp_path / "frozen")
    assert not (tmp_path / "frozen").exists()


def test_the_configuration_rejects_sites_in_the_wrong_order():
    with pytest.raises(ValueError, match="last_site"):
        override(CONFIG, {"runs.last_site": 3})
