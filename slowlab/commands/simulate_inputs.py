"""From options and files to checked inputs of a simulation."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slowlab.canonical import StrictJsonError, loads_strict
from slowlab.commands.errors import InputError
from slowlab.greenlight.lanes import HARD_BOUNDS
from slowlab.strict_yaml import YamlError, parse_yaml
from slowlab.weather import WeatherSeries, bleiswijk_winter, read_weather
from slowlab.world.contract import Contract
from slowlab.world.policy import Policy, PolicyError, parse_policy

BLEISWIJK = "bleiswijk"
_POLICY_FORMATS = (".json", ".yaml", ".yml")


def choose_policy(contract: Contract, path: Path | None, given: Mapping[str, Any]) -> Policy:
    """The policy of a file, or the contract's fixed reference, with some fields replaced.

    Args:
        contract: bounds and fixed reference.
        path: YAML or JSON file with the six fields.
        given: values of options by policy field; None where an option was not given.

    Raises:
        InputError: the file is not YAML or JSON, or the policy is refused; says where and why.
        OSError: the file cannot be read.
    """
    fields = contract.fixed_reference.model_dump() if path is None else _read_mapping(path)
    changed = {name: value for name, value in given.items() if value is not None}
    if isinstance(fields, dict):
        fields = fields | changed
    try:
        return parse_policy(fields, contract.policy)
    except PolicyError as error:
        origins = (["options"] if changed else []) + ([] if path is None else [str(path)])
        where = f"policy ({' and '.join(origins) or contract.label})"
        raise InputError(f"{where}: {error}") from None


def _read_mapping(path: Path) -> Any:
    """Content of a YAML or JSON file."""
    if path.suffix.lower() not in _POLICY_FORMATS:
        raise InputError(f"{path}: a policy file ends in {', '.join(_POLICY_FORMATS)}")
    raw = path.read_bytes()
    try:
        if path.suffix.lower() == ".json":
            return loads_strict(raw)
        return parse_yaml(raw.decode("utf-8")).data
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not valid UTF-8 at byte {error.start}") from None
    except YamlError as error:
        place = path if error.line is None else f"{path}:{error.line}"
        raise InputError(f"{place}: {': '.join(filter(None, (error.key, str(error))))}") from None
    except StrictJsonError as error:
        raise InputError(f"{path}: {error}") from None


def choose_weather(name: str, start: str | None) -> WeatherSeries:
    """The packaged Bleiswijk winter, or the weather of a file.

    Args:
        name: ``bleiswijk`` or a path.
        start: ISO local time of the first record, for files that hold no date.

    Raises:
        InputError: the file cannot be used; the message names it.
        OSError: the file cannot be read.
    """
    if name == BLEISWIJK:
        return bleiswijk_winter()
    path = Path(name)
    try:
        return read_weather(path, start=start)
    except ValueError as error:
        message = str(error).removeprefix(f"{path.name}: ")
        raise InputError(f"weather file {path}: {message}") from None


def parse_parameters(texts: Sequence[str]) -> dict[str, float]:
    """Hidden parameters from ``name=value`` texts.

    Raises:
        InputError: names the parameter and its bounds.
    """
    values: dict[str, float] = {}
    for text in texts:
        name, _, number = (part.strip() for part in text.partition("="))
        if name not in HARD_BOUNDS:
            raise InputError(
                f"--parameter {text}: unknown parameter {name!r}; there are "
                f"{', '.join(HARD_BOUNDS)}"
            )
        if name in values:
            raise InputError(f"--parameter {text}: {name} is given twice")
        values[name] = _inside(text, name, number)
    return values


def _inside(text: str, name: str, number: str) -> float:
    """The number of an option, if it lies inside the hard bounds of the parameter."""
    low, high = HARD_BOUNDS[name]
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise InputError(f"--parameter {text}: {name} must be a number from {low:g} to {high:g}")
    return value


def choose_folder(out: Path | None, weather: str, mode: str, run: str) -> Path:
    """Where the files go: the given folder, or one named after the run.

    Args:
        out: the folder that was asked for.
        weather: as given to :func:`choose_weather`.
        mode: ``crop`` or ``year``.
        run: hash of the run.
    """
    if out is not None:
        return out
    stem = re.sub(r"[^a-z0-9]+", "-", Path(weather).stem.lower()).strip("-") or "weather"
    return Path("results", "simulate", f"{stem}-{mode}-{run[:8]}")
