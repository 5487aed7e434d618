"""A campaign of a stand-in, played once, and other prompts than it was played with."""

import shutil

import pytest
from jinja2 import DictLoader

from slowlab.agents import rendering
from tests.agents.played import play_all


@pytest.fixture(scope="session")
def played(tmp_path_factory):
    """The beginning and both branches of one campaign."""
    folder = tmp_path_factory.mktemp("played")
    play_all(folder)
    return folder


@pytest.fixture
def folder(played, tmp_path):
    """A copy that may be spoilt."""
    shutil.copytree(played, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def other_words(monkeypatch):
    """The prompts of another version of the harness."""
    environment = rendering._environment()
    sources = {
        name: environment.loader.get_source(environment, name)[0]
        for name in environment.list_templates()
    }
    sources["instruction.j2"] = sources["instruction.j2"].replace("Take the next", "Do the next")
    changed = environment.overlay(loader=DictLoader(sources))
    monkeypatch.setattr(rendering, "_environment", lambda: changed)
