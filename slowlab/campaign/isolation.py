"""Preparing a process that serves a campaign.

To be done before any library of the simulator is loaded: of the environment only
:data:`ALLOWED_ENVIRONMENT` is kept, mathematical libraries get one thread, and standard output is
taken away from everything but the protocol. What libraries print, warnings and tracebacks go to a
private log. This is a boundary within one machine, not a sandbox: an agent that may read this
user's files can read the journal.
"""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

ALLOWED_ENVIRONMENT = ("HOME", "LANG", "PATH", "SLOWLAB_CACHE_DIR", "SLOWLAB_PRIVATE_DIR")
"""The variables that a server process keeps."""
SINGLE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
"""Set in every server process: one thread for mathematical libraries."""


@dataclass(frozen=True)
class Channel:
    """The two ends of a connection, as binary files."""

    incoming: BinaryIO
    outgoing: BinaryIO


def scrub_environment() -> None:
    """Keep the allowed variables only; to be called before any mathematical library is loaded."""
    kept = {name: os.environ[name] for name in ALLOWED_ENVIRONMENT if name in os.environ}
    os.environ.clear()
    os.environ.update(kept | SINGLE_THREAD)


def claim_streams(log: Path) -> Channel:
    """Take the standard streams for the protocol alone.

    Args:
        log: private log, to which is appended; only its owner may read it.

    Returns:
        The connection, on descriptors of its own. From now on descriptor 0 is empty, and what goes
        to 1 and 2 ends in the log.

    Raises:
        OSError: the log cannot be opened; nothing has changed.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    private = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    sys.stdout.flush()
    channel = Channel(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
    for source, target in ((nothing, 0), (private, 1), (private, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(private)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, force=True)
    return channel
