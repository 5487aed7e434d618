"""Discovery of readers: every module of this package that registers one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from slowlab.config import validate_config
from slowlab.readers._base import Reader
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
        known = _READERS.get(name)
        if known is not None and known.__module__ != reader.__module__:
            raise ReaderError(f"reader {name!r} is registered twice: {known.__module__}")
        _READERS[name] = reader
        return reader

    return enter


@cache
def _discover() -> None:
    package = importlib.import_module("slowlab.readers")
    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"slowlab.readers.{module.name}")


def registered() -> dict[str, type[Reader]]:
    """All readers by name, in alphabetical order."""
    _discover()
    return dict(sorted(_READERS.items()))


def reader_class(name: str) -> type[Reader]:
    """The class behind a name.

    Raises:
        ReaderError: there is none of that name.
    """
    known = registered()
    if name not in known:
        raise ReaderError(f"no reader {name!r}; there are {', '.join(known)}")
    return known[name]


def build_reader(name: str, settings: Mapping[str, Any], artifacts: ArtifactFolder) -> Reader:
    """A reader with checked settings.

    Raises:
        ReaderError: there is none of that name.
        ConfigError: a setting does not fit.
    """
    kind = reader_class(name)
    return kind(validate_config(dict(settings), kind.Settings, f"readers.{name}"), artifacts)
