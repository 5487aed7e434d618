"""One flipped byte in any locked file stops every kind of job of a locked study, and is named."""

from __future__ import annotations

import itertools
import random
import re
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowlab.plan.inputs import setting_json
from slowlab.prereg import checks, job
from slowlab.prereg.errors import LockError
from slowlab.prereg.lock import make_lock
from slowlab.prereg.manifest import read_manifest
from slowlab.prereg.scope import LOCK
from slowlab.report import paper_item, second_look_item
from tests.prereg.repository import ROOT, Repository, make_repository

WITHOUT_LOCK = {"compile_step"}
"""Scripts of a study that write nothing into its folder."""
SCRIPTS = sorted(
    path.stem
    for path in (ROOT / "workflow" / "scripts").glob("*.py")
    if not path.name.startswith("develop_") and path.stem not in WITHOUT_LOCK
)
DRAWN = sorted(path.stem for path in (ROOT / "figures").glob("*.py"))
KINDS = [*SCRIPTS, *DRAWN]
LOOKS = {"second_look", "second_look_checks"}
"""Figures whose names do not say so."""


class Reached(Exception):
    """The work itself has begun."""


class Names(list):
    """Files of a job: a list, and each by whatever name it is asked for."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self[0]


class Parameters(SimpleNamespace):
    """Parameters of a job; those that only its work needs are empty."""

    def __getattr__(self, name):
        return []


@pytest.fixture(scope="module")
def whole(tmp_path_factory, private_folder):
    """A locked copy of all that a lock covers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOWLAB_PRIVATE_DIR", str(private_folder / "whole"))
        made = make_repository(tmp_path_factory.mktemp("whole") / "repository", whole=True)
        make_lock(made.root)
    return made


@pytest.fixture
def run(whole, monkeypatch):
    """Runs a job of one kind up to its work, in the locked copy."""
    monkeypatch.setattr(checks, "PACKAGE", whole.root / "slowlab")

    @contextmanager
    def up_to_the_work(inputs, outputs):
        with job_of_the_study(inputs, outputs, root=whole.root):
            raise Reached
        yield

    job_of_the_study = job.locked_job
    monkeypatch.setattr(job, "locked_job", up_to_the_work)
    for items in (paper_item, second_look_item):
        monkeypatch.setattr(items, "locked_job", up_to_the_work)
    study = whole.config  # before a flip could make it unreadable
    folder = whole.path(f"results/{read_manifest(whole.path(LOCK)).results_name}")

    def call(kind):
        if kind in DRAWN:
            script = ROOT / "figures" / f"{kind}.py"
            suffix = ".svg" if kind.startswith("figure") or kind in LOOKS else ".csv"
            numbers = str(whole.path("requirements.lock"))  # not read: no result of the study
            read = [numbers] * (2 if kind.startswith("second_look") else 1)
            given = [kind, *read, str(folder / f"{kind}{suffix}")]
            monkeypatch.setattr(sys, "argv", given)
        else:
            script = ROOT / "workflow" / "scripts" / f"{kind}.py"
        known = {"snakemake": asked(whole, study, folder, kind), "__name__": "__main__"}
        exec(compile(script.read_text(encoding="utf-8"), script, "exec"), known)

    return call


def asked(whole, study, folder, kind):
    """What Snakemake gives to a script."""
    entry = study.readers[0] if kind == "read_packets" else study.methods[1]
    return SimpleNamespace(
        input=Names([str(whole.path("requirements.lock"))]),
        output=Names([str(folder / "scores.parquet")]),
        params=Parameters(
            setting=setting_json(study),
            entry=entry.model_dump_json(),
            study=study.model_dump_json(),
            folder=str(folder),
            transcripts=str(folder / "transcripts"),
        ),
        wildcards=SimpleNamespace(shard="sites-000-002", feedback="full", repeat="0"),
        resources=SimpleNamespace(spending="{}"),
    )


@contextmanager
def flipped(path, place, bit):
    """The file with one bit turned."""
    content = path.read_bytes()
    changed = bytearray(content)
    changed[place % len(content)] ^= 1 << bit
    path.write_bytes(bytes(changed))
    try:
        yield
    finally:
        path.write_bytes(content)


def locked_files(repository: Repository) -> list[str]:
    files = read_manifest(repository.path(LOCK)).files
    return [name for name in files if repository.path(name).stat().st_size]


def test_every_kind_of_job_is_tried():
    """A rule's script or drawing that is left out here would not be held to the lock."""
    text = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "workflow" / "rules").glob("*.smk")
    )
    scripts = set(re.findall(r'"\.\./scripts/(\w+)\.py"', text))
    study = {name for name in scripts if not name.startswith("develop_")}
    assert study == {*SCRIPTS, *WITHOUT_LOCK}
    assert {"run_campaigns", "run_agents", "score_method", "compute_numbers"} <= set(KINDS)
    assert {"figure3", "table2"} <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unchanged_tree_lets_every_kind_of_job_begin(run, kind):
    with pytest.raises(Reached):
        run(kind)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_a_flipped_bit_anywhere_stops_any_kind_of_job(whole, run, data):
    name = data.draw(st.sampled_from(locked_files(whole)))
    kind = data.draw(st.sampled_from(KINDS))
    place, bit = data.draw(st.integers(0, 2**31)), data.draw(st.integers(0, 7))
    with (
        flipped(whole.path(name), place, bit),
        pytest.raises(LockError, match=re.escape(f"{name}: changed since it was locked")),
    ):
        run(kind)


@pytest.mark.slow
def test_a_flipped_bit_in_each_locked_file_stops_a_job(whole, run):
    draw = random.Random(20261130)
    for name, kind in zip(locked_files(whole), itertools.cycle(KINDS), strict=False):
        with (
            flipped(whole.path(name), draw.randrange(2**31), draw.randrange(8)),
            pytest.raises(LockError, match=re.escape(f"{name}: changed since it was locked")),
        ):
            run(kind)


@pytest.mark.parametrize(("place", "words"), [(0, r"lock\.json"), (200, "start the workflow")])
def test_an_edited_lock_stops_every_kind_of_job(whole, run, place, words):
    """Where it is still a lock afterwards, it is another one than that of the results' folder."""
    with flipped(whole.path(LOCK), place, 0):
        for kind in KINDS:
            with pytest.raises(LockError, match=words):
                run(kind)


def test_prose_outside_the_lock_stops_no_kind_of_job(whole, run):
    for name in ("README.md", "docs/page.md", "config/README.md"):
        whole.append(name, "More words.\n")
    for kind in KINDS:
        with pytest.raises(Reached):
            run(kind)
