"""Locate, verify and read the GreenLight 2.0.5 definition files.

The physics of SlowLab is GreenLight's own: four JSON files of the PyPI distribution
``greenlight==2.0.5`` (Katzin et al., Clear BSD licence). They are found through the
installed distribution's metadata and read as text. The package is never imported, because
its pins (NumPy 1.26) exclude the libraries the rest of SlowLab needs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

GREENLIGHT_VERSION = "2.0.5"
_DEFINITION_FOLDER = "greenlight/models/katzin_2021/definition"
_ENTRY_FILE = "main_katzin_2021.json"

# SHA-256 of the files of GreenLight v2.0.5, commit fa502eddae5f9eff7b3380c88037d9b5f3f14bf5.
FILE_SHA256: Mapping[str, str] = MappingProxyType(
    {
        _ENTRY_FILE: "760baaeddb8d696e16895d901899536243a3ec40f5c71913e06fb2403719eb60",
        "vanthoor_2011/greenhouse_vanthoor_2011_chapter_8.json": (
            "c0fb7a025533f15b80cb6cd60aafdc19be9fe42df6b8183cf97b83fc086138b3"
        ),
        "vanthoor_2011/crop_vanthoor_2011_chapter_9_simplified.json": (
            "272a589edf0bb40d1a91b34e883f8e94b9adf747a576be4620c50296c03d7033"
        ),
        "extension_greenhouse_katzin_2021_vanthoor_2011.json": (
            "244837fca1796620edeb3c1a67d561471dff1f63ffba9b09cf21f50abbb42551"
        ),
    }
)

_HOW_TO_INSTALL = (
    f"Install the model definition with `uv sync` or "
    f"`pip install --no-deps greenlight=={GREENLIGHT_VERSION}` "
    "(--no-deps: only its data files are read, and its NumPy pin would conflict)."
)


class DefinitionError(RuntimeError):
    """The GreenLight definition files are absent, altered or malformed."""


@dataclass(frozen=True)
class Variable:
    """One named quantity of the model.

    Attributes:
        name: GreenLight's name; for a function its full signature, ``satVp(temp)``.
        kind: ``state``, ``aux``, ``const``, ``input``, ``function`` or ``time``.
        definition: the expression; of a state, its time derivative (unit per second).
        init: initial value of a state (an expression), else None.
        unit: as written in the file.
        file: the definition file that gave it.
    """

    name: str
    kind: str
    definition: str
    init: str | None
    unit: str
    file: str


@dataclass(frozen=True)
class ModelDefinition:
    """All variables of the merged model, by name, in reading order; later files win."""

    variables: Mapping[str, Variable]

    def of_kind(self, kind: str) -> tuple[str, ...]:
        """Names of all variables of a kind, in reading order."""
        return tuple(name for name, v in self.variables.items() if v.kind == kind)


def definition_folder() -> Path:
    """Folder of the installed definition files.

    Raises:
        DefinitionError: GreenLight 2.0.5 is not installed.
    """
    try:
        distribution = metadata.distribution("greenlight")
    except metadata.PackageNotFoundError as error:
        raise DefinitionError(
            f"GreenLight {GREENLIGHT_VERSION} is not installed. {_HOW_TO_INSTALL}"
        ) from error
    if distribution.version != GREENLIGHT_VERSION:
        raise DefinitionError(
            f"GreenLight {distribution.version} is installed, but SlowLab is built on "
            f"{GREENLIGHT_VERSION}. {_HOW_TO_INSTALL}"
        )
    return Path(str(distribution.locate_file(_DEFINITION_FOLDER)))


def read_verified(folder: Path | None = None) -> dict[str, bytes]:
    """Content of the four files, each checked against its SHA-256.

    Args:
        folder: where the files lie; default: the installed distribution.

    Raises:
        DefinitionError: a file is missing or its content differs; names the file.
    """
    folder = definition_folder() if folder is None else folder
    contents = {}
    for name, expected in FILE_SHA256.items():
        path = folder / name
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DefinitionError(
                f"GreenLight definition file {path} cannot be read ({error.strerror}). "
                f"{_HOW_TO_INSTALL}"
            ) from error
        found = hashlib.sha256(content).hexdigest()
        if found != expected:
            raise DefinitionError(
                f"GreenLight definition file {path} differs from release "
                f"{GREENLIGHT_VERSION}: SHA-256 {found}, expected {expected}. {_HOW_TO_INSTALL}"
            )
        contents[name] = content
    return contents


def load_definition(folder: Path | None = None) -> ModelDefinition:
    """Read, verify and merge the definition files in GreenLight's own processing order.

    Raises:
        DefinitionError: a file is missing, differs from the release, or cannot be merged.
    """
    contents = {name: json.loads(raw) for name, raw in read_verified(folder).items()}
    order = [item for item in contents[_ENTRY_FILE]["processing_order"] if isinstance(item, str)]
    merged: dict[str, Variable] = {}
    for file in order:
        if file not in contents:
            raise DefinitionError(f"{_ENTRY_FILE} asks for {file}, which is not a known file.")
        for variable in _variables(contents[file], "", file):
            merged[variable.name] = variable
    return ModelDefinition(MappingProxyType(merged))


def _variables(node: object, name: str, file: str) -> Iterator[Variable]:
    """Walk a definition file; a mapping with a ``type`` is a variable, others are sections."""
    if not isinstance(node, dict):
        return
    if isinstance(node.get("type"), str):
        yield Variable(
            name=name,
            kind=node["type"],
            definition=str(node.get("definition", name)),
            init=str(node["init"]) if "init" in node else None,
            unit=str(node.get("unit", "-")),
            file=file,
        )
        return
    for key, child in node.items():
        yield from _variables(child, key, file)
