"""``slowlab new-method`` and ``slowlab try-method``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slowlab.campaign.journal import read_journal
from slowlab.campaign.journal_format import JournalStatus
from slowlab.cli import app
from slowlab.commands import new_method as module
from slowlab.commands.errors import InputError
from slowlab.commands.new_method import with_method
from slowlab.config import CONFIG_ROOT
from slowlab.methods import _registry
from slowlab.methods._registry import registered
from slowlab.plan.study import load_study
from slowlab.strict_yaml import parse_yaml
from tests.methods.contract_checks import EXPERIMENTING
from tests.simulations import SHORT_CONTRACT_FILE

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """Methods of a test are not there in the next one."""
    registered()
    monkeypatch.setattr(_registry, "_METHODS", dict(_registry._METHODS))


@pytest.fixture
def study(tmp_path):
    """A copy of the default study file."""
    path = tmp_path / "study.yaml"
    path.write_text((CONFIG_ROOT / "config.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    return path


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_new_method_works_and_is_in_the_study(tmp_path, study):
    before = study.read_text(encoding="utf-8")
    done = run("new-method", "my_search", "--study", study, "--folder", tmp_path / "mine")
    assert done.exit_code == 0, done.output
    assert load_study(study).methods[-1].name == "my_search"
    added = study.read_text(encoding="utf-8").splitlines()
    added.remove("  - my_search")
    assert added == before.splitlines()
    _registry.discover(tmp_path / "mine")
    for check in EXPERIMENTING:
        (tmp_path / check.__name__).mkdir()
        check("my_search", tmp_path / check.__name__)


def test_a_new_method_lies_among_the_others_by_default(tmp_path, study, monkeypatch):
    monkeypatch.setattr(_registry, "__file__", str(tmp_path / "methods" / "_registry.py"))
    assert run("new-method", "my_search", "--study", study).exit_code == 0
    assert (tmp_path / "methods" / "my_search.py").is_file()


def test_the_template_keeps_the_rules_of_the_repository(tmp_path):
    import subprocess
    import sys

    path = tmp_path / "my_search.py"
    path.write_text(module.method_source("my_search"), encoding="utf-8")
    config = ["--config", str(REPOSITORY / "pyproject.toml")]
    for command in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *command, *config, str(path)]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["", "My", "2x", "a-b", "a b", "class", "x" * 49, "../x", "_x"])
def test_bad_names_are_refused(tmp_path, study, name):
    before = study.read_bytes()
    done = run("new-method", "--study", study, "--folder", tmp_path / "mine", "--", name)
    assert done.exit_code == 2
    assert "a name begins with a small letter" in done.stderr
    assert study.read_bytes() == before
    assert not (tmp_path / "mine").exists()


def test_what_is_there_is_never_replaced(tmp_path, study):
    arguments = ("--study", study, "--folder", tmp_path / "mine")
    assert run("new-method", "my_search", *arguments).exit_code == 0
    again = run("new-method", "my_search", *arguments)
    assert (again.exit_code, "exists already" in again.stderr) == (2, True)
    taken = run("new-method", "random_search", *arguments)
    assert (taken.exit_code, "of that name already" in taken.stderr) == (2, True)
    (tmp_path / "mine" / "my_search.py").unlink()
    listed = run("new-method", "my_search", *arguments)
    assert (listed.exit_code, "lists a method my_search already" in listed.stderr) == (2, True)
    assert not (tmp_path / "mine" / "my_search.py").exists()


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("methods:\n  - a\n  - b\n", "methods:\n  - a\n  - b\n  - new\n"),
        ("methods:\n- a # why\nsites: 1\n", "methods:\n- a # why\n- new\nsites: 1\n"),
        ("methods: # all\n\n  # first\n  - a", "methods: # all\n\n  # first\n  - a\n  - new\n"),
        (
            "methods:\n  - name: a\n    settings:\n      b: [1, 2]\n  # - c\n\n# next\nsites: 1\n",
            "methods:\n  - name: a\n    settings:\n      b: [1, 2]\n  - new\n  # - c\n\n# next\n"
            "sites: 1\n",
        ),
    ],
)
def test_a_line_is_added_and_nothing_else_changes(text, changed):
    assert with_method(text, "new", "f") == changed
    assert parse_yaml(changed).data["methods"][-1] == "new"


@pytest.mark.parametrize(
    "text", ["sites: 1\n", "methods: [a]\n", "methods: {a: 1}\n", "- methods\n", "methods:\n"]
)
def test_other_forms_are_refused(text):
    with pytest.raises(InputError):
        with_method(text, "new", "f")


# One campaign, on the short task.


@pytest.fixture
def short(tmp_path, monkeypatch):
    """Options of a campaign of twelve days."""
    path = tmp_path / "short.yaml"
    path.write_text(SHORT_CONTRACT_FILE, encoding="utf-8")
    monkeypatch.chdir(REPOSITORY)
    return ("--contract", path, "--journal", tmp_path / "j", "--site", 3, "--no-score")


def test_one_campaign_of_a_registered_method(short, tmp_path):
    outputs = [run("try-method", "random_search", *short).output for _ in range(2)]
    assert outputs[0] == outputs[1]
    assert outputs[0].count("completed") == 8
    assert "recommended: day_temperature_c" in outputs[0]
    assert read_journal(tmp_path / "j").status is JournalStatus.SETTLED
    other = run("try-method", "random_search", "--repeat", 1, *short).output
    assert other != outputs[0]


def test_one_campaign_of_a_program(short, tmp_path):
    done = run("try-method", "my_agent", "--command", "python examples/agent.py", *short)
    assert done.exit_code == 0, done.output
    assert "the program: closed" in done.output
    assert "recommended" in (tmp_path / "j.log").read_text(encoding="utf-8")


def test_a_program_that_crashes(short):
    done = run("try-method", "my_agent", "--command", "sh -c 'exit 3'", *short)
    assert "the program: crashed" in done.output
    assert "deadline_not_reached: the fallback counts" in done.output


def test_a_method_that_raises(short, tmp_path, study):
    run("new-method", "my_search", "--study", study, "--folder", tmp_path / "mine")
    path = tmp_path / "mine" / "my_search.py"
    text = path.read_text(encoding="utf-8").replace(
        "size, bounds =", "1 / 0\n        size, bounds ="
    )
    path.write_text(text, encoding="utf-8")
    _registry.discover(tmp_path / "mine")
    done = run("try-method", "my_search", *short)
    assert done.exit_code == 1
    assert "ZeroDivisionError" in done.stderr


def test_what_a_study_says_about_a_method(short, study):
    text = study.read_text(encoding="utf-8")
    text = text.replace("name: repeat_best,", "name: repeat_best, settings: {radius: 0.01},")
    study.write_text(text, encoding="utf-8")
    free = ("--setting", "anchor=false", *short)
    listed = run("try-method", "repeat_best", "--study", study, *free)
    given = run("try-method", "repeat_best", "--setting", "radius=0.01", *free)
    other = run("try-method", "repeat_best", "--setting", "radius=0.9", *free)
    assert listed.exit_code == 0, listed.output
    assert listed.output == given.output != other.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no_such"], "no method 'no_such'; there are"),
        (["random_search", "--setting", "anchor"], "write NAME=VALUE"),
        (["random_search", "--setting", "anchor=3"], "anchor"),
        (["random_search", "--command", "true", "--setting", "anchor=true"], "neither"),
        (["x", "--command", "no_such_program"], "no such program"),
        (["x", "--command", " "], "command"),
        (["x", "--study", "absent.yaml"], "absent.yaml"),
    ],
)
def test_faults_of_the_input_are_told(short, arguments, said):
    done = run("try-method", *arguments, *short)
    assert done.exit_code == 2, done.output
    assert said in done.stderr


def test_a_method_without_experiments_is_shown_at_once(monkeypatch, tmp_path):
    done = run("try-method", "fixed_reference", "--no-score", "--journal", tmp_path / "j")
    assert done.output.startswith("recommended: day_temperature_c 21")


def test_the_commands_of_the_page_exist():
    """Every option that the page shows is an option of its command."""
    text = (REPOSITORY / "docs" / "add-a-method.md").read_text(encoding="utf-8")
    shown = re.findall(r"slowlab (new-method|try-method)([^\n#`]*)", text)
    assert len(shown) >= 6
    for command, rest in shown:
        known = run(command, "--help").output
        for option in re.findall(r"--[a-z-]+", rest):
            assert option in known, option
