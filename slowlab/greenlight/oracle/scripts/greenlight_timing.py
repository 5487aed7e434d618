"""Time GreenLight's own native run, as a user would make it.

Usage (inside the oracle environment): ``python greenlight_timing.py REQUEST.npz RESULT.npz``

``greenlight.GreenLight()`` with its default model (``main_katzin_2021.json``, native controls and
geometry), its packaged Bleiswijk weather and its default solver settings. Option ``days``
(default 1): the simulated time. Nothing is changed but the length of the run; the progress line
goes to the null device, nothing is saved.

Result: no arrays; ``load_s``, ``solve_s`` (GreenLight's ``solve()``, which also evaluates all
auxiliary values at the solver's steps), ``evaluations``, ``steps`` and ``lane_days_per_s``
(simulated days of one greenhouse per second of ``solve_s``; loading is not counted).
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from greenlight_driver import (
    definition_digests,
    function_calls,
    package_versions,
    quiet,
    read_request,
    write_result,
)


def time_native_run(days: float) -> dict[str, Any]:
    """Run GreenLight for ``days`` days and return the times, s; RuntimeError if it fails."""
    from greenlight import GreenLight

    with tempfile.TemporaryDirectory() as name, quiet():
        started = time.perf_counter()
        model = GreenLight(
            output_path=str(Path(name) / "unused.csv"),
            optional_prompt={"options": {"t_end": str(days * 86_400.0)}},
        )
        model.load()
        loaded = time.perf_counter()
        model.solve()
        finished = time.perf_counter()
    if not model.states_sol.success:
        raise RuntimeError(f"GreenLight's solver failed: {model.states_sol.message}")
    return {
        "days": days,
        "load_s": loaded - started,
        "solve_s": finished - loaded,
        "evaluations": function_calls(model.states_sol, model.options["solver"]),
        "steps": len(model.states_sol.t) - 1,
        "lane_days_per_s": days / (finished - loaded),
        "solver": {key: model.options[key] for key in ("solver", "rtol", "atol", "max_step")},
    }


def main(request_path: str, result_path: str) -> None:
    """Answer one request."""
    options, _ = read_request(request_path)
    info = time_native_run(float(options.get("days", 1.0)))
    info |= {"versions": package_versions(), "definition_sha256": definition_digests()}
    write_result(result_path, info, {})


if __name__ == "__main__":
    main(*sys.argv[1:3])
