"""The numbers of a study as a file: one canonical JSON document."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from slowlab.canonical import JsonLimits, canonical_json, loads_strict
from slowlab.io import atomic_write_text

FORMAT = "slowlab-numbers-1"
_PACKAGES = ("greenlight", "jax", "numpy", "pandas", "scipy")
_LIMITS = JsonLimits(max_bytes=256 * 1024 * 1024)


class NumbersError(ValueError):
    """A file that holds no numbers of a study; the message says what was expected."""


def package_versions() -> dict[str, str]:
    """Versions of the packages on which numbers rest, as far as they are installed."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def write_numbers(path: str | Path, numbers: Mapping[str, Any]) -> Path:
    """Write the document as canonical JSON, in one step; equal numbers give equal bytes.

    Raises:
        CanonicalError: something in it is no plain data, such as a number that is not finite.
        OSError: the file cannot be written.
    """
    return atomic_write_text(path, canonical_json(dict(numbers)) + "\n")


def read_numbers(path: str | Path) -> dict[str, Any]:
    """Read what :func:`write_numbers` wrote, also where it was compressed to ``.gz``.

    Raises:
        StrictJsonError: not acceptable JSON.
        NumbersError: another kind of document.
        OSError: the file cannot be read.
    """
    content = Path(path).read_bytes()
    if Path(path).suffix == ".gz":
        content = gzip.decompress(content)
    numbers = loads_strict(content, _LIMITS)
    if not isinstance(numbers, dict) or numbers.get("format") != FORMAT:
        raise NumbersError(f"{path}: is not of the form {FORMAT}")
    return numbers
