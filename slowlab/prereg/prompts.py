"""What agents are told, rendered for every site and hashed: a change of it changes the lock.

A renderer gives texts by name. A text that needs a sealed seed which is not at hand is locked as
``sealed``; whoever holds the opening can compare it later. More renderers may be given to
:func:`rendered_prompts`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowlab.canonical import canonical_bytes
from slowlab.plan.study import StudyConfig
from slowlab.prereg.errors import LockError
from slowlab.prereg.manifest import SEALED, Manifest

if TYPE_CHECKING:
    from slowlab.agents.messages import Stage
    from slowlab.agents.rendering import Rendering
    from slowlab.world.site import Site

type Renderer = Callable[[Path, StudyConfig], Iterator[tuple[str, bytes | None]]]
"""Gives name and content of each text; None where it cannot be rendered without a sealed seed.

Names say where a text belongs, as ``task/<partition>/site-<number>/<feedback>``.
"""


def rendered_prompts(
    root: Path, config: StudyConfig, renderers: Sequence[Renderer] | None = None
) -> dict[str, str]:
    """Hashes of all texts, by name.

    Args:
        root: the repository.
        config: the study.
        renderers: what gives the texts; by default the public task of every site and what language
            models are told about it.

    Returns:
        SHA-256 by name, or ``sealed``.

    Raises:
        LockError: two texts have one name.
        ConfigError: a configuration file is missing or does not fit.
    """
    found: dict[str, str] = {}
    for render in DEFAULT_RENDERERS if renderers is None else renderers:
        for name, content in render(root, config):
            if name in found:
                raise LockError(f"prompt {name}: rendered twice")
            found[name] = SEALED if content is None else hashlib.sha256(content).hexdigest()
    return found


def public_tasks(root: Path, config: StudyConfig) -> Iterator[tuple[str, bytes | None]]:
    """The public task of every site under every condition, and before one is assigned.

    Raises:
        ConfigError: a configuration file is missing or does not fit.
        PartitionError: no such partition, source or site.
    """
    from slowlab.world.task import task_bytes

    for number, mode, task in _tasks(root, config):
        name = f"task/{_place(config, number)}/{mode}"
        yield name, None if task is None else task_bytes(task)


def model_prompts(root: Path, config: StudyConfig) -> Iterator[tuple[str, bytes | None]]:
    """System message and instruction of every language model, site, stage and condition.

    What differs from step to step, the conversation so far, is not in them. Names are
    ``prompt/<partition>/site-<number>/<method or reader>/<stage>/<condition>``.

    Raises:
        ConfigError: no such model or harness profile, or a configuration file that does not fit.
    """
    from slowlab.agents.messages import Stage
    from slowlab.agents.rendering import Rendering
    from slowlab.plan.agents import profile_of
    from slowlab.world.contract import load_contract
    from slowlab.world.task import Feedback

    contract = load_contract(root / "config" / "contracts" / f"{config.contract}.yaml")
    before = {(stage, Feedback.UNASSIGNED.value) for stage in (Stage.INITIAL, Stage.DESIGN)}
    later = {(stage, mode) for stage in (Stage.SEASON, Stage.FINAL) for mode in config.feedback}
    stages = [(entry, before | later) for entry in config.methods if entry.model is not None]
    read = {(Stage.READING, config.feedback[0])}
    stages += [(entry, read) for entry in config.readers if entry.model is not None]
    made = [
        (entry.name, Rendering(profile_of(entry), contract.fixed_reference), wanted)
        for entry, wanted in stages
    ]
    for number, mode, task in _tasks(root, config) if made else ():
        for name, rendering, wanted in made:
            for stage in sorted(stage for stage, needed in wanted if needed == mode):
                path = f"prompt/{_place(config, number)}/{name}/{stage.value}/{mode}"
                yield path, None if task is None else _prompt_bytes(rendering, stage, task)


def prompt_differences(manifest: Manifest, now: Mapping[str, str]) -> list[str]:
    """Names of texts that are no longer what was locked; sealed ones cannot be compared."""
    names = sorted(set(manifest.prompts) | set(now))
    return [
        name
        for name in names
        if SEALED not in (manifest.prompts.get(name), now.get(name))
        and manifest.prompts.get(name) != now.get(name)
    ]


def require_prompt(manifest: Manifest, name: str, content: bytes) -> None:
    """Refuse a text that is not the locked one, just before it is used.

    Raises:
        LockError: names the text.
    """
    locked = manifest.prompts.get(name)
    if locked is None:
        raise LockError(f"prompt {name}: is not in lock {manifest.id[:12]}")
    if locked not in (SEALED, hashlib.sha256(content).hexdigest()):
        raise LockError(f"prompt {name}: differs from what lock {manifest.id[:12]} holds")


def _prompt_bytes(rendering: Rendering, stage: Stage, task: Mapping[str, Any]) -> bytes:
    """What a stage is told beside the conversation, with the short form for a final prompt."""
    told = {
        "system": rendering.system(stage, task),
        "instruction": rendering.instruction(stage, task),
        "compact": rendering.compact_system(task) if stage == "final" else None,
    }
    return canonical_bytes(told)


def _place(config: StudyConfig, number: int) -> str:
    return f"{config.partition}/site-{number:03d}"


def _tasks(root: Path, config: StudyConfig) -> Iterator[tuple[int, str, dict[str, Any] | None]]:
    """Site, condition and public task; no task where the site's seed is not at hand."""
    from slowlab.world.contract import load_contract
    from slowlab.world.sensors import load_sensors
    from slowlab.world.task import Feedback, site_task

    contract = load_contract(root / "config" / "contracts" / f"{config.contract}.yaml")
    sensors = load_sensors(root / "config" / "sensors" / f"{config.sensors}.yaml")
    modes = dict.fromkeys([Feedback.UNASSIGNED.value, *config.feedback])
    for number, site in _sites(root, config, contract.facility.compartments):
        for mode in modes:
            known = site is not None
            yield (
                number,
                mode,
                site_task(contract, sensors, site, Feedback(mode)) if known else None,
            )


def _sites(root: Path, config: StudyConfig, compartments: int) -> Iterator[tuple[int, Site | None]]:
    """Number of each site with the site, or with None where its seed is not at hand."""
    from slowlab.world.commitments import CommitmentError
    from slowlab.world.partitions import draw_partition_site, load_partitions
    from slowlab.world.site_distribution import load_sites

    partitions = load_partitions(root / "config" / "partitions" / f"{config.partitions}.yaml")
    distribution = load_sites(root / "config" / "sites" / f"{config.distribution}.yaml")
    item = partitions.partition(config.partition)
    for number in config.site_numbers:
        if item.master_seed is None and item.commitment is None:
            yield number, None
            continue
        try:
            site = draw_partition_site(
                partitions,
                config.partition,
                number,
                distribution,
                source=config.weather,
                compartments=compartments,
            )
        except CommitmentError:
            site = None
        yield number, site


DEFAULT_RENDERERS: tuple[Renderer, ...] = (public_tasks, model_prompts)
