"""Evaluate GreenLight's own right-hand side at given states and inputs.

Usage (inside the oracle environment): ``python greenlight_rhs.py REQUEST.npz RESULT.npz``

Request: arrays ``state_names [n_states]``, ``input_names [n_inputs]``, ``states [N, n_states]``,
``inputs [N, n_inputs]``; option ``auxiliary_rows`` (number of leading rows for which all auxiliary
values are returned as well, default 0). The model is the unmodified ``main_katzin_2021.json``.

Result: ``derivatives [N, n_states]`` per second in the order of ``state_names``; a value that is
not finite is returned as it is (GreenLight's replacement of NaN by zero is switched off).
"""

from __future__ import annotations

import sys
import time

import numpy as np
from greenlight_driver import (
    auxiliaries,
    definition_digests,
    load_model,
    package_versions,
    quiet,
    read_request,
    right_hand_side,
    write_result,
)

RAW_OPTIONS = {"nans_to_zeros": "False", "clip_large_nums": "False"}


def state_columns(model_states: list[str], requested: list[str]) -> list[int]:
    """Return where each state of the model stands in the request; ValueError if one differs."""
    if sorted(model_states) != sorted(requested):
        raise ValueError(
            f"states of the model {sorted(model_states)} are not the requested {sorted(requested)}"
        )
    return [requested.index(name) for name in model_states]


def evaluate(function, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Return the derivatives ``[N, n_states]`` for rows in the model's own order."""
    derivatives = np.empty_like(states)
    with quiet():
        for row in range(len(states)):
            table = np.concatenate(([0.0], inputs[row]))[None, :]
            derivatives[row] = function(0.0, states[row].copy(), table, [0.0, 1.0])
    return derivatives


def main(request_path: str, result_path: str) -> None:
    """Answer one request."""
    options, arrays = read_request(request_path)
    state_names = [str(name) for name in arrays["state_names"]]
    input_names = [str(name) for name in arrays["input_names"]]
    started = time.perf_counter()
    model = load_model(input_names, options=RAW_OPTIONS)
    loaded = time.perf_counter()
    order = state_columns(list(model.states), state_names)
    states = np.ascontiguousarray(arrays["states"][:, order])
    inputs = np.ascontiguousarray(arrays["inputs"])
    found = evaluate(right_hand_side(model), states, inputs)
    finished = time.perf_counter()
    derivatives = np.empty_like(found)
    derivatives[:, order] = found
    result = {"derivatives": derivatives}
    rows = int(options.get("auxiliary_rows", 0))
    if rows:
        names, values = auxiliaries(model, states[:rows], inputs[:rows])
        result |= {"auxiliary_names": np.array(names), "auxiliaries": values}
    info = {
        "versions": package_versions(),
        "definition_sha256": definition_digests(),
        "model_state_order": list(model.states),
        "load_s": loaded - started,
        "evaluate_s": finished - loaded,
    }
    write_result(result_path, info, result)


if __name__ == "__main__":
    main(*sys.argv[1:3])
