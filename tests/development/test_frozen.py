"""The artifacts that studies read: sound, complete, and of this contract."""

from slowlab.config import CONFIG_ROOT
from slowlab.development.freeze import problems_of
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.tools.predictor import Predictor
from slowlab.tools.season_kernel import SeasonKernel
from slowlab.world.contract import load_contract
from slowlab.world.policy import parse_policy

CONTRACT = load_contract()
FROZEN = ArtifactFolder(CONFIG_ROOT / "artifacts" / "v8", CONTRACT.id)


def test_all_artifacts_are_sound_and_not_provisional():
    assert problems_of(FROZEN) == []


def test_the_fixed_reference_is_the_contracts():
    content = FROZEN.load("fixed_reference").content
    assert parse_policy(content["policy"], CONTRACT.policy) == CONTRACT.fixed_reference
    scores = [item["mean_score_eur_m2"] for item in content["candidates"]]
    assert scores == sorted(scores, reverse=True)


def test_the_predictor_has_passed_its_gate():
    artifact = FROZEN.load("predictor")
    assert artifact.provenance["deployed"]["passed"]
    assert not set(artifact.provenance["deployed"]["sites"]) & set(artifact.provenance["sites"])
    predictor = Predictor.from_artifact(artifact)
    errors = [predictor.typical_error("all", age) for age in (15, 60, 120, 170)]
    assert errors == sorted(errors, reverse=True)


def test_the_kernel_and_the_other_choices_can_be_used():
    kernel = SeasonKernel.from_artifact(FROZEN.load("kernel"))
    assert 0 < kernel.replicate_sd_eur_m2 < kernel.signal_sd_eur_m2
    radius = FROZEN.load("radius").content
    assert radius["radius"] == radius["candidates"][0]["radius"]
    common = FROZEN.load("common_policy").content
    assert parse_policy(common["policy"], CONTRACT.policy)
