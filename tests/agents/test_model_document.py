"""docs/run-a-language-model.md: its examples are acceptable and its commands exist."""

import re
import shutil
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from slowlab.agents.books import Caps
from slowlab.agents.models import load_models
from slowlab.agents.profile import PROFILE_FOLDER, load_profile
from slowlab.agents.standins import SCRIPTS, model_name
from slowlab.cli import app
from slowlab.config import CONFIG_ROOT, validate_config
from slowlab.plan.entries import MethodEntry, ReaderEntry

PAGE = (CONFIG_ROOT.parent / "docs" / "run-a-language-model.md").read_text(encoding="utf-8")
YAML = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = sorted(
    set(re.findall(r"uv run slowlab ([a-z][a-z-]*(?: [a-z][a-z-]*\b(?![/.]))*)", PAGE))
)


def block(begin):
    (found,) = (text for text in YAML if text.startswith(begin))
    return found


def test_the_model_is_an_entry_of_the_file_of_models(tmp_path):
    path = tmp_path / "models.yaml"
    path.write_text(block("models:"), encoding="utf-8")
    model = load_models(path)["my-model"]
    assert model.function_calls
    assert model.price is not None


def test_methods_and_readers_are_entries_of_a_study():
    lines = yaml.safe_load(block("methods:"))
    for kind, items in ((MethodEntry, lines["methods"]), (ReaderEntry, lines["readers"])):
        for item in items:
            assert validate_config(item, kind).model == "my-model"


def test_the_profile_extends_one_that_is_there(tmp_path):
    shutil.copytree(PROFILE_FOLDER, tmp_path, dirs_exist_ok=True)
    (tmp_path / "short.yaml").write_text(block("# config/harness/short.yaml"), encoding="utf-8")
    assert load_profile("short", tmp_path).budgets.model_calls == 100


def test_the_caps_are_caps():
    caps = validate_config(yaml.safe_load(block("spending:"))["spending"], Caps)
    assert caps.usd == 5.0


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_exist(command):
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0, result.output


def test_all_commands_were_found():
    names = {command.strip() for command in COMMANDS}
    assert {"cost", "replay", "transcript page", "lm serve", "lm stand-ins"} <= names


def test_every_stand_in_and_profile_is_named():
    for script in SCRIPTS:
        assert f"`{model_name(script)}`" in PAGE
    for path in PROFILE_FOLDER.glob("*.yaml"):
        assert f"`{path.stem}`" in PAGE


def test_linked_files_are_there():
    for target in re.findall(r"\]\(([^)#]+\.md)", PAGE):
        assert (CONFIG_ROOT.parent / "docs" / Path(target)).exists()
