"""``slowlab prereg``: lock a study before its scores exist, verify it, amend it in the open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowlab.commands.errors import InputError, report_user_errors

if TYPE_CHECKING:
    from slowlab.prereg.amendments import Changes
    from slowlab.prereg.impact import Impact
    from slowlab.prereg.manifest import Manifest

app = typer.Typer(
    no_args_is_help=True,
    help="Lock a study before its scores exist, verify it, amend it in the open.",
)
DIFFERS = 1
"""Exit code when something is not as it was locked."""
_SHOWN = 20

Root = Annotated[Path, typer.Option("--root", help="The repository.")]
_HERE = Path()
_Partition = Annotated[str, typer.Argument(help="Partition, such as test.")]
_Opening = Annotated[
    Path | None, typer.Option(help="Opening.", show_default="the one in the private folder")
]


@app.command()
def lock(root: Root = _HERE) -> None:
    """Lock the declared study: writes preregistration/lock.json.

    Refused when scores exist, when there is a lock, when a file is missing or a seed is not
    committed, when the declaration is a draft, or when it asks for more sites.
    """
    from slowlab.prereg.lock import make_lock

    with report_user_errors():
        made = make_lock(root)
    typer.echo(f"Locked {_describe(made)}")
    typer.echo("Commit preregistration/, and have the id dated elsewhere: slowlab prereg export")


@app.command()
def verify(
    root: Root = _HERE,
    results: Annotated[
        bool, typer.Option("--results", help="Check every result against its receipt too.")
    ] = False,
    study: Annotated[str | None, typer.Option(help="Fail unless it is the locked study.")] = None,
    expected: Annotated[
        str | None, typer.Option("--lock", help="Fail unless this lock is in force.")
    ] = None,
) -> None:
    """Name every locked file, prompt and result that is not as it was locked.

    Files that were added are listed and are no fault. Ends with code 1 if something differs.
    """
    from slowlab.prereg.checks import current_lock
    from slowlab.prereg.verify import verify_lock, verify_results

    with report_user_errors():
        current_lock(root, study, expected)
        found = verify_lock(root)
        count, faults = verify_results(root, found.lock) if results else (0, [])
    problems = [*found.problems, *faults]
    for problem in problems:
        typer.echo(problem, err=True)
    _list("added since, not locked", found.tree.extra)
    if found.unopened:
        typer.echo(f"{found.unopened} prompts not compared: their seed is sealed")
    if problems:
        raise typer.Exit(DIFFERS)
    checked = f", {count} results" if results else ""
    typer.echo(f"Unchanged: {_describe(found.lock)}{checked}")


@app.command()
def status(root: Root = _HERE) -> None:
    """Say what is locked, what has been amended, and what stands in the way of a lock."""
    from slowlab.prereg.scope import LOCK

    with report_user_errors():
        if (root / LOCK).exists():
            _show_lock(root)
        else:
            _show_open_points(root)


@app.command()
def amend(
    root: Root = _HERE,
    reason: Annotated[
        Path | None, typer.Option(help="Text of the amendment; headings as in --template.")
    ] = None,
    template: Annotated[
        bool, typer.Option("--template", help="Print the headings to fill, and end.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show changes and what they concern, and end.")
    ] = False,
) -> None:
    """Lock the working tree anew, with a reason and the list of what has to be run again."""
    from slowlab.prereg.amendments import TEMPLATE
    from slowlab.prereg.amendments import amend as make_amendment

    if template:
        typer.echo(TEMPLATE.read_text(encoding="utf-8"), nl=False)
        return
    with report_user_errors():
        if dry_run:
            _show_changes(root)
            return
        if reason is None:
            raise InputError("give --reason FILE; its headings: slowlab prereg amend --template")
        made = make_amendment(root, reason.read_text(encoding="utf-8"))
    _print_changes(made.changes, made.impact)
    typer.echo("Made again: " + ", ".join(f"{n} {k}" for k, n in made.records.items() if n))
    typer.echo("Commands:")
    for command in made.commands:
        typer.echo(f"  {command}")
    typer.echo(f"{made.folder}: in force, {_describe(made.lock)}")


@app.command("carry-over")
def carry_over_command(root: Root = _HERE) -> None:
    """Copy the results that the last amendment does not concern to the folder of the new lock."""
    from slowlab.prereg.amendments import last_amendment
    from slowlab.prereg.carry_over import carry_over

    with report_user_errors():
        last = last_amendment(root)
        found = carry_over(root, last.before, last.lock, last.impact)
    typer.echo(f"{found.folder}: kept {len(found.kept)} results, {len(found.left)} are made again")


@app.command()
def compare(
    root: Root = _HERE,
    original: Annotated[
        Path | None, typer.Option(help="numbers.json.", show_default="that of the first lock")
    ] = None,
    corrected: Annotated[
        Path | None, typer.Option(help="numbers.json.", show_default="that of the lock in force")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Table, .md or .csv.", show_default="both, beside the corrected numbers"),
    ] = None,
) -> None:
    """Write original and corrected results of all tests side by side."""
    from slowlab.analysis.numbers_file import NumbersError, read_numbers
    from slowlab.prereg.chain import read_chain
    from slowlab.prereg.compare import write_correction_table
    from slowlab.prereg.traces import RESULTS

    with report_user_errors():
        chain = read_chain(root)
        first, last = (
            given or root / RESULTS / manifest.results_name / "numbers.json"
            for given, manifest in ((original, chain[0]), (corrected, chain[-1]))
        )
        targets = (
            [out] if out else [last.with_name(f"corrections.{kind}") for kind in ("md", "csv")]
        )
        try:
            numbers = read_numbers(first), read_numbers(last)
        except NumbersError as error:
            raise InputError(str(error)) from None
        for target in targets:
            typer.echo(f"Wrote {write_correction_table(target, *numbers, chain)}")


@app.command("commit-seed")
def commit_seed_command(
    partition: _Partition,
    root: Root = _HERE,
    partitions: Annotated[str, typer.Option(help="File in config/partitions.")] = "v1",
) -> None:
    """Draw the secret seed of a partition and publish its commitment.

    The opening stays in the private folder ($SLOWLAB_PRIVATE_DIR, or ~/.slowlab/private).
    """
    from slowlab.prereg.seeds import commit_seed
    from slowlab.world.partitions import opening_path

    with report_user_errors():
        made = commit_seed(root, partition, partitions=partitions)
    typer.echo(f"Commitment of {partition}: {made.digest}")
    typer.echo(f"Keep {opening_path(partition)} and show it to nobody before the study is finished")


@app.command("reveal-seed")
def reveal_seed_command(
    partition: _Partition, root: Root = _HERE, opening: _Opening = None
) -> None:
    """Publish the opening of a seed: its sites are known to everybody from then on."""
    from slowlab.prereg.seeds import reveal_seed

    with report_user_errors():
        typer.echo(f"Published {reveal_seed(root, partition, opening)}")


@app.command("verify-seed")
def verify_seed_command(
    partition: _Partition, root: Root = _HERE, opening: _Opening = None
) -> None:
    """Check that an opening fits the published commitment, without showing the seed."""
    from slowlab.prereg.seeds import verify_seed

    with report_user_errors():
        typer.echo(f"{verify_seed(root, partition, opening)}: fits the commitment of {partition}")


@app.command()
def export(
    out: Annotated[Path, typer.Option("--out", help="ZIP file.")], root: Root = _HERE
) -> None:
    """Write protocol, locks, amendments and commitments as one archive for a registry."""
    from slowlab.prereg.export import export_archive

    with report_user_errors():
        typer.echo(f"Wrote {export_archive(root, out)}")


def _describe(manifest: Manifest) -> str:
    amended = f", amendment {manifest.amendment}" if manifest.amendment else ""
    return f"study {manifest.study}, lock {manifest.id}{amended}, {len(manifest.files)} files"


def _show_lock(root: Path) -> None:
    from slowlab.prereg.traces import RESULTS
    from slowlab.prereg.verify import verify_lock

    found = verify_lock(root)
    for manifest in found.chain:
        folder = root / RESULTS / manifest.results_name
        state = "finished" if (folder / "numbers.json").is_file() else "not finished"
        typer.echo(f"{_describe(manifest)}: {folder if folder.is_dir() else 'no results'}, {state}")
    _list("not as locked", found.problems)
    _list("added since, not locked", found.tree.extra)
    if not found.problems:
        typer.echo("Everything is as it was locked")


def _show_open_points(root: Path) -> None:
    from slowlab.plan.study import load_study
    from slowlab.prereg.declaration import load_declaration
    from slowlab.prereg.lock import open_points
    from slowlab.prereg.traces import traces_of_scores

    declaration = load_declaration(root)
    config = load_study(root / declaration.config)
    typer.echo(f"Study {declaration.study}: not locked")
    for test, count in declaration.sites_needed().items():
        typer.echo(f"  {test}: {count} sites for the power asked for")
    found = [*open_points(root, declaration, config), *traces_of_scores(root, config)]
    _list("open", found)
    if not found:
        typer.echo("Nothing stands in the way: slowlab prereg lock")


def _show_changes(root: Path) -> None:
    from slowlab.prereg.amendments import planned_amendment

    changes, impact = planned_amendment(root)
    _print_changes(changes, impact)


def _print_changes(changes: Changes, impact: Impact) -> None:
    for what, names in changes.plain().items():
        _list(what, names)
    _list("to be made again", impact.affected)
    _list("changed and used by no job", impact.unconcerned)


def _list(what: str, names: list[str] | tuple[str, ...]) -> None:
    if not names:
        return
    typer.echo(f"{what} ({len(names)}):")
    for name in names[:_SHOWN]:
        typer.echo(f"  {name}")
    if len(names) > _SHOWN:
        typer.echo(f"  and {len(names) - _SHOWN} more")
