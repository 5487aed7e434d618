"""Language models of a study: whether they exist, and what decides their answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slowlab.agents.models import MODELS_FILE, ModelConfig, model_config
from slowlab.agents.profile import HarnessProfile, ReplyFormat, load_profile
from slowlab.config import CONFIG_ROOT, ConfigError, ConfigProblem
from slowlab.plan.entries import Entry
from slowlab.plan.fingerprint import PACKAGE
from slowlab.plan.study import StudyConfig


def model_of(entry: Entry) -> ModelConfig:
    """The language model behind an entry.

    Raises:
        ConfigError: there is none of that name, or a stand-in that is not called one.
    """
    model = model_config(str(entry.model))
    if (model.stand_in is not None) != entry.stand_in:
        what = "is" if model.stand_in else "is no"
        message = f"model {model.name!r} {what} stand-in: say so, it is marked everywhere"
        raise ConfigError(str(MODELS_FILE), (ConfigProblem(f"{entry.name}.stand_in", message),))
    return model


def profile_of(entry: Entry) -> HarnessProfile:
    """The harness profile of an entry, checked against what its model's endpoint can do.

    Raises:
        ConfigError: no such model or profile, or a reply format that the endpoint does not offer.
    """
    profile, model = load_profile(entry.profile), model_of(entry)
    offered = {
        ReplyFormat.TEXT: True,
        ReplyFormat.JSON_SCHEMA: model.json_schema,
        ReplyFormat.FUNCTION_CALLS: model.function_calls,
    }
    if not offered[profile.reply_format]:
        message = f"model {model.name!r} does not offer {profile.reply_format}: see models.yaml"
        raise ConfigError(str(profile_file(entry)), (ConfigProblem("reply_format", message),))
    return profile


def check_models(study: StudyConfig) -> None:
    """Check every language model of a study before anything is run.

    Raises:
        ConfigError: no such model or profile, a stand-in that is not called one, a reply format
            that an endpoint does not offer, or interim recommendations in a confirmatory study.
    """
    for entry in (*study.methods, *study.readers):
        if entry.model is None:
            continue
        if profile_of(entry).probe_days and study.purpose == "confirmatory":
            message = "a confirmatory study asks for no interim recommendations: must be empty"
            raise ConfigError(str(profile_file(entry)), (ConfigProblem("probe_days", message),))


def asked(entry: Entry) -> dict[str, Any]:
    """What decides a model's answers: its own settings and its harness profile.

    Raises:
        ConfigError: no such model or profile, or a stand-in that is not called one.
    """
    return {
        "model": model_of(entry).public(),
        "harness": load_profile(entry.profile).model_dump(mode="json"),
    }


def prompt_files() -> list[Path]:
    """All templates of prompts."""
    return sorted((PACKAGE / "agents" / "prompts").glob("*.j2"))


def profile_file(entry: Entry) -> Path:
    """The file of an entry's harness profile."""
    return CONFIG_ROOT / "harness" / f"{entry.profile}.yaml"
