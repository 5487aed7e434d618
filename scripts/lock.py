"""Resolve the dependencies once and write what was resolved to every file that repeats it.

Three places hold the resolution, and this script keeps them equal:

* ``requirements.lock``: the default environment with hashes, for pip and conda;
* ``requirements-extras.lock``: what the extra ``local-lm`` adds to it;
* the constraints in ``pyproject.toml``, which make ``uv run`` resolve to the same on any day.

Usage::

    uv run scripts/lock.py                    # after an edit of a direct pin
    uv run scripts/lock.py --upgrade          # newest transitive releases
    uv run scripts/lock.py --upgrade-package NAME
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LOCK = "requirements.lock"
EXTRAS_LOCK = "requirements-extras.lock"
EXTRAS_BEYOND_DEFAULT = ("local-lm",)
HEADER = "# Written by scripts/lock.py; do not edit.\n"
BLOCK_START = "# constraints: written by scripts/lock.py; do not edit\n"
BLOCK_END = "# end of constraints\n"
BLOCK = re.compile(re.escape(BLOCK_START) + ".*?" + re.escape(BLOCK_END), re.DOTALL)


def find_uv() -> str | None:
    """Return the path of the uv program, or None where there is none."""
    return os.environ.get("UV") or shutil.which("uv")


def split_entries(lock_text: str) -> dict[str, str]:
    """Return the entries of a lock, text by requirement line, in the order of the file."""
    entries: dict[str, str] = {}
    for chunk in re.split(r"\n(?=[A-Za-z0-9])", lock_text.strip()):
        lines = [line for line in chunk.splitlines() if not line.startswith("#")]
        if lines:
            entries[lines[0].removesuffix("\\").strip()] = "\n".join(lines) + "\n"
    return entries


def constraint_lines(requirements: Iterable[str]) -> list[str]:
    """Return the constraints that hold a resolution in place.

    A marker is kept only where one package is locked at several versions; elsewhere it would leave
    the version open on the platforms that it excludes.
    """
    parsed = [Requirement(line) for line in requirements]
    names = [canonicalize_name(requirement.name) for requirement in parsed]
    lines = []
    for name, requirement in zip(names, parsed, strict=True):
        forked = names.count(name) > 1 and requirement.marker is not None
        lines.append(
            f"{name}{requirement.specifier}" + (f" ; {requirement.marker}" if forked else "")
        )
    return sorted(lines)


def render_block(constraints: Iterable[str]) -> str:
    """Return the marked block of ``pyproject.toml`` that holds ``constraints``."""
    rows = "".join(f"    {_toml_string(line)},\n" for line in constraints)
    return f"{BLOCK_START}constraint-dependencies = [\n{rows}]\n{BLOCK_END}"


def export(project: Path, uv: str) -> tuple[str, str]:
    """Resolve ``project`` and return the text of its two locks."""
    _run([uv, "lock", "--quiet"], project)
    command = [uv, "export", "--quiet", "--frozen", "--format", "requirements-txt"]
    command += ["--no-emit-project", "--no-header", "--no-annotate"]
    default = _run(command, project)
    extras = [flag for name in EXTRAS_BEYOND_DEFAULT for flag in ("--extra", name)]
    complete = split_entries(_run(command + extras, project))
    known = split_entries(default)
    added = "".join(text for line, text in complete.items() if line not in known)
    return HEADER + default, HEADER + added


def copy_project(target: Path, drop: set[str] | None) -> None:
    """Copy what a resolution reads to ``target``, less the constraints on ``drop`` (None: all)."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    constraints = tomllib.loads(text)["tool"]["uv"].get("constraint-dependencies", [])
    kept = [] if drop is None else [line for line in constraints if _name(line) not in drop]
    (target / "pyproject.toml").write_text(_with_block(text, kept), encoding="utf-8")
    shutil.copy(ROOT / ".python-version", target)


def changed_direct_pins() -> set[str]:
    """Return the packages whose pin in ``pyproject.toml`` is not the one that is locked."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    locked = set(document["tool"]["uv"].get("constraint-dependencies", []))
    return {_name(pin) for pin in direct_pins(document) if pin not in locked}


def direct_pins(document: dict) -> list[str]:
    """Return every ``name==version`` that a parsed ``pyproject.toml`` declares itself."""
    project = document["project"]
    lines = list(project["dependencies"])
    for extra in project.get("optional-dependencies", {}).values():
        lines += extra
    for group in document.get("dependency-groups", {}).values():
        lines += [line for line in group if isinstance(line, str)]
    own = canonicalize_name(project["name"])
    return [f"{_name(line)}{Requirement(line).specifier}" for line in lines if _name(line) != own]


def main() -> int:
    """Write both locks and the constraints; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--upgrade", action="store_true", help="forget every locked version")
    parser.add_argument("--upgrade-package", action="append", default=[], metavar="NAME")
    arguments = parser.parse_args()
    uv = find_uv()
    if uv is None:
        parser.error("uv is not on the path: pip install uv")
    drop = changed_direct_pins() | {canonicalize_name(name) for name in arguments.upgrade_package}
    with tempfile.TemporaryDirectory() as folder:
        copy_project(Path(folder), None if arguments.upgrade else drop)
        default, extras = export(Path(folder), uv)
    pyproject = ROOT / "pyproject.toml"
    constraints = constraint_lines([*split_entries(default), *split_entries(extras)])
    text = _with_block(pyproject.read_text(encoding="utf-8"), constraints)
    pyproject.write_text(text, encoding="utf-8")
    (ROOT / LOCK).write_text(default, encoding="utf-8")
    (ROOT / EXTRAS_LOCK).write_text(extras, encoding="utf-8")
    print(f"{len(split_entries(default))} packages locked, {len(split_entries(extras))} for extras")
    return 0


def _with_block(text: str, constraints: list[str]) -> str:
    if not BLOCK.search(text):
        raise SystemExit(f"pyproject.toml lacks the line {BLOCK_START.strip()!r} under [tool.uv]")
    return BLOCK.sub(lambda _: render_block(constraints), text)


def _name(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def _toml_string(text: str) -> str:
    return f"'{text}'" if '"' in text else f'"{text}"'


def _run(command: list[str], folder: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    result = subprocess.run(
        command, cwd=folder, env=environment, text=True, capture_output=True, check=False
    )
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command[:2])} failed:\n{result.stderr}")
    return result.stdout


if __name__ == "__main__":
    sys.exit(main())
