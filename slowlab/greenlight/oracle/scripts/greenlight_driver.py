"""Shared helpers of the oracle scripts; runs inside the oracle environment only.

Only the standard library, NumPy, SciPy and ``greenlight`` are imported here. GreenLight is used as
it is: its own loader reads the definition files, its own code builds the right-hand side. The
helpers add nothing but access: they keep the function that GreenLight hands to
``scipy.integrate.solve_ivp`` so that it can be evaluated at chosen points.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import numpy as np

DEFINITION_FILES = (
    "main_katzin_2021.json",
    "vanthoor_2011/greenhouse_vanthoor_2011_chapter_8.json",
    "vanthoor_2011/crop_vanthoor_2011_chapter_9_simplified.json",
    "extension_greenhouse_katzin_2021_vanthoor_2011.json",
)
PACKAGES = ("greenlight", "numpy", "scipy", "pandas", "numexpr")
JSON_KEY = "json"

RightHandSide = Callable[..., np.ndarray]


def definition_folder() -> Path:
    """Return the folder of the Katzin 2021 definition files in the installed package."""
    return Path(str(resources.files("greenlight"))) / "models" / "katzin_2021" / "definition"


def definition_digests() -> dict[str, str]:
    """Return the SHA-256 (hex) of each definition file, by its path in the definition folder."""
    folder = definition_folder()
    return {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in DEFINITION_FILES
    }


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that take part in a result."""
    return {name: metadata.version(name) for name in PACKAGES}


def read_request(path: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a request file: ``(options, arrays)``."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    options = json.loads(str(arrays.pop(JSON_KEY, "{}")))
    return options, arrays


def write_result(path: str, info: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a result file atomically: ``info`` as JSON under one key, and the arrays."""
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            np.savez(stream, **{JSON_KEY: np.array(json.dumps(dict(info)))}, **arrays)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Discard what GreenLight prints (it prints one line per evaluation)."""
    with open(os.devnull, "w", encoding="utf-8") as sink, contextlib.redirect_stdout(sink):
        yield


def input_table(folder: Path, names: Sequence[str], seconds: Sequence[float]) -> str:
    """Write a GreenLight input table of zeros (``Time`` and ``names``) and return its path.

    A name that is a column of an input table is taken by GreenLight's loader as an external
    input, whatever the definition files say about it.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["Time", *names])
    writer.writerows([[repr(float(second)), *(["0.0"] * len(names))] for second in seconds])
    path = folder / "inputs.csv"
    path.write_text(text.getvalue(), encoding="utf-8")
    return str(path)


def load_model(
    input_names: Sequence[str],
    overrides: Mapping[str, Any] | None = None,
    options: Mapping[str, str] | None = None,
) -> Any:
    """Load the Katzin 2021 model through GreenLight's own loader.

    Args:
        input_names: Variables that become external inputs, in order.
        overrides: Extra definition nodes, loaded after the definition files.
        options: GreenLight options, as strings, loaded last.

    Returns:
        The loaded, unsolved model.
    """
    from greenlight import GreenLight

    with tempfile.TemporaryDirectory() as name, quiet():
        prompt: list[Any] = [str(definition_folder() / DEFINITION_FILES[0])]
        if overrides:
            prompt.append(dict(overrides))
        prompt.append(input_table(Path(name), input_names, (0.0, 1.0)))
        if options:
            prompt.append({"options": dict(options)})
        model = GreenLight(input_prompt=prompt, output_path=str(Path(name) / "unused.csv"))
        model.load()
    if list(model.inputs) != list(input_names):
        raise RuntimeError(f"GreenLight read the inputs {list(model.inputs)}")
    return model


class _Captured(Exception):
    """Carries the right-hand side out of GreenLight's solver."""


def right_hand_side(model: Any) -> RightHandSide:
    """Return GreenLight's own right-hand side ``f(t, y, table, span) -> dy``.

    ``table`` is GreenLight's input array, one row per time: ``[time, inputs...]``; a single row
    means constant inputs. ``y`` and ``dy`` follow the order of ``model.states``. The function is
    the one GreenLight builds from ``model.commands`` and passes to ``solve_ivp``, warnings
    wrapper included.
    """
    from greenlight._solve import _solve_ivp_from_str as solver

    def capture(fun: RightHandSide, *_args: Any, **_kwargs: Any) -> None:
        raise _Captured(fun)

    original, solver.solve_ivp = solver.solve_ivp, capture
    try:
        solver.SolveIvpFromStr.solve(model)
    except _Captured as caught:
        function: RightHandSide = caught.args[0]
        return function
    finally:
        solver.solve_ivp = original
    raise RuntimeError("GreenLight did not call solve_ivp")


def auxiliaries(model: Any, states: np.ndarray, inputs: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Evaluate all auxiliary values and constants with GreenLight's command list.

    Args:
        model: A loaded model.
        states: Array ``[N, n_states]`` in the model's own order.
        inputs: Array ``[N, n_inputs]`` in the model's own order.

    Returns:
        The names in solving order and the values ``[N, len(names)]``.
    """
    names = [name for name in model.solving_order if name not in model.inputs]
    code = compile("\n".join(model.commands), "<greenlight commands>", "exec")
    values = np.empty((len(states), len(names)))
    for row, (state, given) in enumerate(zip(states, inputs, strict=True)):
        space = {
            "np": np,
            "y": state,
            "d": np.concatenate(([0.0], given)),
            "a": np.zeros(len(model.solving_order)),
            "dy": np.zeros(len(state)),
        }
        exec(code, space)
        values[row] = space["a"][: len(names)]
    return names, values


def function_calls(solution: Any, solver: str) -> int:
    """Return how often a solver called the right-hand side, Jacobians by differences included.

    SciPy's ``nfev`` leaves out the calls by which BDF and Radau build a Jacobian, one per state;
    LSODA's counts them.
    """
    per_jacobian = len(solution.y) if solver in ("BDF", "Radau") else 0
    return int(solution.nfev) + per_jacobian * int(solution.njev)
