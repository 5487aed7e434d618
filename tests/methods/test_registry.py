"""Finding methods: in the package, in other folders, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from slowlab.config import ConfigError
from slowlab.methods import _registry
from slowlab.methods._base import Method, MethodError, StaticMethod
from slowlab.methods._registry import (
    PATH_VARIABLE,
    build_method,
    discover,
    method_class,
    method_source,
    register,
    registered,
)
from tests.methods.contract_world import ARTIFACTS

REPOSITORY = Path(__file__).resolve().parents[2]
METHOD = """
from slowlab.methods._base import Method
from slowlab.methods._registry import register


@register("{name}")
class Other(Method):
    def play(self, campaign, rng):
        yield from ()
"""


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    registered()
    monkeypatch.setattr(_registry, "_METHODS", dict(_registry._METHODS))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "one.py").write_text(METHOD.format(name="one"), encoding="utf-8")
    (tmp_path / "_helper.py").write_text("raise RuntimeError", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no module", encoding="utf-8")
    return tmp_path


def test_all_methods_of_the_package_are_found_and_sorted():
    names = list(registered())
    assert names == sorted(names)
    assert {"fixed_reference", "common_policy", "random_search", "repeat_best"} <= set(names)
    for name, method in registered().items():
        assert method_source(name).stem == name
        assert method.__doc__
        assert method.experiments is not issubclass(method, StaticMethod)
        for field in method.Settings.model_fields.values():
            assert field.description


FORBIDDEN = (
    "jax",
    "slowlab.evaluation",
    "slowlab.greenlight",
    "slowlab.world.facility",
    "slowlab.world.partitions",
    "slowlab.world.simulator",
)


def test_no_method_reaches_the_simulator_or_a_site():
    """Not even through what it imports."""
    code = (
        "import sys; from slowlab.methods import _external, _registry; _registry.registered();"
        f"print([name for name in {FORBIDDEN!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert done.stdout.strip() == "[]"


def test_a_folder_is_read_once(folder):
    assert "one" not in registered()
    discover(folder)
    first = method_class("one")
    discover(folder)
    assert method_class("one") is first
    assert method_source("one") == folder / "one.py"


def test_folders_named_in_the_environment(folder, monkeypatch):
    monkeypatch.setenv(PATH_VARIABLE, f":{folder}:")
    assert "one" in registered()


def test_two_folders_may_have_modules_of_one_name(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "one.py").write_text(METHOD.format(name="two"), encoding="utf-8")
    discover(folder)
    discover(other)
    assert method_class("one") is not method_class("two")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("def", "SyntaxError"),
        (METHOD.format(name="random_search"), "registered twice"),
        (METHOD.format(name="Bad Name"), "small letters"),
        (METHOD.format(name="bad").replace("(Method)", ""), "no subclass"),
        (METHOD.format(name="bad") + "\n1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_module_that_cannot_be_used_is_named(tmp_path, text, said):
    known = registered()
    (tmp_path / "bad.py").write_text(text, encoding="utf-8")
    with pytest.raises(MethodError, match=said) as caught:
        discover(tmp_path)
    assert "bad.py" in str(caught.value)
    assert registered() == known


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(MethodError, match="no such folder"):
        discover(tmp_path / "absent")


def test_an_unknown_method_is_told_what_there_is():
    with pytest.raises(MethodError, match="there are common_policy, fixed_reference"):
        method_class("nothing")


def test_settings_are_checked():
    assert build_method("random_search", {"anchor": True}, ARTIFACTS).settings.anchor
    with pytest.raises(ConfigError, match=r"methods\.random_search: ancor: unknown key; did you"):
        build_method("random_search", {"ancor": True}, ARTIFACTS)


def test_registering_again_from_the_same_module_replaces():
    class Mine(Method):
        def play(self, campaign, rng):
            yield from ()

    register("mine")(Mine)
    register("mine")(Mine)
    assert method_class("mine") is Mine
