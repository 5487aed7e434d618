"""Which locked files each job of a study depends on.

The same rule as in the workflow: a job depends on the source files that its stage and its method
import, on the artifacts that it uses, on the study's setting and on its rule. Where it is not known
which of several jobs a file concerns, it concerns all of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from slowlab.config import CONFIG_ROOT
from slowlab.methods._registry import method_class, method_source
from slowlab.plan.entries import Entry, MethodEntry, ReaderEntry
from slowlab.plan.fingerprint import PACKAGE, closure
from slowlab.plan.inputs import (
    AGENT_STAGE,
    CAMPAIGN_STAGE,
    MODEL_READER_STAGE,
    ORACLE_ARTIFACTS,
    ORACLE_STAGE,
    READER_STAGE,
    SIDE_WALL_STAGE,
)
from slowlab.plan.items import side_wall_methods, sources
from slowlab.plan.study import StudyConfig
from slowlab.prereg.parts import (
    ANALYSIS,
    DESIGN,
    LISTS,
    METHOD,
    ORACLE,
    PACKETS,
    READER,
    SETTING,
    SIDE_WALL,
)
from slowlab.prereg.scope import DECLARATION, needed_files
from slowlab.readers._registry import reader_class

CAMPAIGNS, SCORES, READINGS, READING_SCORES = "campaigns", "scores", "readings", "reading_scores"
ORACLE_JOB, SIDE_WALL_JOB = "oracle", "side_wall"
PACKETS_JOB, NUMBERS, SHOWN, REPORT = "packets", "numbers", "shown", "report"
REHEARSAL, SECOND_LOOK = "rehearsal", "second_look"

_TOOL_ARTIFACTS = ("predictor",)
_EVERYTHING = (
    "Snakefile",
    "workflow/Snakefile",
    "workflow/rules/common.smk",
    "workflow/rules/simulator.smk",
    "workflow/scripts/compile_step.py",
    "requirements.lock",
    "requirements-extras.lock",
    ".python-version",
)
"""Files on which every job depends."""
_GATHERED = ("agents", "campaigns", "scores", "oracle", "side_wall")
_TABLES = (
    "workflow/scripts/draw_sites.py",
    *(f"workflow/scripts/gather_{name}.py" for name in _GATHERED),
)
"""Scripts of the tables that the analysis reads."""
_TRANSCRIPT_PAGES = "workflow/scripts/write_transcript_pages.py"

type Parts = tuple[list[str], list[Path]]
"""Modules that a job starts with, and further files that it uses."""


@dataclass(frozen=True)
class Job:
    """All jobs of one kind for one method or reader, whatever condition, repeat and sites.

    Attributes:
        name: kind and subject, as ``campaigns:prior_bo``.
        files: locked files that it depends on, from the root.
        parts: parts of the study that it depends on, see ``slowlab.prereg.parts``.
        after: names of the jobs whose results it reads.
    """

    name: str
    files: frozenset[str]
    parts: frozenset[str]
    after: tuple[str, ...] = ()


def study_jobs(root: Path, config: StudyConfig) -> dict[str, Job]:
    """All jobs of a study by name, each behind those whose results it reads.

    Args:
        root: the repository.
        config: the study.

    Raises:
        MethodError: no such method.
        ReaderError: no such reader.
    """
    found = [*_campaigns(root, config), *_scores(root, config), *_readers(root, config)]
    scores = [job.name for job in found if job.name.startswith((SCORES, READING_SCORES))]
    beside = list(_known_best(root, config))
    found += [*beside, *_analysis(root, config, (*scores, *(job.name for job in beside)))]
    return {job.name: job for job in found}


def method_parts(config: StudyConfig, entry: MethodEntry) -> Parts:
    """Modules and files behind a method, as the workflow's own fingerprint takes them.

    Raises:
        MethodError: no such method.
    """
    if entry.model is not None:
        return _model_parts([AGENT_STAGE], config, entry)
    if entry.command is not None:
        programs = [Path(part) for part in entry.command if Path(part).is_file()]
        tools = _artifacts(config, _TOOL_ARTIFACTS)
        return [CAMPAIGN_STAGE, "slowlab.methods._external"], [*programs, *tools]
    kind, source = method_class(entry.registered_name), method_source(entry.registered_name)
    tools = _TOOL_ARTIFACTS if kind.experiments else ()
    used = _artifacts(config, {*kind.uses_artifacts, *tools})
    if PACKAGE in source.resolve().parents:
        return [CAMPAIGN_STAGE, kind.__module__], used
    return [CAMPAIGN_STAGE], [source, *used]


def reader_parts(config: StudyConfig, entry: ReaderEntry) -> Parts:
    """Modules and files behind a reader, as the workflow's own fingerprint takes them.

    Raises:
        ReaderError: no such reader.
    """
    if entry.model is not None:
        return _model_parts([MODEL_READER_STAGE], config, entry)
    kind = reader_class(entry.registered_name)
    return [READER_STAGE, kind.__module__], _artifacts(config, kind.uses_artifacts)


def _model_parts(modules: list[str], config: StudyConfig, entry: Entry) -> Parts:
    from slowlab.plan.agents import profile_file, prompt_files

    artifacts = _artifacts(config, _TOOL_ARTIFACTS)
    return modules, [*prompt_files(), profile_file(entry), *artifacts]


def _artifacts(config: StudyConfig, names: Iterable[str]) -> list[Path]:
    folder = CONFIG_ROOT / "artifacts" / config.artifacts
    return [folder / f"{name}.json" for name in sorted(names)]


def _campaigns(root: Path, config: StudyConfig) -> Iterator[Job]:
    for entry in config.methods:
        modules, files = method_parts(config, entry)
        if entry.model is None:
            own = _rule("campaigns", "run_campaigns")
        else:
            own = {*_rule("agents", "run_agents"), "config/models.yaml"}
        yield _job(
            root,
            f"{CAMPAIGNS}:{entry.name}",
            modules,
            {*own, *needed_files(config)},
            files,
            parts=(DESIGN, SETTING, METHOD + entry.name),
        )


def _scores(root: Path, config: StudyConfig) -> Iterator[Job]:
    own = {*_rule("evaluation", "score_method"), *needed_files(config)}
    for entry in config.methods:
        yield _job(
            root,
            f"{SCORES}:{entry.name}",
            ["slowlab.stages.evaluation"],
            own,
            parts=(DESIGN, SETTING),
            after=(f"{CAMPAIGNS}:{entry.name}",),
        )


def _readers(root: Path, config: StudyConfig) -> Iterator[Job]:
    if not config.readers:
        return
    setting = needed_files(config)
    yield _job(
        root,
        PACKETS_JOB,
        [READER_STAGE],
        {*_rule("readers", "build_packets"), *setting},
        parts=(DESIGN, SETTING, PACKETS),
        after=tuple(f"{CAMPAIGNS}:{name}" for name in sources(config)),
    )
    for entry in config.readers:
        modules, files = reader_parts(config, entry)
        models = {"config/models.yaml"} if entry.model is not None else set()
        yield _job(
            root,
            f"{READINGS}:{entry.name}",
            modules,
            {*_rule("readers", "read_packets"), *setting, *models},
            files,
            parts=(DESIGN, SETTING, READER + entry.name),
            after=(PACKETS_JOB,),
        )
        yield _job(
            root,
            f"{READING_SCORES}:{entry.name}",
            ["slowlab.stages.evaluation"],
            {*_rule("readers", "score_method"), *setting},
            parts=(DESIGN, SETTING),
            after=(f"{READINGS}:{entry.name}",),
        )


def _known_best(root: Path, config: StudyConfig) -> Iterator[Job]:
    """Best-known policies and scores with other side walls, where the study asks for them."""
    setting = needed_files(config)
    if config.oracle is not None:
        yield _job(
            root,
            ORACLE_JOB,
            [ORACLE_STAGE],
            {*_rule("known_best", "find_oracle"), *setting},
            _artifacts(config, ORACLE_ARTIFACTS),
            parts=(DESIGN, SETTING, LISTS, ORACLE),
            after=(
                *(f"{CAMPAIGNS}:{entry.name}" for entry in config.methods),
                f"{SCORES}:{config.analysis.reference}",
            ),
        )
    if config.side_wall is not None:
        yield _job(
            root,
            SIDE_WALL_JOB,
            [SIDE_WALL_STAGE],
            {*_rule("known_best", "rescore_side_wall"), *setting},
            parts=(DESIGN, SETTING, SIDE_WALL),
            after=tuple(f"{CAMPAIGNS}:{name}" for name in side_wall_methods(config)),
        )


def _analysis(root: Path, config: StudyConfig, scores: tuple[str, ...]) -> Iterator[Job]:
    own = {*_rule("analysis", "compute_numbers"), *needed_files(config), DECLARATION, *_TABLES}
    entries = [
        *(METHOD + m.name for m in config.methods),
        *(READER + r.name for r in config.readers),
    ]
    yield _job(
        root,
        NUMBERS,
        ["slowlab.report.study", "slowlab.analysis.study_numbers", "slowlab.stages.gather"],
        own,
        parts=(DESIGN, SETTING, LISTS, ORACLE, SIDE_WALL, ANALYSIS, *entries),
        after=scores,
    )
    yield _second_look(root)
    for path in sorted((root / "figures").glob("*.py")):
        own = {f"figures/{path.name}"}
        after = (NUMBERS, SECOND_LOOK) if path.stem.startswith(SECOND_LOOK) else (NUMBERS,)
        yield _job(root, f"{SHOWN}:{path.stem}", _imported(path), own, after=after)
    written = ["slowlab.report.files", "slowlab.agents.page"]
    own = {*_rule("analysis", "write_report"), *_report_texts(root), _TRANSCRIPT_PAGES}
    yield _job(root, REPORT, written, own, after=(NUMBERS, SECOND_LOOK))
    yield _rehearsal(root)


def _rehearsal(root: Path) -> Job:
    own = {
        file for verb in ("run", "show", "check") for file in _rule(REHEARSAL, f"{verb}_rehearsal")
    }
    modules = ["slowlab.report.rehearsal", "slowlab.plots.rehearsal_plot"]
    return _job(root, REHEARSAL, modules, {*own, DECLARATION}, after=(NUMBERS,))


def _second_look(root: Path) -> Job:
    own = {file for verb in ("fit", "check") for file in _rule(SECOND_LOOK, f"{verb}_second_look")}
    return _job(
        root, SECOND_LOOK, ["slowlab.report.second_look"], {*own, DECLARATION}, after=(NUMBERS,)
    )


def _imported(script: Path) -> list[str]:
    """Modules of this package that a script imports."""
    tree = ast.walk(ast.parse(script.read_bytes()))
    names = {node.module for node in tree if isinstance(node, ast.ImportFrom) and node.module}
    return sorted(name for name in names if name.partition(".")[0] == PACKAGE.name)


def _rule(file: str, script: str) -> tuple[str, str]:
    return f"workflow/rules/{file}.smk", f"workflow/scripts/{script}.py"


def _report_texts(root: Path) -> list[str]:
    return [f"workflow/report/{path.name}" for path in (root / "workflow/report").glob("*")]


def _job(
    root: Path,
    name: str,
    modules: Sequence[str],
    own: Iterable[str],
    files: Sequence[Path] = (),
    *,
    parts: Sequence[str] = (),
    after: tuple[str, ...] = (),
) -> Job:
    """A job with all that its modules import, the data beside them, and its own files."""
    known = {*_sources(tuple(modules)), *own, *_EVERYTHING, *(_named(root, path) for path in files)}
    return Job(name, frozenset(known), frozenset(parts), after)


@cache
def _sources(modules: tuple[str, ...]) -> frozenset[str]:
    """Source files behind modules, and the data files that one of them uses."""
    files = closure(modules)
    data = {path for path, users in _users_of_data().items() if users & files}
    return frozenset(
        f"{PACKAGE.name}/{path.relative_to(PACKAGE).as_posix()}" for path in files | data
    )


@cache
def _users_of_data() -> dict[Path, frozenset[Path]]:
    """Data files of this package, with the source files that may use each of them.

    They are those of the nearest package that name the file or its folder; where none does, all.
    """
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return {path: _users(path) for path in files if path.suffix != ".py"}


def _users(data: Path) -> frozenset[Path]:
    package = next(folder for folder in data.parents if (folder / "__init__.py").is_file())
    names = {*data.relative_to(package).parts}
    named = re.compile(rf"""["'/](?:{"|".join(map(re.escape, sorted(names)))})["'/]""")
    sources = frozenset(package.glob("*.py"))
    users = {path for path in sources if named.search(path.read_text(encoding="utf-8"))}
    return frozenset(users) or sources


def _named(root: Path, path: Path) -> str:
    """A file's path from the root, whichever copy of the repository it is named in."""
    for base in (CONFIG_ROOT.parent, root.resolve()):
        if path.resolve().is_relative_to(base):
            return path.resolve().relative_to(base).as_posix()
    return path.as_posix()
