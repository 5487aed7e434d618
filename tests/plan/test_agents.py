"""Language models of a study: names, stand-ins and profiles are checked before anything runs."""

from pathlib import Path

import pytest

from slowlab.config import ConfigError, override
from slowlab.plan import agents
from slowlab.plan.agents import asked, check_models
from slowlab.plan.entries import MethodEntry
from slowlab.plan.study import load_study

ROOT = Path(__file__).resolve().parents[2]
QUICK = ROOT / "config" / "config.yaml"


def with_method(**entry):
    study = load_study(QUICK)
    return study.model_copy(update={"methods": (*study.methods, MethodEntry(**entry))})


def test_studies_that_come_with_slowlab_name_models_and_profiles_that_exist():
    for path in sorted((ROOT / "config").glob("*.yaml")):
        if "methods:" in path.read_text() and "analysis:" in path.read_text():
            check_models(load_study(path))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"model": "no-such-model"}, "there is no model 'no-such-model'"),
        ({"model": "stand-in-grower"}, "is stand-in: say so"),
        ({"model": "glm-5.3-flash", "stand_in": True}, "is no stand-in"),
        ({"model": "glm-5.3-flash", "harness": "no_such_profile"}, "no harness profile"),
        ({"model": "deepseek-v4.1-flash", "harness": "json_schema"}, "does not offer json_schema"),
    ],
)
def test_what_cannot_work_is_refused_with_its_place(entry, said):
    with pytest.raises(ConfigError, match=said):
        check_models(with_method(name="llm", **entry))


def test_a_confirmatory_study_asks_for_no_interim_recommendations(monkeypatch):
    study = with_method(name="llm", model="glm-5.3-flash")
    probing = agents.load_profile("digest_notes").model_copy(update={"probe_days": (90,)})
    monkeypatch.setattr(agents, "load_profile", lambda name: probing)
    check_models(study)
    with pytest.raises(ConfigError, match="interim"):
        check_models(override(study, {"purpose": "confirmatory"}))


def test_prices_and_addresses_do_not_decide_answers():
    said = asked(MethodEntry(name="llm", model="glm-5.3-flash"))
    assert said["model"]["temperature"] == 0.7
    assert said["harness"]["name"] == "digest_notes"
    assert not {"price", "base_url", "key_variable", "retries"} & set(said["model"])
