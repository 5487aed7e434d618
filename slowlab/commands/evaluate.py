"""``slowlab evaluate``, ``slowlab oracle`` and ``slowlab common-policy``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowlab.commands import evaluation_options as opt
from slowlab.commands.errors import InputError, report_user_errors

if TYPE_CHECKING:
    import pandas as pd

    from slowlab.commands.evaluation_options import Study
    from slowlab.evaluation.oracle import SiteOptimum
    from slowlab.evaluation.recommendations import Recommendation
    from slowlab.evaluation.runner import YearRunner
    from slowlab.world.policy import Policy

_SHOWN_MISSING = 10

Files = Annotated[list[Path], typer.Argument(help="Files of recommendations, of one partition.")]
SiteCount = Annotated[int, typer.Option("--sites", min=1, help="Number of sites, from 0.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the search.")]


def evaluate(
    files: Files,
    contract: opt.ContractOption = opt.DEFAULT_CONTRACT,
    distribution: opt.DistributionOption = None,
    weather: opt.WeatherOption = None,
    reference: Annotated[
        bool, typer.Option(help="Also score the fixed reference on the same sites.")
    ] = True,
    out: Annotated[Path, typer.Option(help="Folder for the tables.")] = Path("results/evaluation"),
    shards: opt.ShardsOption = opt.DEFAULT_SHARDS,
    workers: opt.WorkersOption = None,
) -> None:
    """Score recommendations in unseen weather. Private: its tables must not reach a method.

    Writes scores.parquet (a row for each recommendation, year and planting) and site_scores.parquet
    (a row for each recommendation). What failed technically is missing there, never a number.
    """
    from slowlab.evaluation.score import (
        SCORE_SCHEMA,
        SITE_SCHEMA,
        reference_recommendations,
        score_recommendations,
    )
    from slowlab.io import atomic_write_bytes

    with report_user_errors():
        study = opt.choose_study(contract, distribution, weather)
        partition, found = _read_files(files, study)
        numbers = sorted({item.site for item in found})
        sites = study.sites(partition, numbers)
        if reference:
            known = {item.identity for item in found}
            added = reference_recommendations(sites, study.contract)
            found += [item for item in added if item.identity not in known]
        with study.runner(workers, shards) as runner:
            by_number = {site.index: site for site in sites}
            scores, summaries = score_recommendations(runner, by_number, found)
        atomic_write_bytes(out / "scores.parquet", SCORE_SCHEMA.parquet(scores))
        atomic_write_bytes(out / "site_scores.parquet", SITE_SCHEMA.parquet(summaries))
    _print_scores(study, summaries)
    typer.echo(opt.describe_counts(runner.counts))
    typer.echo(f"Wrote {out / 'scores.parquet'}, {out / 'site_scores.parquet'}")


def oracle(
    sites: SiteCount = 8,
    partition: opt.PartitionOption = "rehearsal",
    contract: opt.ContractOption = opt.DEFAULT_CONTRACT,
    distribution: opt.DistributionOption = None,
    weather: opt.WeatherOption = None,
    candidates: Annotated[
        list[Path] | None,
        typer.Option("--candidates", help="Recommendations to consider too; repeatable."),
    ] = None,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="JSON file.")] = Path("results/evaluation/oracle.json"),
    shards: opt.ShardsOption = opt.DEFAULT_SHARDS,
    workers: opt.WorkersOption = None,
) -> None:
    """Search the best-known policy of every site. Private.

    Choices are made in years of their own; the scores come from the scoring years.
    """
    from slowlab.evaluation.oracle import OracleSettings, find_optima, mean_scores
    from slowlab.evaluation.search import SearchSettings

    with report_user_errors():
        study = opt.choose_study(contract, distribution, weather)
        chosen = study.sites(partition, range(sites))
        given = _candidates(candidates or [], study, partition)
        settings = OracleSettings(search=SearchSettings(seed=seed))
        reference = study.contract.fixed_reference
        with study.runner(workers, shards) as runner:
            optima = find_optima(runner, chosen, settings, candidates=given)
            scored = mean_scores(
                runner,
                [
                    (site, site.evaluation_years, list(dict.fromkeys([best.policy, reference])))
                    for site, best in zip(chosen, optima, strict=True)
                ],
            )
        rows = [
            _optimum(best, found, reference) for best, found in zip(optima, scored, strict=True)
        ]
        _write_json(out, _oracle_content(runner, study, partition, settings.plain(), rows))
    for row in rows:
        typer.echo(
            f"site {row['site']}: {row['score_eur_m2']:.2f} EUR/m2, {row['gain_eur_m2']:+.2f} over "
            f"the fixed reference (optimism removed {row['optimism_eur_m2']:+.2f})"
        )
    typer.echo(opt.describe_counts(runner.counts))
    typer.echo(f"Wrote {out} ({study.label})")


def common_policy(
    sites: SiteCount = 32,
    contract: opt.ContractOption = opt.DEFAULT_CONTRACT,
    distribution: opt.DistributionOption = None,
    weather: opt.WeatherOption = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="JSON file.", show_default="by contract")] = None,
    shards: opt.ShardsOption = opt.DEFAULT_SHARDS,
    workers: opt.WorkersOption = None,
) -> None:
    """Search the best single policy for all development sites, and what prices say about it."""
    from dataclasses import replace

    from slowlab.evaluation.common import search_common
    from slowlab.evaluation.common_file import write_common
    from slowlab.evaluation.value import ValueSettings

    with report_user_errors():
        study = opt.choose_study(contract, distribution, weather)
        chosen = study.sites("development", range(sites))
        settings = replace(ValueSettings().common, seed=seed)
        with study.runner(workers, shards) as runner:
            common = search_common(runner, chosen, settings)
        target = out or Path(f"results/evaluation/{study.contract.id}/common_policy.json")
        write_common(target, common)
    archive, best = common.archive, common.archive.common
    typer.echo(
        f"{study.label}: best single policy on {sites} development sites, mean "
        f"{archive.own_margin[best]:.2f} +- {archive.own_margin_se[best]:.2f} EUR/m2 (where chosen)"
    )
    typer.echo(", ".join(f"{k} {v:g}" for k, v in common.policy.model_dump().items()))
    typer.echo(opt.describe_counts(runner.counts))
    typer.echo(f"Wrote {target}")


def _read_files(files: list[Path], study: Study) -> tuple[str, list[Recommendation]]:
    """All recommendations and their partition."""
    from slowlab.evaluation.recommendations import read_recommendations, require_distinct

    read = [read_recommendations(path, study.contract) for path in files]
    partitions = {item.partition for item in read}
    if len(partitions) != 1:
        raise InputError(f"give files of one partition, not of {', '.join(sorted(partitions))}")
    found = [item for file in read for item in file.recommendations]
    require_distinct(found)
    return partitions.pop(), found


def _candidates(files: list[Path], study: Study, partition: str) -> dict[int, list[Policy]]:
    """Valid policies of recommendations, by site."""
    from slowlab.evaluation.recommendations import resolve

    if not files:
        return {}
    other, found = _read_files(files, study)
    if other != partition:
        raise InputError(f"--candidates: are of partition {other}, not {partition}")
    given: dict[int, list[Policy]] = {}
    for item in found:
        policy = resolve(item, study.contract).policy
        if policy is not None:
            given.setdefault(item.site, []).append(policy)
    return given


def _optimum(best: SiteOptimum, scores: dict[Policy, float], reference: Policy) -> dict[str, Any]:
    gain = scores[best.policy] - scores[reference]
    return {
        "site": best.site,
        "policy": best.policy.model_dump(),
        "score_eur_m2": scores[best.policy],
        "gain_eur_m2": gain,
        "selection_gain_eur_m2": best.selection_gain,
        "optimism_eur_m2": best.optimism(gain),
        "screened": best.screened,
        "screening_year": str(best.screening_year),
        "selection_years": [str(year) for year in best.selection_years],
    }


def _oracle_content(
    runner: YearRunner,
    study: Study,
    partition: str,
    settings: dict[str, Any],
    rows: list[dict[str, Any]],
) -> dict[str, Any]:
    from slowlab import __version__
    from slowlab.config import config_sha256

    return {
        "format": "slowlab-oracle-1",
        "draft": study.draft,
        "contract": {"id": study.contract.id, "sha256": config_sha256(study.contract)},
        "distribution": study.distribution.id,
        "partition": partition,
        "settings": settings,
        "sites": rows,
        "slowlab_version": __version__,
        "build": dict(runner.simulator.stepper.build),
    }


def _write_json(path: Path, content: dict[str, Any]) -> None:
    from slowlab.canonical import canonical_json
    from slowlab.io import atomic_write_text

    atomic_write_text(path, canonical_json(content) + "\n")


def _print_scores(study: Study, summaries: pd.DataFrame) -> None:
    """Means by method and feedback, and what is missing."""
    from slowlab.commands.evaluation_tables import print_table, report_console

    rows = []
    for (method, feedback), group in summaries.groupby(["method", "feedback"]):
        scored = group[group["status"] == "scored"]
        mean = f"{scored['score_eur_m2'].mean():.2f}" if len(scored) else "-"
        fallbacks = int((scored["fallback_reason"] != "").sum())
        counts = (str(len(group)), str(len(scored)), str(fallbacks))
        rows.append((str(method), str(feedback), *counts, mean))
    headings = ("method", "feedback", "recommendations", "scored", "fallbacks", "mean, EUR/m2")
    print_table(report_console(), study.label, headings, rows, texts=2)
    missing = summaries[summaries["status"] != "scored"]
    for row in missing.head(_SHOWN_MISSING).itertuples():
        typer.echo(f"missing: site {row.site}, {row.method}, {row.feedback}: {row.reason}")
    if len(missing) > _SHOWN_MISSING:
        typer.echo(f"and {len(missing) - _SHOWN_MISSING} more that are missing")
