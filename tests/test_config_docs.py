"""Generated schemas and tables of keys are up to date and complete."""

import shutil

import pytest

from slowlab.config import CONFIG_ROOT
from slowlab.config_docs import (
    BEGIN,
    KINDS,
    generated_files,
    out_of_date,
    render_keys,
    render_schema,
)

ROOT = CONFIG_ROOT.parent


def test_generated_files_are_up_to_date():
    stale = [path.name for path in out_of_date(ROOT)]
    assert stale == [], "run: python -m slowlab.config_docs"


def test_every_key_is_explained():
    rows = [line for line in render_keys().splitlines() if line.startswith("| `")]
    assert len(rows) > 150
    for row in rows:
        key, allowed, default, meaning = (cell.strip() for cell in row.strip("|").split(" | "))
        assert meaning, f"{key} has no description"
        assert allowed, f"{key} does not say what is allowed"
        assert default


def test_keys_are_unique_within_a_file_kind():
    for kind in KINDS:
        keys = [
            row.split("|")[1] for row in render_keys((kind,)).splitlines() if row.startswith("| `")
        ]
        assert len(set(keys)) == len(keys)


def test_schemas_are_stable():
    for kind in KINDS:
        assert render_schema(kind.model) == render_schema(kind.model)
        assert '"additionalProperties": false' in render_schema(kind.model)


def test_a_changed_file_is_noticed(tmp_path):
    for folder in ("config", "workflow/schemas"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    assert out_of_date(tmp_path) == []
    schema = tmp_path / "workflow" / "schemas" / "sites.schema.json"
    schema.write_text(
        schema.read_text(encoding="utf-8").replace("low", "lower", 1), encoding="utf-8"
    )
    assert out_of_date(tmp_path) == [schema]
    readme = tmp_path / "config" / "README.md"
    readme.write_text(readme.read_text(encoding="utf-8").replace(BEGIN, ""), encoding="utf-8")
    with pytest.raises(ValueError, match="markers"):
        generated_files(tmp_path)
