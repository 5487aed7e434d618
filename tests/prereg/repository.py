"""A small copy of the repository with a study that can be locked."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from slowlab.plan.study import StudyConfig, load_study
from slowlab.prereg.seeds import commit_seed

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("workflow", "config", "figures")
SOME_SOURCES = ("methods", "readers", "report", "world", "greenlight/data")
"""Folders of the package that stand for all of it: a lock takes what is there."""
FILES = ("Snakefile", "requirements.lock", "README.md", "preregistration/protocol.md")
FILES += ("slowlab/io.py", "slowlab/canonical.py")
STUDY = """
study: drill
purpose: confirmatory
partition: test
sites: 3
repeats: 1
methods: [fixed_reference, random_search, repeat_best, prior_bo]
readers: [best_observed]
analysis:
  baseline: prior_bo
  reference: fixed_reference
  example_method: prior_bo
  timeline_methods: [prior_bo]
  flips: 1000
  resamples: 1000
"""
DECLARATION = """
draft: false
study: drill
config: config/drill.yaml
design:
  partition: test
  sites: 3
  repeats: 1
  feedback: [full, endpoint]
  baseline: prior_bo
  reference: fixed_reference
statistics:
  sesoi_eur_m2: 2.0
  tost_bounds_eur_m2: [-2.0, 2.0]
  alpha: 0.05
  confidence: 0.95
  base_seed: 20261004
  flips: 1000
  resamples: 1000
  repeat_rule: complete
  sensitivity_repeat_rule: available
families:
  - name: primary
    adjustment: holm
    seed_offset: 0
    groups:
      - {question: e1, about: [random_search, repeat_best]}
      - {question: e2, about: [prior_bo]}
  - name: secondary
    adjustment: benjamini_hochberg
    seed_offset: 1000
    groups:
      - {question: gain, about: [prior_bo]}
exploratory: benjamini_hochberg
power:
  target: 0.8
  fewest_sites: 3
  source: made up for this test
  sd_eur_m2: {e1.random_search: 0.1, e1.repeat_best: 0.1, e2.prior_bo: 0.1}
gates:
  rehearsals: 1000
  rehearsal_flips: 1000
  largest_familywise_error: 0.06
  largest_power_shortfall: 0.02
  largest_r_hat: 1.01
  smallest_ess: 400
  most_divergences: 0
  largest_missing_share: 0.05
sensitivity:
  dry_matter_fractions: [0.05, 0.07]
  mixed_model:
    effects: [site, repeat, campaign_year, scoring_year, site_year]
    fewest_levels: 3
second_look:
  rope_eur_m2: [-2.0, 2.0]
  chains: 4
  warm_up: 1000
  draws: 1000
  target_accept: 0.9
  probability: 0.95
  seed: 1
  priors:
    effect_scale_eur_m2: 5.0
    shared_scale_eur_m2: 3.0
    spread_median_eur_m2: 3.0
    spread_log_sd: 0.7
  other_effect_scales: [0.5, 2.0]
"""
REASON = """# A field was read in the wrong order

## What happened

random_search read the fields of a policy in the order received.

## How it was found

A test that permutes keys.

## What is changed

slowlab/methods/random_search.py

## What is run again

All campaigns of random_search.

## What was known of the results

All of them.

## Approved by

A. Person
"""


@dataclass(frozen=True)
class Repository:
    """A working folder with everything that a lock covers.

    Attributes:
        root: its root.
    """

    root: Path

    def path(self, name: str) -> Path:
        return self.root / name

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text once; it must be there."""
        text = self.path(name).read_text(encoding="utf-8")
        assert old in text
        self.path(name).write_text(text.replace(old, new, 1), encoding="utf-8", newline="")

    def append(self, name: str, text: str = "# changed\n") -> None:
        with self.path(name).open("a", encoding="utf-8", newline="") as file:
            file.write(text)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def uncommit_seeds(self) -> None:
        """Partitions as before any seed was drawn, whatever the repository has published."""
        path = self.path("config/partitions/v1.yaml")
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"commitment: [0-9a-f]{64}", "commitment: null", text)
        path.write_text(text, encoding="utf-8", newline="")

    @property
    def config(self) -> StudyConfig:
        return load_study(self.path("config/drill.yaml"))


def make_repository(root: Path, *, whole: bool = False) -> Repository:
    """Copy sources and write a study with a committed seed; the private folder must be set.

    Args:
        root: new folder.
        whole: copy all of the package instead of some of it, so that it can run.
    """
    sources = ["slowlab"] if whole else [f"slowlab/{name}" for name in SOME_SOURCES]
    for name in (*FOLDERS, *sources):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    made = Repository(root)
    made.uncommit_seeds()
    for name in FILES:
        made.write(name, (ROOT / name).read_bytes())
    made.write("config/drill.yaml", STUDY)
    made.write("preregistration/study.yaml", DECLARATION)
    made.write("docs/page.md", "prose\n")
    commit_seed(root, "test")
    return made
