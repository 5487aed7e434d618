"""``slowlab try-method``: one campaign of one method on a development site, in seconds."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowlab.commands import campaign_options as opt
from slowlab.commands.campaign_tools import ArtifactsOption, artifact_folder, make_tools
from slowlab.commands.errors import InputError, report_user_errors
from slowlab.commands.progress import day_progress

if TYPE_CHECKING:
    from slowlab.campaign.history import History
    from slowlab.campaign.pool import PoolResult
    from slowlab.commands.campaign_options import PreparedCampaign
    from slowlab.methods._base import Method
    from slowlab.plan.study import MethodEntry
    from slowlab.tools.artifacts import ArtifactFolder
    from slowlab.world.policy import Policy

FAILED = 1
"""Exit code when the method raised an exception or the campaign could not go on."""
_STUDY = "try-method"

SettingOption = Annotated[
    list[str] | None,
    typer.Option("--setting", help="NAME=VALUE, as in a study file; repeatable."),
]
CommandOption = Annotated[
    str | None,
    typer.Option("--command", help="Program that plays, with its arguments; NAME is its name."),
]


@dataclass(frozen=True)
class Asked:
    """What is to be tried."""

    name: str
    repeat: int
    settings: tuple[str, ...]
    command: str | None
    time_limit_s: float
    study: Path | None


@dataclass(frozen=True)
class Tried:
    """A finished campaign."""

    history: History
    result: PoolResult
    tool_calls: int


def try_method(
    name: Annotated[str, typer.Argument(help="A registered method, or a name for --command.")],
    site: opt.SiteOption = 0,
    feedback: opt.FeedbackOption = "full",
    repeat: Annotated[int, typer.Option("--repeat", min=0, help="Number of the repeat.")] = 0,
    setting: SettingOption = None,
    command: CommandOption = None,
    time_limit_s: Annotated[
        float, typer.Option("--time-limit", min=0.1, help="Thinking time of a command, s.")
    ] = 60.0,
    study: Annotated[
        Path | None, typer.Option("--study", help="Study file that says what NAME is.")
    ] = None,
    contract: opt.ContractOption = None,
    sites: opt.SitesOption = None,
    weather: opt.WeatherOption = None,
    artifacts: ArtifactsOption = None,
    journal: opt.JournalOption = None,
    score: Annotated[
        bool, typer.Option(help="Score the recommendation beside the fixed reference.")
    ] = True,
) -> None:
    """Run one campaign of a method on a development site; print its crops and its score.

    The journal, by default results/try-method/NAME-site-feedback-repeat.journal, is begun anew.
    """
    asked = Asked(name, repeat, tuple(setting or ()), command, time_limit_s, study)
    path = journal or Path(f"results/{_STUDY}/{name}-{site}-{feedback}-{repeat}.journal")
    options = opt.CampaignOptions("development", site, feedback, contract, sites, weather, path)
    with report_user_errors():
        _remove_journal(path)
        prepared = opt.prepare(options)
        try:
            folder = artifact_folder(prepared.spec, artifacts)
            method = _method(asked, folder, path.with_suffix(".log"))
            if method.experiments:
                tried = _run(prepared, method, asked, folder)
                policy = _report(tried, path)
            else:
                policy = _recommended_at_once(prepared, method)
        finally:
            if prepared.journal is not None:
                prepared.journal.close()
        numbers = ", ".join(f"{field} {value:g}" for field, value in policy.model_dump().items())
        typer.echo(f"recommended: {numbers}")
        if score:
            _print_score(prepared, policy, name)


def _remove_journal(path: Path) -> None:
    """Begin anew, unless somebody writes the journal at this moment."""
    from slowlab.campaign.journal import Journal
    from slowlab.campaign.journal_format import head_path

    if path.exists():
        Journal.open(path).close()  # refuses a file that is no journal, and one that is in use
    path.unlink(missing_ok=True)
    head_path(path).unlink(missing_ok=True)


def _method(asked: Asked, folder: ArtifactFolder, log: Path) -> Method:
    """The method, with its settings."""
    from slowlab.methods._external import build_external
    from slowlab.methods._registry import build_method

    entry = _entry(asked)
    if entry.command is not None:
        return build_external(entry.command, entry.time_limit_s, folder, log)
    return build_method(entry.registered_name, entry.settings, folder)


def _entry(asked: Asked) -> MethodEntry:
    """What a study file would say about it."""
    from slowlab.config import validate_config
    from slowlab.plan.study import MethodEntry

    settings = dict(_setting(text) for text in asked.settings)
    if asked.study is not None:
        entry = _listed(asked.study, asked.name).model_dump(mode="json")
        settings = {**entry["settings"], **settings}
    else:
        words = None if asked.command is None else shlex.split(asked.command)
        entry = {"name": asked.name, "command": words, "time_limit_s": asked.time_limit_s}
    return validate_config({**entry, "settings": settings}, MethodEntry, asked.name)


def _setting(text: str) -> tuple[str, Any]:
    """Name and value of a setting."""
    from slowlab.strict_yaml import parse_yaml

    name, separator, value = text.partition("=")
    if not separator:
        raise InputError(f"--setting {text!r}: write NAME=VALUE")
    return name, parse_yaml(value).data


def _listed(path: Path, name: str) -> MethodEntry:
    """The entry of a study file, whose folders of methods become known."""
    from slowlab.methods._registry import discover
    from slowlab.plan.study import load_study

    study = load_study(path)
    for folder in study.method_folders:
        discover(folder)
    if name not in [entry.name for entry in study.methods]:
        names = ", ".join(entry.name for entry in study.methods)
        raise InputError(f"{path}: has no method {name!r}; there are {names}")
    return study.entry(name)


def _run(prepared: PreparedCampaign, method: Method, asked: Asked, folder: ArtifactFolder) -> Tried:
    """Play the campaign as a study would."""
    from slowlab.campaign.history import History
    from slowlab.campaign.pool import Entry, run_pool
    from slowlab.methods._base import Campaign, watched
    from slowlab.seeds import SeedKey

    spec = prepared.spec

    def key(purpose: str) -> SeedKey:
        return SeedKey(_STUDY, spec.partition, spec.site, asked.name, asked.repeat, purpose)

    session = prepared.open().session
    history = History(session.task())
    answer, count = make_tools(spec, history, folder, key("tools").seed()), 0

    def tools(call: Any) -> Any:
        nonlocal count
        count += 1
        return answer(call)

    steps = watched(method.play(Campaign(history), key("method").generator()), history)
    with day_progress() as on_day:
        (result,) = run_pool([Entry(asked.name, session, steps, tools)], on_day=on_day)
    return Tried(history, result, count)


def _report(tried: Tried, path: Path) -> Policy:
    """Print the campaign; the policy that counts.

    Raises:
        Exit: there is none, because the method or the machinery failed.
    """
    from slowlab.campaign.pool import Ending

    _print_crops(tried.history)
    result, settled = tried.result, tried.result.settlement
    calls = f"{result.requests} requests, {tried.tool_calls} of them to tools; journal {path}"
    if settled is None or settled.policy is None:
        typer.echo(f"{result.ending}: {result.error or result.failure}", err=True)
        typer.echo(calls, err=True)
        raise typer.Exit(FAILED)
    typer.echo(calls)
    if result.returned is not None:
        typer.echo(f"the program: {result.returned}")
    if result.ending is not Ending.SETTLED:
        typer.echo(f"the campaign: {result.ending}")
    for reason, number in settled.rejections.items():
        typer.echo(f"rejected: {number} x {reason}")
    if settled.fallback_reason is not None:
        typer.echo(f"{settled.fallback_reason}: the fallback counts")
    return settled.policy


def _print_crops(history: History) -> None:
    from slowlab.commands.evaluation_tables import print_table, report_console
    from slowlab.world.policy import POLICY_FIELDS

    rows = []
    for crop in sorted(history.crops(), key=lambda crop: (crop.start_day, crop.unit)):
        margin = "-" if crop.totals is None else f"{crop.totals.margin_eur_m2:.2f}"
        policy = " / ".join(f"{getattr(crop.policy, name):g}" for name in POLICY_FIELDS)
        state = crop.reason or ("closed" if crop.closed else "growing")
        rows.append((f"{crop.unit}", f"{crop.start_day:g}", state, policy, margin))
    headings = ("unit", "start day", "end", "policy", "margin, EUR/m2")
    title = "policy: day degC / night degC / CO2 ppm / light h / vent offset K / vent RH %"
    print_table(report_console(), title, headings, rows, texts=4)


def _recommended_at_once(prepared: PreparedCampaign, method: Method) -> Policy:
    """What a method without experiments recommends."""
    from slowlab.methods._base import StaticMethod
    from slowlab.world.task import Feedback, site_task

    assert isinstance(method, StaticMethod)
    spec = prepared.spec
    site = prepared.opener.site(spec)
    return method.recommend(site_task(spec.contract, spec.sensors, site, Feedback.UNASSIGNED))


def _print_score(prepared: PreparedCampaign, policy: Policy, name: str) -> None:
    """Score in the site's unseen years, beside the fixed reference."""
    from slowlab.evaluation.recommendations import Recommendation
    from slowlab.evaluation.runner import YearRunner
    from slowlab.evaluation.score import FIXED_REFERENCE, score_recommendations
    from slowlab.world.partitions import draw_partition_site

    spec, opener = prepared.spec, prepared.opener
    site = draw_partition_site(
        opener.partitions,
        spec.partition,
        spec.site,
        spec.distribution,
        source=spec.weather,
        compartments=spec.contract.facility.compartments,
    )
    wanted = {name: policy, f"({FIXED_REFERENCE})": spec.contract.fixed_reference}
    asked = [
        Recommendation(site=site.index, method=who, feedback="none", policy=what.model_dump())
        for who, what in wanted.items()
    ]
    with (
        day_progress("compartment-days") as progress,
        YearRunner(spec.contract, spec.sensors, opener.weather, progress=progress) as runner,
    ):
        _, found = score_recommendations(runner, {site.index: site}, asked)
    scores = dict(zip(found["method"], found["score_eur_m2"], strict=True))
    mine, reference = (scores[who] for who in wanted)
    typer.echo(
        f"score {mine:.2f} EUR/m2, fixed reference {reference:.2f}, gain {mine - reference:+.2f}"
    )
