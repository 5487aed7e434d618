"""Content hashes of what a job calls, so that an edit reruns exactly what it concerns.

The files of a job are found by following ``import`` statements from the modules it starts with,
within this package, whether they stand at the top or inside a function. Docstrings and comments
count: telling them apart from code is not worth a mistake.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from slowlab.canonical import text_sha256

PACKAGE = Path(__file__).resolve().parents[1]
_NAME = PACKAGE.name


def code_sha256(modules: Iterable[str], files: Iterable[Path] = ()) -> str:
    """Hash of modules, of everything in this package that they import, and of further files.

    Args:
        modules: dotted names, such as ``slowlab.methods.prior_bo``.
        files: further files; their names count as well.

    Raises:
        ModuleNotFoundError: there is no such module in this package.
        OSError: a file cannot be read.
    """
    digest = hashlib.sha256()
    for path in sorted(closure(modules)):
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\0{_sha256(path)}\n".encode())
    for path in sorted(Path(file) for file in files):
        digest.update(f"{path.name}\0{text_sha256(path.read_bytes())}\n".encode())
    return digest.hexdigest()


def closure(modules: Iterable[str]) -> set[Path]:
    """Files of the modules and of all that they import from this package."""
    waiting = [path for name in modules for path in _with_parents(name)]
    found = set[Path]()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imports(path)
    return found


def _with_parents(name: str) -> list[Path]:
    """The file of a module and those of its packages."""
    if _find(name) is None:
        raise ModuleNotFoundError(f"no module {name} in {_NAME}")
    return [path for part in _parents(name) if (path := _find(part)) is not None]


@cache
def _find(name: str) -> Path | None:
    """The file of a dotted name, or None where it is no module of this package."""
    first, *rest = name.split(".")
    if first != _NAME:
        return None
    base = PACKAGE.joinpath(*rest)
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file() and (rest or path.name == "__init__.py"):
            return path
    return None


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    """Files of this package that one file imports; every parent package counts too."""
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    found = (_find(part) for name in names for part in _parents(name))
    return tuple(sorted({path for path in found if path is not None}))


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[: end + 1]) for end in range(len(parts))]


@cache
def _sha256(path: Path) -> str:
    return text_sha256(path.read_bytes())
