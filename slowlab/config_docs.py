"""JSON schemas and the table of keys, generated from the configuration models.

``python -m slowlab.config_docs`` rewrites ``workflow/schemas/*.schema.json`` and the generated part
of ``config/README.md``; with ``--check`` it only says what is out of date. A test runs the check.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowlab.agents.models import ModelsFile
from slowlab.agents.profile import HarnessProfile
from slowlab.config import CONFIG_ROOT, ConfigModel
from slowlab.development.config import DevelopmentConfig
from slowlab.io import atomic_write_text
from slowlab.plan.study import StudyConfig
from slowlab.prereg.declaration import Declaration
from slowlab.schema_text import Schema, describe, options, resolve
from slowlab.world.contract import Contract
from slowlab.world.partitions import Partitions
from slowlab.world.sensors import SensorSpec
from slowlab.world.site_distribution import SiteDistribution

SCHEMA_FOLDER = Path("workflow") / "schemas"
KEYS_FILE = Path("config") / "README.md"
BEGIN, END = "<!-- keys: generated, do not edit -->", "<!-- end of keys -->"


@dataclass(frozen=True)
class ConfigKind:
    """One kind of configuration file.

    Attributes:
        name: name of its schema.
        files: where the files lie, as shown to the reader.
        model: its model.
    """

    name: str
    files: str
    model: type[ConfigModel]


KINDS = (
    ConfigKind("study", "config.yaml`, `paper.yaml`, `confirmatory.yaml", StudyConfig),
    ConfigKind("development", "development.yaml", DevelopmentConfig),
    ConfigKind("models", "models.yaml", ModelsFile),
    ConfigKind("harness", "harness/*.yaml", HarnessProfile),
    ConfigKind("contract", "contracts/*.yaml", Contract),
    ConfigKind("sites", "sites/*.yaml", SiteDistribution),
    ConfigKind("sensors", "sensors/*.yaml", SensorSpec),
    ConfigKind("partitions", "partitions/*.yaml", Partitions),
    ConfigKind("preregistration", "../preregistration/study.yaml", Declaration),
)
"""Every kind of configuration file that has a schema and a table of keys."""


def render_schema(model: type[ConfigModel]) -> str:
    """The JSON schema of a model as text; equal models give equal text."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(),
    }
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def render_keys(kinds: tuple[ConfigKind, ...] = KINDS) -> str:
    """Tables of all keys, in Markdown: key, what is allowed, default, meaning."""
    parts = []
    for kind in kinds:
        root = kind.model.model_json_schema()
        parts += [f"## `{kind.files}`", "", root.get("description", ""), ""]
        parts += ["| key | allowed | default | meaning |", "|---|---|---|---|"]
        parts += [_markdown_row(row) for row in _rows(root, root, "")]
        parts.append("")
    return "\n".join(parts)


def generated_files(root: Path) -> dict[Path, str]:
    """Path and content of every generated file.

    Args:
        root: the repository; its ``config/README.md`` must hold both markers.

    Raises:
        ValueError: a marker is missing.
    """
    readme = (root / KEYS_FILE).read_text(encoding="utf-8")
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{KEYS_FILE} must hold the markers {BEGIN} and {END}")
    files = {
        root / SCHEMA_FOLDER / f"{kind.name}.schema.json": render_schema(kind.model)
        for kind in KINDS
    }
    files[root / KEYS_FILE] = f"{before}{BEGIN}\n\n{render_keys()}\n{END}{after}"
    return files


def out_of_date(root: Path) -> list[Path]:
    """Generated files that are missing or differ from what the models say."""
    return [
        path
        for path, content in generated_files(root).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != content
    ]


def main(arguments: list[str]) -> int:
    """Write the generated files, or with ``--check`` list those that are out of date."""
    root = CONFIG_ROOT.parent
    stale = out_of_date(root)
    contents = generated_files(root)
    for path in stale:
        print(path.relative_to(root))
        if "--check" not in arguments:
            atomic_write_text(path, contents[path])
    return 1 if stale and "--check" in arguments else 0


@dataclass(frozen=True)
class _Row:
    """One line of the table of keys."""

    key: str
    allowed: str
    default: str
    meaning: str


def _rows(schema: Schema, root: Schema, prefix: str) -> Iterator[_Row]:
    """A row for every key of an object, groups before their members."""
    required = schema.get("required", [])
    for name, member in schema.get("properties", {}).items():
        key = f"{prefix}{name}"
        choices = options(member, root)
        allowed = " or ".join(dict.fromkeys(describe(choice, root) for choice in choices))
        default = "required" if name in required else _default_text(member)
        yield _Row(key, allowed, default, resolve(member, root).get("description", ""))
        for choice in choices:
            yield from _members(choice, root, key)


def _members(schema: Schema, root: Schema, key: str) -> Iterator[_Row]:
    """Rows of what lies below a key: named members, free names, list items."""
    yield from _rows(schema, root, f"{key}.")
    below = {f"{key}.<name>": schema.get("additionalProperties"), f"{key}[]": schema.get("items")}
    for prefix, member in below.items():
        for choice in options(member, root) if isinstance(member, dict) else ():
            yield from _members(choice, root, prefix + _variant(choice))


def _variant(schema: Schema) -> str:
    """Name of a form that is chosen by a key with a fixed value, as in ``{exact}``."""
    fixed = [item["const"] for item in schema.get("properties", {}).values() if "const" in item]
    return f"{{{fixed[0]}}}" if fixed else ""


def _default_text(member: dict[str, Any]) -> str:
    return f"`{json.dumps(member['default'])}`" if "default" in member else "required"


def _markdown_row(row: _Row) -> str:
    cells = (f"`{row.key}`", row.allowed, row.default, row.meaning)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
