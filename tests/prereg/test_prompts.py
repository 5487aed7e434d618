"""What agents are told: rendered for every site, stage and condition, compared with the lock."""

from __future__ import annotations

import shutil

import pytest

from slowlab.agents import rendering
from slowlab.plan.study import load_study
from slowlab.prereg.errors import LockError
from slowlab.prereg.manifest import Manifest
from slowlab.prereg.prompts import (
    model_prompts,
    prompt_differences,
    public_tasks,
    rendered_prompts,
    require_prompt,
)
from tests.prereg.repository import ROOT


@pytest.fixture(scope="module")
def config():
    quick = load_study(ROOT / "config" / "config.yaml")
    return quick.model_copy(update={"sites": 2, "reader_sites": 2})


def manifest(prompts):
    return Manifest(
        study="quick",
        config="config/config.yaml",
        amendment=0,
        parent=None,
        parts={},
        commitments={},
        prompts=prompts,
        files={},
    )


def test_every_model_stage_site_and_condition_has_a_text(config):
    names = [name for name, _ in model_prompts(ROOT, config)]
    assert len(set(names)) == len(names)
    grower = {name.split("/", 3)[3] for name in names if "site-001/grower/" in name}
    assert {name.partition("/")[2] for name in grower} == {
        "initial/unassigned",
        "design/unassigned",
        "season/full",
        "season/endpoint",
        "final/full",
        "final/endpoint",
    }
    readers = {entry.name for entry in config.readers if entry.model is not None}
    assert {name.split("/")[3] for name in names if "/reading/" in name} == readers


def test_each_site_is_told_its_own_prices(config):
    texts = dict(model_prompts(ROOT, config))
    one, two = (texts[f"prompt/rehearsal/site-00{n}/grower/initial/unassigned"] for n in (0, 1))
    assert one != two
    task = dict(public_tasks(ROOT, config))["task/rehearsal/site-000/unassigned"]
    assert task.replace(b'"', b'\\"') in one


def test_a_changed_template_is_found_and_named(config, tmp_path, monkeypatch):
    locked = manifest(rendered_prompts(ROOT, config))
    assert prompt_differences(locked, rendered_prompts(ROOT, config)) == []
    templates = tmp_path / "prompts"
    shutil.copytree(ROOT / "slowlab" / "agents" / "prompts", templates)
    with (templates / "system_initial.j2").open("a", encoding="utf-8") as file:
        file.write("Hurry.\n")
    changed = rendering._environment().overlay(loader=rendering_loader(templates))
    monkeypatch.setattr(rendering, "_environment", lambda: changed)
    found = prompt_differences(locked, rendered_prompts(ROOT, config))
    assert found
    assert all("/initial/" in name for name in found)


def rendering_loader(folder):
    from jinja2 import FileSystemLoader

    return FileSystemLoader(folder)


def test_a_text_is_compared_before_it_is_used(config):
    texts = dict(public_tasks(ROOT, config))
    name, text = next(iter(texts.items()))
    locked = manifest(rendered_prompts(ROOT, config, [public_tasks]))
    require_prompt(locked, name, text)
    with pytest.raises(LockError, match=f"prompt {name}: differs"):
        require_prompt(locked, name, text + b" ")
    with pytest.raises(LockError, match="prompt other: is not in lock"):
        require_prompt(locked, "other", text)
    require_prompt(manifest({name: "sealed"}), name, text)


def test_two_texts_with_one_name_are_refused(config):
    with pytest.raises(LockError, match="rendered twice"):
        rendered_prompts(ROOT, config, [public_tasks, public_tasks])
