"""Paths and the fingerprint that ties a rule to the code it calls; no rules."""

import hashlib
import os
import sys
from pathlib import Path

ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
LOCK = os.path.relpath(ROOT / "requirements.lock")

SIMULATOR_AUDIT = "results/simulator/audit.json"
SIMULATOR_EXAMPLE = [
    "results/simulator/example/crop.parquet",
    "results/simulator/example/crop.png",
]

# The `slowlab` command of this environment comes first, also where it is not activated.
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ["PATH"]]
)


def fingerprint(*sources):
    """Return a hash of the files under `sources`, so that an edit of a module reruns its rules."""
    digest = hashlib.sha256()
    for source in sources:
        path = ROOT / source
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0")
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


SIMULATOR_CODE = fingerprint(
    "slowlab/cli.py",
    "slowlab/commands",
    "slowlab/greenlight",
    "slowlab/plots",
    "slowlab/weather",
    "slowlab/world",
)
