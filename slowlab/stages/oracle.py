"""The best policy known of each site: searches on a shard of sites, then one table with errors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from slowlab.evaluation.best_known import (
    BEST_KNOWN_SCHEMA,
    SEARCH_SCHEMA,
    Suggested,
    best_known_table,
    search_sites,
)
from slowlab.evaluation.oracle import OracleSettings
from slowlab.evaluation.recommendations import read_recommendations, resolve
from slowlab.evaluation.runner import YearRunner
from slowlab.evaluation.search import SearchSettings
from slowlab.evaluation.shards import ShardStore
from slowlab.io import atomic_write_bytes
from slowlab.plan.known_best import OracleSearch
from slowlab.stages.gather import IncompleteStudyError
from slowlab.stages.materials import Materials
from slowlab.stages.progress import LaneReporter
from slowlab.tools.artifacts import ArtifactError
from slowlab.world.policy import Policy, PolicyError, parse_policy


def find_oracle(
    materials: Materials,
    search: OracleSearch,
    sites: Sequence[int],
    again: Sequence[int],
    files: Sequence[Path],
    runs: Path,
    target: Path,
) -> None:
    """Search for the best policy of some sites.

    What campaigns recommended on a site is screened there with the other candidates, in the
    screening year; scoring years stay unseen until the winner is known.

    Args:
        materials: what the study's setting names.
        search: what a search spends.
        sites: numbers of the sites.
        again: of these, the ones that are searched twice.
        files: recommendations of finished campaigns; those for other sites are passed over.
        runs: folder of finished runs, so that a killed search continues.
        target: gets one row for each search.

    Raises:
        ConfigError, RecommendationError, StrictJsonError: a file does not fit.
        ArtifactError: there is no common policy for this contract, or it cannot be used.
        SiteError: a site has too few spare years.
        WeatherError: a weather year cannot be had.
        OSError: a file cannot be read or written.
    """
    settings = OracleSettings(
        search=SearchSettings(
            sobol=search.sobol, rounds=search.rounds, population=search.population, seed=search.seed
        ),
        finalists=search.finalists,
        selection_years=search.selection_years,
    )
    with YearRunner(
        materials.contract,
        materials.sensors,
        materials.weather,
        store=ShardStore(runs),
        progress=LaneReporter("best known policies"),
    ) as runner:
        found = search_sites(
            runner,
            materials.sites(sites),
            again,
            settings,
            suggested_policies(materials),
            recommended_policies(materials, files),
        )
    atomic_write_bytes(target, SEARCH_SCHEMA.parquet(found))


def gather_oracle(
    materials: Materials,
    files: Sequence[Path],
    sites: Sequence[int],
    again: Sequence[int],
    target: Path,
) -> None:
    """Put the searches of all shards together and add the error of the headroom.

    Args:
        materials: what the study's setting names.
        files: tables of searches.
        sites: numbers of all sites that must have been searched.
        again: of these, the ones that must have been searched twice.
        target: gets one row for each site.

    Raises:
        IncompleteStudyError: a search is missing, or was not planned.
        ArtifactError: the error by weather years is missing or cannot be used.
        ValueError: no site was searched twice with a score.
        OSError: a file cannot be read or written.
    """
    whole = pd.concat([SEARCH_SCHEMA.read(path) for path in files], ignore_index=True)
    SEARCH_SCHEMA.check(whole)
    found = set(zip(whole["site"].tolist(), whole["search"].tolist(), strict=True))
    planned = {(site, 0) for site in sites} | {(site, 1) for site in again}
    if found != planned:
        odd = ", ".join(f"site {site} search {number}" for site, number in sorted(found ^ planned))
        raise IncompleteStudyError(f"{target.name}: missing or not planned: {odd}")
    error = materials.artifacts.load("evaluation_error").content
    table = best_known_table(
        whole,
        float(error["difference_sd_one_year_eur_m2"]),
        materials.distribution.evaluation_years,
    )
    atomic_write_bytes(target, BEST_KNOWN_SCHEMA.parquet(table))


def suggested_policies(materials: Materials) -> Suggested:
    """What the ``common_policy`` artifact suggests; an artifact without a portfolio is fine.

    Raises:
        ArtifactError: it is missing, of another contract, or outside the contract's bounds.
    """
    content, bounds = materials.artifacts.load("common_policy").content, materials.contract.policy
    try:
        return Suggested(
            parse_policy(content["policy"], bounds),
            tuple(parse_policy(item, bounds) for item in content.get("portfolio", ())),
        )
    except PolicyError as error:
        raise ArtifactError(f"{materials.artifacts.path('common_policy')}: {error}") from None


def recommended_policies(materials: Materials, files: Sequence[Path]) -> dict[int, list[Policy]]:
    """What campaigns recommended, by site; what is scored for an invalid one counts.

    Raises:
        ConfigError, RecommendationError, StrictJsonError: a file does not fit.
        OSError: a file cannot be read.
    """
    found: dict[int, list[Policy]] = defaultdict(list)
    for path in files:
        for item in read_recommendations(path, materials.contract).recommendations:
            policy = resolve(item, materials.contract).policy
            if policy is not None:
                found[item.site].append(policy)
    return dict(found)
