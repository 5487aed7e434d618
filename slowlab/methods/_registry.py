"""Discovery of methods: every module of this package that does not begin with an underscore.

Methods may also live in other folders: those that are named in the environment variable
``SLOWLAB_METHODS_PATH`` (separated as in ``PATH``), and whatever :func:`discover` is given.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from slowlab.config import validate_config
from slowlab.methods._base import Method, MethodError
from slowlab.registry import enter_class, import_public_modules, look_up
from slowlab.tools.artifacts import ArtifactFolder

PATH_VARIABLE = "SLOWLAB_METHODS_PATH"
NAME_PATTERN = r"^[a-z][a-z0-9_]{0,47}$"
"""Names of methods: they stand in paths, tables and modules."""
_METHODS: dict[str, type[Method]] = {}


def register[MethodT: Method](name: str) -> Callable[[type[MethodT]], type[MethodT]]:
    """Class decorator: make a method known under a name.

    Raises:
        MethodError: another class has the name, or the name or the class will not do.
    """

    def enter(method: type[MethodT]) -> type[MethodT]:
        if re.fullmatch(NAME_PATTERN, name) is None:
            raise MethodError(f"method {name!r}: a name has small letters, digits and underscores")
        if not issubclass(method, Method):
            raise MethodError(f"method {name!r}: {method.__name__} is no subclass of Method")
        enter_class(_METHODS, "method", name, method, MethodError)
        return method

    return enter


def discover(folder: str | Path) -> None:
    """Import every module of a folder that does not begin with an underscore.

    A module that was imported before is not imported again.

    Raises:
        MethodError: no such folder, or a module that cannot be imported; the message names it.
    """
    place = Path(folder).resolve()
    if not place.is_dir():
        raise MethodError(f"{folder}: there is no such folder of methods")
    for file in sorted(place.glob("*.py")):
        if not file.name.startswith("_"):
            _import_file(file)


def _import_file(file: Path) -> None:
    """Import a file as a module with a name of its own."""
    folder = hashlib.sha256(str(file.parent).encode()).hexdigest()[:12]
    name = f"slowlab_methods_{folder}.{file.stem}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        for known in [known for known, kind in _METHODS.items() if kind.__module__ == name]:
            del _METHODS[known]
        raise MethodError(f"{file}: cannot be imported: {type(error).__name__}: {error}") from error


def registered() -> dict[str, type[Method]]:
    """All methods by name, in alphabetical order.

    Raises:
        MethodError: a folder of ``SLOWLAB_METHODS_PATH`` cannot be used.
    """
    import_public_modules("slowlab.methods")
    for folder in os.environ.get(PATH_VARIABLE, "").split(os.pathsep):
        if folder:
            discover(folder)
    return dict(sorted(_METHODS.items()))


def method_class(name: str) -> type[Method]:
    """The class behind a name.

    Raises:
        MethodError: there is none of that name.
    """
    return look_up(registered(), "method", name, MethodError)


def method_source(name: str) -> Path:
    """The file in which a method is written."""
    return Path(str(sys.modules[method_class(name).__module__].__file__))


def build_method(name: str, settings: Mapping[str, Any], artifacts: ArtifactFolder) -> Method:
    """A method with checked settings.

    Raises:
        MethodError: there is none of that name.
        ConfigError: a setting does not fit.
    """
    kind = method_class(name)
    return kind(validate_config(dict(settings), kind.Settings, f"methods.{name}"), artifacts)
