"""Classes that are known under a name: what the registers of methods and of readers share.

A register is a plain dictionary from names to classes, which the register's own module keeps.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache


def enter_class[ClassT: type](
    register: dict[str, ClassT], noun: str, name: str, kind: ClassT, error: type[Exception]
) -> None:
    """Make a class known under a name; the same module may enter a name again.

    Args:
        register: where it is entered.
        noun: what its classes are, for messages.
        name: the name.
        kind: the class.
        error: what is raised where a class of another module has the name.
    """
    known = register.get(name)
    if known is not None and known.__module__ != kind.__module__:
        raise error(f"{noun} {name!r} is registered twice: {known.__module__}")
    register[name] = kind


@cache
def import_public_modules(package: str) -> None:
    """Import every module of a package that does not begin with an underscore, once."""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{package}.{module.name}")


def look_up[ClassT: type](
    register: Mapping[str, ClassT], noun: str, name: str, error: type[Exception]
) -> ClassT:
    """The class behind a name.

    Args:
        register: where it is looked up.
        noun: what its classes are, for messages.
        name: the name.
        error: what is raised where there is none; its message says what there is.
    """
    if name not in register:
        raise error(f"no {noun} {name!r}; there are {', '.join(register)}")
    return register[name]
