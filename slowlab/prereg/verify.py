"""The whole check: files, chain of amendments, what agents are told, and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slowlab.plan.study import load_study
from slowlab.prereg.chain import read_chain
from slowlab.prereg.checks import TreeReport, check_tree
from slowlab.prereg.manifest import SEALED, Manifest
from slowlab.prereg.prompts import Renderer, prompt_differences, rendered_prompts
from slowlab.prereg.receipts import LockedResults
from slowlab.prereg.traces import RESULTS


@dataclass(frozen=True)
class Verification:
    """What was found.

    Attributes:
        chain: all locks, the one in force last.
        tree: the working tree beside it.
        prompts: names of texts that differ; empty also where a changed file forbids rendering.
        unopened: number of texts that could not be compared because a seed is sealed.
    """

    chain: tuple[Manifest, ...]
    tree: TreeReport
    prompts: tuple[str, ...]
    unopened: int

    @property
    def lock(self) -> Manifest:
        """The lock in force."""
        return self.chain[-1]

    @property
    def problems(self) -> list[str]:
        """What is wrong, as sentences."""
        told = [f"prompt {name}: differs from what was locked" for name in self.prompts]
        return [*self.tree.problems, *told]


def verify_lock(root: Path, renderers: Sequence[Renderer] | None = None) -> Verification:
    """Compare files and rendered texts with the lock in force.

    Args:
        root: the repository.
        renderers: what gives the texts that agents are told.

    Raises:
        LockError: there is no lock, or the chain of amendments is broken.
    """
    chain = read_chain(root)
    lock = chain[-1]
    tree = check_tree(root, lock)
    if tree.problems:
        return Verification(tuple(chain), tree, (), len(lock.prompts))
    now = rendered_prompts(root, load_study(root / lock.config), renderers)
    unopened = sum(SEALED in (now.get(name), text) for name, text in lock.prompts.items())
    return Verification(tuple(chain), tree, tuple(prompt_differences(lock, now)), unopened)


def verify_results(root: Path, lock: Manifest) -> tuple[int, list[str]]:
    """Check every result of a lock against its receipt.

    Args:
        root: the repository.
        lock: a lock.

    Returns:
        How many results there are, and why some of them do not belong to it, as sentences.
    """
    results = LockedResults(root / RESULTS / lock.results_name, lock.id)
    known = results.known()
    return len(known), [fault for path in known if (fault := results.fault(path)) is not None]
