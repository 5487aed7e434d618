"""Discovery of readers: every module of this package that registers one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from slowlab.config import validate_config
from slowlab.readers._base import Reader
from slowlab.registry import enter_class, import_public_modules, look_up
from slowlab.tools.artifacts import ArtifactFolder

_READERS: dict[str, type[Reader]] = {}


class ReaderError(ValueError):
    """A reader that does not exist or is registered twice; the message says what there is."""


def register(name: str) -> Callable[[type[Reader]], type[Reader]]:
    """Class decorator: make a reader known under a name.

    Raises:
        ReaderError: another class has the name.
    """

    def enter(reader: type[Reader]) -> type[Reader]:
        enter_class(_READERS, "reader", name, reader, ReaderError)
        return reader

    return enter


def registered() -> dict[str, type[Reader]]:
    """All readers by name, in alphabetical order."""
    import_public_modules("slowlab.readers")
    return dict(sorted(_READERS.items()))


def reader_class(name: str) -> type[Reader]:
    """The class behind a name.

    Raises:
        ReaderError: there is none of that name.
    """
    return look_up(registered(), "reader", name, ReaderError)


def build_reader(name: str, settings: Mapping[str, Any], artifacts: ArtifactFolder) -> Reader:
    """A reader with checked settings.

    Raises:
        ReaderError: there is none of that name.
        ConfigError: a setting does not fit.
    """
    kind = reader_class(name)
    return kind(validate_config(dict(settings), kind.Settings, f"readers.{name}"), artifacts)
