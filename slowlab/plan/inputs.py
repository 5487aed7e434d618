"""What the rules of the workflow take as inputs and parameters, made from a study."""

from __future__ import annotations

import json
from pathlib import Path

from slowlab.canonical import canonical_json
from slowlab.config import CONFIG_ROOT, validate_config
from slowlab.methods._registry import method_class, method_source
from slowlab.plan.agents import asked, profile_file, prompt_files
from slowlab.plan.entries import Entry, ReaderEntry
from slowlab.plan.fingerprint import PACKAGE, code_sha256
from slowlab.plan.study import MethodEntry, Setting, StudyConfig
from slowlab.readers._registry import reader_class

AGENT_STAGE = "slowlab.stages.agent_files"
CAMPAIGN_STAGE = "slowlab.stages.campaign_files"
READER_STAGE = "slowlab.stages.readers"
MODEL_READER_STAGE = "slowlab.stages.model_readings"
ORACLE_STAGE = "slowlab.stages.oracle"
SIDE_WALL_STAGE = "slowlab.stages.side_wall"
ORACLE_ARTIFACTS = ("common_policy", "evaluation_error")
"""What searches start from, and the error of a score by weather years."""
_TOOL_ARTIFACTS = ("predictor",)  # behind the tools that every campaign may use


def setting_json(study: StudyConfig) -> str:
    """The study's setting as canonical JSON, for a parameter of a rule."""
    return canonical_json(study.setting.model_dump(mode="json"))


def parse_setting(text: str) -> Setting:
    """Read what :func:`setting_json` wrote."""
    return validate_config(json.loads(text), Setting, "setting")


def parse_entry(text: str) -> MethodEntry:
    """Read a method entry from JSON."""
    return validate_config(json.loads(text), MethodEntry, "entry")


def sites_of_shard(name: str) -> tuple[int, ...]:
    """Sites of a shard from its name, as ``sites-000-047``."""
    _, first, last = name.split("-")
    return tuple(range(int(first), int(last) + 1))


def setting_files(study: StudyConfig, root: Path = CONFIG_ROOT) -> list[str]:
    """Configuration files behind a study's setting, from the working folder where possible."""
    names = {
        "contracts": study.contract,
        "sites": study.distribution,
        "sensors": study.sensors,
        "partitions": study.partitions,
    }
    return [_shown(root / folder / f"{name}.yaml") for folder, name in names.items()]


def method_code(study: StudyConfig, name: str) -> str:
    """Hash of all that decides what a method does beside its settings: code and artifacts.

    Raises:
        MethodError: no such method.
        OSError: a file cannot be read.
    """
    entry = study.entry(name)
    artifacts = CONFIG_ROOT / "artifacts" / study.artifacts
    if entry.command is not None:
        programs = [Path(part) for part in entry.command if Path(part).is_file()]
        used = [artifacts / f"{artifact}.json" for artifact in _TOOL_ARTIFACTS]
        return code_sha256([CAMPAIGN_STAGE, "slowlab.methods._external"], [*programs, *used])
    kind, source = method_class(entry.registered_name), method_source(entry.registered_name)
    names = {*kind.uses_artifacts, *(_TOOL_ARTIFACTS if kind.experiments else ())}
    used = [artifacts / f"{artifact}.json" for artifact in names]
    if PACKAGE in source.resolve().parents:
        return code_sha256([CAMPAIGN_STAGE, kind.__module__], used)
    return code_sha256([CAMPAIGN_STAGE], [source, *used])


def folders_of(study: StudyConfig, name: str) -> list[str]:
    """Folders that a job of this method must know; none for a method of this package."""
    entry = study.entry(name)
    if entry.command is not None:
        return []
    source = method_source(entry.registered_name)
    return [] if PACKAGE in source.resolve().parents else list(study.method_folders)


def oracle_code(study: StudyConfig) -> str:
    """Hash of all that decides the best-known policies beside the settings: code and artifacts.

    Raises:
        OSError: a file cannot be read.
    """
    folder = CONFIG_ROOT / "artifacts" / study.artifacts
    used = [] if study.oracle is None else [folder / f"{name}.json" for name in ORACLE_ARTIFACTS]
    return code_sha256([ORACLE_STAGE], used)


def agent_code(study: StudyConfig, name: str) -> str:
    """Hash of all that decides what a language model is asked: code, prompts, profile, artifacts.

    Raises:
        OSError: a file cannot be read.
    """
    return _code_of_model([AGENT_STAGE], study, study.entry(name))


def agent_questions(entry: Entry) -> str:
    """What decides the answers of an entry's model, as JSON; empty for a numerical one.

    Raises:
        ConfigError: no such model or harness profile, or a stand-in that does not say so.
    """
    return "" if entry.model is None else canonical_json(asked(entry))


def reader_code(study: StudyConfig, name: str) -> str:
    """Hash of all that decides what a reader recommends: code and artifacts.

    Raises:
        ReaderError: no such reader.
        OSError: a file cannot be read.
    """
    entry = study.reader(name)
    if entry.model is not None:
        return _code_of_model([MODEL_READER_STAGE], study, entry)
    kind = reader_class(entry.registered_name)
    folder = CONFIG_ROOT / "artifacts" / study.artifacts
    used = [folder / f"{artifact}.json" for artifact in kind.uses_artifacts]
    return code_sha256([READER_STAGE, kind.__module__], used)


def parse_reader(text: str) -> ReaderEntry:
    """Read a reader entry from JSON."""
    return validate_config(json.loads(text), ReaderEntry, "reader")


def _code_of_model(modules: list[str], study: StudyConfig, entry: Entry) -> str:
    """Hash over code, prompts, the harness profile and the artifacts behind the tools."""
    artifacts = CONFIG_ROOT / "artifacts" / study.artifacts
    used = [artifacts / f"{artifact}.json" for artifact in _TOOL_ARTIFACTS]
    return code_sha256(modules, [*prompt_files(), profile_file(entry), *used])


def _shown(path: Path) -> str:
    """A path from the working folder, where it lies below it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
