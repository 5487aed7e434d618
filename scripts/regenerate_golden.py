"""Regenerate the golden numbers in ``slowlab/greenlight/data`` with GreenLight 2.0.5 itself.

Usage: ``python scripts/regenerate_golden.py [rhs] [two-days] [--folder FOLDER]``

Without a name all files are made. Needs the network the first time (the oracle environment is
built under the cache folder). Requests come from fixed seeds, so the same pins on the same
platform give the same numbers; every file carries its seed, the pins and the digests of the
definition files.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from slowlab.greenlight.golden import golden_path
from slowlab.greenlight.oracle import OracleResult, run_oracle, two_days
from slowlab.greenlight.oracle.environment import packaged_file
from slowlab.greenlight.oracle.random_states import INPUT_NAMES, STATE_NAMES, draw_rows
from slowlab.io import atomic_path

RHS_SEED = 20_091_020
RHS_ROWS = 2_000
RHS_SPARE_ROWS = 100
TIGHT_SOLVER = {"solver": "LSODA", "rtol": "1e-10", "atol": "1e-9"}


def write_archive(path: Path, info: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a compressed archive atomically, with ``info`` as JSON under the key ``json``."""
    with atomic_path(path) as part:
        np.savez_compressed(part, json=np.array(json.dumps(dict(info), sort_keys=True)), **arrays)


def make_rhs(path: Path) -> dict[str, Any]:
    """Make the right-hand-side file and return a summary.

    Rows at which GreenLight gives a value that is not finite are dropped; the next ones of the
    same seeded series take their place.
    """
    states, inputs = draw_rows(RHS_SEED, 0, RHS_ROWS + RHS_SPARE_ROWS)
    names = {"state_names": np.array(STATE_NAMES), "input_names": np.array(INPUT_NAMES)}
    result = run_oracle("greenlight_rhs", arrays={**names, "states": states, "inputs": inputs})
    derivatives = result.arrays["derivatives"]
    finite = np.isfinite(derivatives).all(axis=1)
    kept = np.flatnonzero(finite)[:RHS_ROWS]
    if len(kept) < RHS_ROWS:
        raise SystemExit(f"only {len(kept)} of {len(states)} drawn rows are finite")
    info = {
        "about": "GreenLight's own right-hand side, unmodified main_katzin_2021.json",
        "seed": RHS_SEED,
        "rows_dropped_not_finite": int((~finite[: kept[-1] + 1]).sum()),
        "versions": result.info["versions"],
        "definition_sha256": result.info["definition_sha256"],
    }
    arrays = {"rows": kept, "states": states[kept], "inputs": inputs[kept]}
    write_archive(path, info, {**names, **arrays, "derivatives": derivatives[kept]})
    return info | {key: round(result.info[key], 2) for key in ("load_s", "evaluate_s")}


def make_two_days(path: Path) -> dict[str, Any]:
    """Make the two-day file and return a summary.

    The case is solved twice by GreenLight: with its default solver settings, and with tight
    tolerances; the difference of the two is GreenLight's own solver error.
    """
    records = two_days.weather_records(
        packaged_file(two_days.WEATHER_FILE),
        two_days.WEATHER_START_DAY,
        int(two_days.TICKS * two_days.TICK_S / two_days.RECORD_S),
    )
    request = {
        "state_names": np.array(list(two_days.INITIAL)),
        "initial": np.array(list(two_days.INITIAL.values())),
        "input_names": np.array(two_days.INPUT_NAMES),
        "inputs": two_days.held_inputs(records),
    }
    default = run_two_days(request, {})
    tight = run_two_days(request, TIGHT_SOLVER)
    info = {
        "about": "two Bleiswijk winter days, held commands, GreenLight restarted every tick",
        "seed": two_days.SEED,
        "tick_s": two_days.TICK_S,
        "solver": default.info["solver"],
        "tight_solver": tight.info["solver"],
        "evaluations": [default.info["evaluations"], tight.info["evaluations"]],
        "versions": default.info["versions"],
        "definition_sha256": default.info["definition_sha256"],
    }
    arrays = {key: default.arrays[key] for key in ("time_s", "integral_names")}
    for name in ("states", "integrals"):
        arrays |= {name: default.arrays[name], f"tight_{name}": tight.arrays[name]}
    write_archive(path, info, {**request, **arrays})
    return info | {"solve_s": [round(run.info["solve_s"], 1) for run in (default, tight)]}


def run_two_days(request: Mapping[str, np.ndarray], solver: Mapping[str, str]) -> OracleResult:
    """Run the two-day case with some of GreenLight's solver options replaced."""
    options = {"tick_s": two_days.TICK_S, "solver": dict(solver)}
    return run_oracle("greenlight_simulate", options, request)


MAKERS: dict[str, tuple[str, Callable[[Path], dict[str, Any]]]] = {
    "rhs": ("greenlight_rhs.npz", make_rhs),
    "two-days": ("greenlight_two_days.npz", make_two_days),
}


def main() -> None:
    """Make the chosen files and print what each holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"files to make, of {', '.join(MAKERS)} (all)")
    default = golden_path("greenlight_rhs").parent
    parser.add_argument("--folder", type=Path, default=default, help="where the files go")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(MAKERS)
    if unknown:
        parser.error(f"unknown file {sorted(unknown)[0]!r}; there are {', '.join(MAKERS)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or MAKERS:
        file_name, make = MAKERS[name]
        path = arguments.folder / file_name
        print(f"{path}: {json.dumps(make(path))}")


if __name__ == "__main__":
    main()
