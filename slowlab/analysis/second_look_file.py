"""The Bayesian second look as files: draws in NetCDF, and what is reported as canonical JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from slowlab.analysis.samples import Array
from slowlab.analysis.second_look_data import LookData
from slowlab.analysis.second_look_model import Fit
from slowlab.analysis.second_look_summary import STATISTICS
from slowlab.canonical import JsonLimits, canonical_json, loads_strict
from slowlab.io import atomic_path, atomic_write_text

if TYPE_CHECKING:
    from xarray import DataTree

FORMAT = "slowlab-second-look-1"
_LIMITS = JsonLimits(max_bytes=64 * 1024 * 1024)

Look = Mapping[str, Any]


class SecondLookError(ValueError):
    """A file that holds no second look, or one that misses a gate; the message says which."""


def write_second_look(path: str | Path, look: Look) -> Path:
    """Write what is reported as canonical JSON, in one step; equal ones give equal bytes.

    Raises:
        CanonicalError: something in it is no plain data.
        OSError: the file cannot be written.
    """
    return atomic_write_text(path, canonical_json(dict(look)) + "\n")


def read_second_look(path: str | Path) -> dict[str, Any]:
    """Read what :func:`write_second_look` wrote.

    Raises:
        StrictJsonError: not acceptable JSON.
        SecondLookError: another kind of document.
        OSError: the file cannot be read.
    """
    found = loads_strict(Path(path).read_bytes(), _LIMITS)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise SecondLookError(f"{path}: is not of the form {FORMAT}")
    return found


def missed_gates(look: Look) -> list[str]:
    """A line for each gate that is missed; where there is any, the second look is not shown."""
    return [_gate_line(gate) for gate in look["gates"] if not gate["holds"]]


def gate_lines(look: Look) -> list[str]:
    """A line for each gate."""
    return [_gate_line(gate) for gate in look["gates"]] or ["no test to model, no gate to miss"]


def require_gates(look: Look) -> list[str]:
    """One line for each gate, if all hold.

    Raises:
        SecondLookError: names every gate that is missed, with the parameter, value and limit.
    """
    missed = missed_gates(look)
    if missed:
        raise SecondLookError("the second look is not shown, it misses " + "; ".join(missed))
    return gate_lines(look)


def draws_tree(
    data: LookData, fit: Fit | None, observed: Array | None, drawn: Array | None, about: Look
) -> DataTree:
    """The draws as ArviZ keeps them.

    Args:
        data: the tests.
        fit: the draws; None where no test is modelled.
        observed: ``[test, statistic]`` of the study.
        drawn: ``[chain, draw, test, statistic]`` of replications.
        about: attributes of the whole, plain text and numbers.

    Returns:
        Groups ``posterior``, ``sample_stats``, ``posterior_predictive`` and ``observed_data``; the
        last alone, without tests, where there is no model. It bears no time.
    """
    import arviz as az

    groups: dict[str, Any] = {"observed_data": {"difference": data.values}}
    if fit is not None:
        groups = {
            "posterior": fit.posterior,
            "sample_stats": fit.stats,
            "posterior_predictive": {"difference_statistic": drawn},
            "observed_data": {"difference": data.values, "difference_statistic": observed},
        }
    tree = az.from_dict(
        groups,
        coords={
            "site": list(data.sites),
            "test": list(data.tests),
            "cell": list(data.cells),
            "question": [] if fit is None else list(fit.questions),
            "statistic": list(STATISTICS),
        },
        dims={
            "mu": ["test"],
            "sigma": ["test"],
            "omega": ["cell"],
            "tau": ["question"],
            "difference": ["site", "test"],
            "difference_statistic": ["test", "statistic"],
        },
    )
    for node in tree.subtree:
        node.attrs = {}
    tree.attrs = dict(about)
    return tree


def write_draws(path: str | Path, tree: DataTree) -> Path:
    """Write draws as NetCDF, in one step; equal draws give equal bytes.

    Raises:
        OSError: the file cannot be written.
    """
    with atomic_path(path) as part:
        tree.to_netcdf(part, engine="h5netcdf")
    return Path(path)


def read_draws(path: str | Path) -> DataTree:
    """Read what :func:`write_draws` wrote, whole; as ``arviz.from_netcdf`` does.

    Raises:
        OSError: the file cannot be read.
    """
    import xarray

    with xarray.open_datatree(path, engine="h5netcdf") as tree:
        return tree.load()


def _gate_line(gate: Mapping[str, Any]) -> str:
    words = "at most" if gate["name"] in ("r_hat", "divergences") else "at least"
    value = gate["measured"]
    shown = "no number" if value is None else f"{np.float64(value):.6g}"
    return f"{gate['name']} of {gate['where']}: {shown}, {words} {gate['limit']:g}"
