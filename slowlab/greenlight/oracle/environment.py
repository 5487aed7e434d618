"""The oracle's virtual environment, and how a script is run in it.

The environment is made once, under ``$SLOWLAB_CACHE_DIR`` or the user's cache folder, in a folder
named after the digest of its pins (``requirements.txt`` beside this module). It is built under
another name and renamed into place, so that a folder of that name is always complete and two
processes may build it at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PYTHON_VERSION = (3, 12)
CACHE_VARIABLE = "SLOWLAB_CACHE_DIR"
SCRIPTS = ("greenlight_rhs", "greenlight_simulate", "greenlight_timing")

_HERE = Path(__file__).resolve().parent
_MARKER = "ready.json"
_JSON_KEY = "json"
_STDERR_TAIL = 2000
_CREATING = "creating the oracle environment with Python 3.12"
_BUILD_TIMEOUT_S = 1800.0
_SET_TO_ONE = ("PYTHONNOUSERSITE", "PYTHONDONTWRITEBYTECODE")
_REMOVED_VARIABLES = (
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "UV_PROJECT_ENVIRONMENT",
    "UV_PYTHON",
)
_SINGLE_THREADED = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
)


class OracleError(RuntimeError):
    """The oracle environment cannot be made, or a script failed in it."""


@dataclass(frozen=True)
class OracleResult:
    """What an oracle script returned.

    Attributes:
        info: JSON values: package versions, digests of the definition files, times in seconds.
        arrays: Arrays by name; shapes and units are in the docstring of the script.
    """

    info: dict[str, Any]
    arrays: dict[str, np.ndarray]


def requirements_file() -> Path:
    """Return the path of the packaged pins."""
    return _HERE / "requirements.txt"


def pins_digest() -> str:
    """Return the SHA-256 (hex) of the pins and the Python version they are for."""
    version = ".".join(map(str, PYTHON_VERSION)).encode()
    return hashlib.sha256(version + b"\n" + requirements_file().read_bytes()).hexdigest()


def cache_folder() -> Path:
    """Return ``$SLOWLAB_CACHE_DIR`` or ``slowlab`` in the platform's user cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "slowlab"


def default_folder() -> Path:
    """Return where the oracle environment of these pins lives, existing or not."""
    return cache_folder() / f"oracle-{pins_digest()[:16]}"


def is_ready(folder: Path | None = None) -> bool:
    """Return whether the environment exists and is complete; nothing is built."""
    folder = folder or default_folder()
    return (folder / _MARKER).is_file() and environment_python(folder).exists()


def environment_python(folder: Path) -> Path:
    """Return the Python executable of a virtual environment."""
    inside = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
    return folder / inside


def packaged_file(relative: str, folder: Path | None = None) -> Path:
    """Return a file of the ``greenlight`` package installed in the oracle environment.

    Args:
        relative: Path below the package folder, with forward slashes.
        folder: The environment's folder; `default_folder` if not given. It is made if needed.

    Raises:
        OracleError: There is no such file.
    """
    root = ensure_environment(folder)
    for pattern in ("lib/python*/site-packages", "Lib/site-packages"):
        for packages in root.glob(pattern):
            found = packages / "greenlight" / relative
            if found.is_file():
                return found
    raise OracleError(f"the greenlight package in {root} has no file {relative}")


def ensure_environment(folder: Path | None = None) -> Path:
    """Make the oracle environment unless it exists, and return its folder.

    Args:
        folder: Where it goes; `default_folder` if not given. An existing folder that is not a
            complete environment is an error, never overwritten.

    Raises:
        OracleError: No Python 3.12 was found, the packages could not be installed (no network, no
            wheel for this platform), or what was installed cannot be imported. Nothing is left
            behind.
    """
    folder = folder or default_folder()
    if is_ready(folder):
        return folder
    if folder.exists():
        raise OracleError(f"{folder} exists but holds no complete oracle environment; remove it")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part-", dir=folder.parent))
    except OSError as error:
        raise OracleError(f"cannot write to the cache folder {folder.parent}: {error}") from error
    try:
        _build(part)
        with contextlib.suppress(OSError):
            part.rename(folder)
        if not is_ready(folder):
            raise OracleError(f"the oracle environment could not be moved to {folder}")
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def run_oracle(
    script: str,
    options: Mapping[str, Any] | None = None,
    arrays: Mapping[str, np.ndarray] | None = None,
    *,
    folder: Path | None = None,
    timeout_s: float | None = None,
) -> OracleResult:
    """Run one of the packaged scripts in the oracle environment, making that first if needed.

    Args:
        script: One of `SCRIPTS`; its docstring says what it expects and returns.
        options: The JSON values of the request.
        arrays: The arrays of the request, by name.
        folder: The environment's folder; `default_folder` if not given.
        timeout_s: Wall-clock limit of the script, seconds; none if not given.

    Raises:
        OracleError: Unknown script, no environment, time limit, or the script failed; the message
            ends with the last lines the script wrote to its error output.
    """
    if script not in SCRIPTS:
        raise OracleError(f"unknown oracle script {script!r}; there are {', '.join(SCRIPTS)}")
    python = environment_python(ensure_environment(folder))
    with tempfile.TemporaryDirectory(prefix="slowlab-oracle-") as name:
        request, result = Path(name) / "request.npz", Path(name) / "result.npz"
        _write_request(request, options or {}, arrays or {})
        command = [str(python), str(_HERE / "scripts" / f"{script}.py")]
        command += [str(request), str(result)]
        _run(command, f"oracle script {script}", timeout_s, Path(name))
        if not result.is_file():
            raise OracleError(f"oracle script {script} ended well but wrote no result")
        return _read_result(result)


def scrubbed_environment() -> dict[str, str]:
    """Return this process's environment without what would leak Python packages into a child.

    Mathematics libraries are set to one thread.
    """
    kept = {
        key: value
        for key, value in os.environ.items()
        if key not in _REMOVED_VARIABLES and not key.startswith("PYTHON")
    }
    return kept | dict.fromkeys((*_SET_TO_ONE, *_SINGLE_THREADED), "1")


def _build(folder: Path) -> None:
    """Fill an empty folder with a checked environment; OracleError if that fails."""
    python = environment_python(folder)
    pins = str(requirements_file())
    uv = shutil.which("uv")
    if uv:
        version = ".".join(map(str, PYTHON_VERSION))
        base = sys.executable if sys.version_info[:2] == PYTHON_VERSION else version
        create = [uv, "venv", "--quiet", "--no-config", "--no-project", "--allow-existing"]
        create += ["--python", base]
        install = [uv, "pip", "install", "--quiet", "--no-config", "--no-deps", "--require-hashes"]
        install += ["--compile-bytecode", "--only-binary", ":all:"]
        install += ["--python", str(python), "-r", pins]
        _run([*create, str(folder)], _CREATING, _BUILD_TIMEOUT_S, folder)
    else:
        create = [_find_python(), "-m", "venv", str(folder)]
        _run(create, _CREATING, _BUILD_TIMEOUT_S, folder)
        install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        install += ["--only-binary", ":all:", "--disable-pip-version-check", "-r", pins]
    _run(install, "installing GreenLight into the oracle environment", _BUILD_TIMEOUT_S, folder)
    check = "import greenlight, numexpr, numpy, pandas, scipy; print(numpy.__version__)"
    _run([str(python), "-c", check], "importing GreenLight", _BUILD_TIMEOUT_S, folder)
    marker = {"pins_sha256": pins_digest(), "python": list(PYTHON_VERSION)}
    (folder / _MARKER).write_text(json.dumps(marker) + "\n", encoding="utf-8")


def _find_python() -> str:
    """Return a Python 3.12 interpreter: this one, or ``python3.12`` on PATH."""
    if sys.version_info[:2] == PYTHON_VERSION:
        return sys.executable
    wanted = ".".join(map(str, PYTHON_VERSION))
    found = shutil.which(f"python{wanted}")
    probe = "import sys; print('%d.%d' % sys.version_info[:2])"
    if found:
        done = subprocess.run([found, "-c", probe], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == wanted:
            return found
    raise OracleError(
        f"the oracle environment needs Python {wanted} (GreenLight pins NumPy 1.26, which has no "
        f"wheel for Python {sys.version_info[0]}.{sys.version_info[1]}); install uv, which fetches "
        f"one, or put python{wanted} on PATH"
    )


def _run(
    command: Sequence[str], what: str, timeout_s: float | None, cwd: Path | None = None
) -> None:
    """Run a command in the scrubbed environment; OracleError with the tail of its errors."""
    try:
        done = subprocess.run(
            command,
            env=scrubbed_environment(),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise OracleError(f"{what}: not done after {timeout_s:g} s") from error
    except OSError as error:
        raise OracleError(f"{what}: cannot run {command[0]}: {error}") from error
    if done.returncode != 0:
        tail = (done.stderr.strip() or done.stdout.strip())[-_STDERR_TAIL:]
        raise OracleError(f"{what} failed with exit status {done.returncode}:\n{tail}")


def _write_request(path: Path, options: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a request file; OracleError where an option is not plain JSON."""
    try:
        text = json.dumps(dict(options), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OracleError(f"the request's options are not plain JSON: {error}") from error
    np.savez(path, **{_JSON_KEY: np.array(text)}, **{k: np.asarray(v) for k, v in arrays.items()})


def _read_result(path: Path) -> OracleResult:
    """Read a result file written by a script."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    return OracleResult(json.loads(str(arrays.pop(_JSON_KEY))), arrays)
