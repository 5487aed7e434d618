"""Making the lock: everything is listed, and no confirmatory score may exist yet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slowlab.plan.study import StudyConfig, load_study
from slowlab.prereg.agreement import disagreements, too_few_sites
from slowlab.prereg.declaration import Declaration, load_declaration
from slowlab.prereg.errors import LockError, refuse
from slowlab.prereg.manifest import Manifest, write_manifest
from slowlab.prereg.parts import study_parts
from slowlab.prereg.prompts import Renderer, rendered_prompts
from slowlab.prereg.scope import (
    AMENDMENTS,
    DECLARATION,
    FOLDERS,
    LOCK,
    REQUIRED,
    file_sha256,
    files_in_scope,
    needed_files,
)
from slowlab.prereg.seeds import committed_digests, seed_problems
from slowlab.prereg.traces import traces_of_scores


def make_lock(root: Path, renderers: Sequence[Renderer] | None = None) -> Manifest:
    """Lock the declared study and write ``preregistration/lock.json``.

    Args:
        root: the repository.
        renderers: what gives the texts that agents are told; see ``slowlab.prereg.prompts``.

    Returns:
        The lock.

    Raises:
        LockError: there is a lock, scores exist, a file is missing, the declaration is a draft or
            disagrees with the study file, N is too small, or a seed is not committed.
        ConfigError: the declaration or a configuration file does not fit.
        OSError: a file cannot be read or written.
    """
    if (root / LOCK).exists() or (root / AMENDMENTS).exists():
        raise LockError(f"{root / LOCK}: exists; a lock is changed with `slowlab prereg amend`")
    refuse("nothing was locked:", _missing(root, REQUIRED))
    declaration = load_declaration(root)
    refuse("nothing was locked:", _missing(root, [declaration.config]))
    config = load_study(root / declaration.config)
    refuse("nothing was locked:", open_points(root, declaration, config))
    refuse("nothing was locked, because scores exist already:", traces_of_scores(root, config))
    manifest = build_manifest(root, declaration, config, renderers=renderers)
    write_manifest(root / LOCK, manifest)
    return manifest


def open_points(root: Path, declaration: Declaration, config: StudyConfig) -> list[str]:
    """What stands in the way of a lock beside scores, as sentences."""
    draft = [f"{DECLARATION}: is still a draft"] if declaration.draft else []
    folders = [name for name in FOLDERS if not any((root / name).glob("*"))]
    return [
        *_missing(root, needed_files(config)),
        *(f"{name}: is missing or empty" for name in folders),
        *draft,
        *disagreements(declaration, config),
        *too_few_sites(declaration),
        *seed_problems(root, config),
    ]


def build_manifest(
    root: Path,
    declaration: Declaration,
    config: StudyConfig,
    *,
    parent: Manifest | None = None,
    renderers: Sequence[Renderer] | None = None,
) -> Manifest:
    """The manifest of the working tree as it is.

    Args:
        root: the repository.
        declaration: ``preregistration/study.yaml``.
        config: the study file.
        parent: the lock that it amends; None for the first one.
        renderers: as for :func:`make_lock`.

    Raises:
        LockError: a file lies outside the repository, or a text is rendered twice.
        OSError: a file cannot be read.
    """
    return Manifest(
        study=config.study,
        config=declaration.config,
        amendment=0 if parent is None else parent.amendment + 1,
        parent=None if parent is None else parent.id,
        parts=study_parts(config),
        commitments=committed_digests(root, config),
        prompts=rendered_prompts(root, config, renderers),
        files={name: file_sha256(root / name) for name in files_in_scope(root, config)},
    )


def _missing(root: Path, names: Sequence[str]) -> list[str]:
    return [f"{name}: is missing" for name in names if not (root / name).is_file()]
