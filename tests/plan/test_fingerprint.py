"""An edit reruns what it concerns and nothing else."""

import shutil

import pytest

from slowlab.plan import fingerprint


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A small package beside which the functions are pointed."""
    root = tmp_path / "slowlab"
    files = {
        "__init__.py": "",
        "methods/__init__.py": "",
        "methods/one.py": "from slowlab.methods import _shared\n",
        "methods/two.py": "def late():\n    from slowlab.tools.table import row\n",
        "methods/_shared.py": "import os\nimport slowlab.tools.table as table\n",
        "tools/__init__.py": "",
        "tools/table.py": "import json\n",
        "other.py": "x = 1\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(fingerprint, "PACKAGE", root)
    clear()
    yield root
    clear()


def clear():
    for function in (fingerprint._find, fingerprint._imports, fingerprint._sha256):
        function.cache_clear()


def code(name):
    clear()
    return fingerprint.code_sha256([f"slowlab.methods.{name}"])


def edit(path):
    path.write_text(path.read_text(encoding="utf-8") + "y = 2\n", encoding="utf-8")


def test_closure_follows_imports_also_inside_functions(package):
    def names(module):
        return {p.relative_to(package).as_posix() for p in fingerprint.closure([module])}

    parents = {"__init__.py", "methods/__init__.py", "tools/__init__.py"}
    one = {"methods/one.py", "methods/_shared.py", "tools/table.py"}
    assert names("slowlab.methods.one") == parents | one
    assert names("slowlab.methods.two") == parents | {"methods/two.py", "tools/table.py"}


def test_an_edit_changes_what_imports_it_and_nothing_else(package):
    one, two = code("one"), code("two")
    edit(package / "methods" / "one.py")
    assert code("one") != one
    assert code("two") == two
    one = code("one")
    edit(package / "other.py")
    assert (code("one"), code("two")) == (one, two)
    edit(package / "tools" / "table.py")
    assert code("one") != one
    assert code("two") != two


def test_windows_line_ends_do_not_count(package):
    before = code("one")
    path = package / "methods" / "one.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert code("one") == before


def test_further_files_count(package, tmp_path):
    extra = tmp_path / "kernel.json"
    extra.write_text("{}", encoding="utf-8")
    before = fingerprint.code_sha256(["slowlab.other"], [extra])
    extra.write_text("{ }", encoding="utf-8")
    assert fingerprint.code_sha256(["slowlab.other"], [extra]) != before


def test_an_unknown_module_is_refused(package):
    with pytest.raises(ModuleNotFoundError, match=r"slowlab\.methods\.three"):
        code("three")


def test_the_campaign_stage_does_not_depend_on_any_method():
    clear()
    found = {p.name for p in fingerprint.closure(["slowlab.stages.campaign_files"])}
    assert {"executor.py", "stepper.py", "toolbox.py"} <= found
    assert not {"prior_bo.py", "random_search.py", "_local_bo.py"} & found
    clear()


def test_caches_and_copies_do_not_count(package, tmp_path):
    before = code("one")
    cache = package / "methods" / "__pycache__"
    cache.mkdir()
    (cache / "one.pyc").write_bytes(b"x")
    shutil.copy(package / "other.py", package / "methods" / "copy.py")
    assert code("one") == before
