"""The ``slowlab`` command. Subcommands load their libraries when they run, so help is quick."""

from __future__ import annotations

from typing import Annotated

import typer

from slowlab import __version__
from slowlab.commands.artifacts import app as artifacts
from slowlab.commands.bench_agents import bench_agents_command
from slowlab.commands.campaigns import bench_campaigns_command
from slowlab.commands.check import app as check
from slowlab.commands.cost import cost
from slowlab.commands.document import document
from slowlab.commands.evaluate import common_policy, evaluate, oracle
from slowlab.commands.lm import app as lm
from slowlab.commands.new_method import new_method
from slowlab.commands.plan import plan
from slowlab.commands.play import play
from slowlab.commands.prereg import app as prereg
from slowlab.commands.replay import replay
from slowlab.commands.serve import serve
from slowlab.commands.simulate import simulate
from slowlab.commands.simulator import audit, bench
from slowlab.commands.transcript import app as transcript
from slowlab.commands.try_method import try_method
from slowlab.commands.value import value
from slowlab.commands.weather import app as weather

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    help="Slow, costly greenhouse experiments as a benchmark for autonomous research.",
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"slowlab {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


app.command()(plan)
app.command()(cost)
app.command()(document)
app.command()(simulate)
app.command()(play)
app.command()(serve)
app.command()(replay)
app.command()(new_method)
app.command()(try_method)
app.command()(evaluate)
app.command()(oracle)
app.command()(common_policy)
app.command()(value)
app.add_typer(check, name="check")
app.add_typer(artifacts, name="artifacts")
app.add_typer(weather, name="weather")
app.add_typer(lm, name="lm")
app.add_typer(transcript, name="transcript")
app.add_typer(audit, name="audit")
app.add_typer(prereg, name="prereg")
bench.command("campaigns")(bench_campaigns_command)
bench.command("agents")(bench_agents_command)
app.add_typer(bench, name="bench")
