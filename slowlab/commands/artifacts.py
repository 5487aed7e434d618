"""``slowlab artifacts check`` and ``slowlab artifacts freeze``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowlab.commands.errors import InputError, report_user_errors

if TYPE_CHECKING:
    from slowlab.tools.artifacts import ArtifactFolder

app = typer.Typer(
    help="What the development stage leaves for studies: check it, or take it over.",
    no_args_is_help=True,
)
FAULTY = 1
"""Exit code when an artifact is missing, damaged, provisional or differs."""
DEFAULT_FRESH = Path("results/development/artifacts")

_Contract = Annotated[str, typer.Option("--contract", help="Packaged contract (v8).")]


@app.command()
def check(
    contract: _Contract = "v8",
    fresh: Annotated[
        Path | None,
        typer.Option(help="Compare with the artifacts of a development stage in this folder too."),
    ] = None,
) -> None:
    """Check names, fields, contract and hashes of the artifacts under config/artifacts.

    Ends with code 1 if something is wrong.
    """
    from slowlab.development.freeze import differences, problems_of

    with report_user_errors():
        frozen = _frozen(contract)
        problems = problems_of(frozen)
        if fresh is not None and not problems:
            made = _store(fresh, contract)
            problems = problems_of(made) or [
                f"{name}: differs from {made.path(name)}" for name in differences(frozen, made)
            ]
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise typer.Exit(FAULTY)
    typer.echo(f"{frozen.folder}: all artifacts are sound")


@app.command()
def freeze(
    contract: _Contract = "v8",
    fresh: Annotated[
        Path, typer.Option(help="Artifacts of a finished development stage.")
    ] = DEFAULT_FRESH,
) -> None:
    """Copy the artifacts of a finished development stage to config/artifacts."""
    from slowlab.development.freeze import freeze as freeze_all
    from slowlab.tools.artifacts import ArtifactError

    with report_user_errors():
        try:
            changed = freeze_all(_store(fresh, contract), _frozen(contract).folder)
        except ArtifactError as error:
            raise InputError(str(error)) from None
    typer.echo(f"changed: {', '.join(changed) or 'nothing'}")


def _frozen(contract: str) -> ArtifactFolder:
    from slowlab.config import CONFIG_ROOT

    return _store(CONFIG_ROOT / "artifacts" / contract, contract)


def _store(folder: Path, contract: str) -> ArtifactFolder:
    from slowlab.config import CONFIG_ROOT
    from slowlab.tools.artifacts import ArtifactFolder
    from slowlab.world.contract import load_contract

    return ArtifactFolder(folder, load_contract(CONFIG_ROOT / "contracts" / f"{contract}.yaml").id)
