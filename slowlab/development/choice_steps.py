"""Steps of the development stage that choose between candidates: files in, files out."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pandas as pd

from slowlab.development.artifact_files import provenance, write
from slowlab.development.config import load_development
from slowlab.development.dataset import write_table
from slowlab.development.radius import (
    play_radius,
    radius_materials,
    rank_radii,
    score_radii,
)
from slowlab.development.reference import (
    rank_candidates,
    reference_content,
    score_candidates,
    study_error,
)
from slowlab.development.stage_files import (
    contract_of,
    make_ground,
    open_runner,
    read_plain,
    rounded,
    write_plain,
)
from slowlab.evaluation.common_file import read_common
from slowlab.methods._registry import method_class


def score_candidates_step(config_file: Path, runs: Path, target: Path) -> None:
    """Year scores of the candidates for the fixed reference."""
    config = load_development(config_file)
    ground = make_ground(config)
    sites = [ground.site(number) for number in range(config.reference.sites)]
    with open_runner(config, runs, "candidates for the fixed reference") as runner:
        scores = score_candidates(runner, sites, config.reference.error_study_years)
        write_plain(target.with_name("build.json"), dict(runner.simulator.stepper.build))
    write_table(target, scores)


def fixed_reference_step(config_file: Path, scores: Path, reference: Path, error: Path) -> None:
    """Choose the fixed reference, and say how exact a score is."""
    config = load_development(config_file)
    contract, table = contract_of(config), pd.read_parquet(scores)
    origin = provenance(
        config,
        contract,
        section="reference",
        build=read_plain(scores.with_name("build.json")),
        sites=table["site"].tolist(),
        years=table["year"].tolist(),
    )
    ranked = rank_candidates(table)
    write(reference, contract, origin, reference_content(contract, ranked))
    write(error, contract, origin, rounded(asdict(study_error(table))))


def common_policy_step(config_file: Path, search: Path, target: Path) -> None:
    """Keep what methods need of the search for the best single policy."""
    config = load_development(config_file)
    contract = contract_of(config)
    common = read_common(search, contract)
    archive, made = common.archive, common.provenance
    origin = provenance(
        config,
        contract,
        section="common_policy",
        build=made["build"],
        sites=made["sites"],
        years=made["weather"]["years"],
        search=made["search"],
        policies_tried=len(archive.policies),
    )
    content = {
        "policy": common.policy.model_dump(),
        "mean_margin_eur_m2": float(archive.own_margin[archive.common]),
        "standard_error_eur_m2": float(archive.own_margin_se[archive.common]),
        "portfolio": [policy.model_dump() for policy in common.portfolio],
    }
    write(target, contract, origin, rounded(content))


def radius_scores_step(
    config_file: Path, artifacts: Path, root: Path, runs: Path, target: Path
) -> None:
    """Score the recommendations of all radii, which lie under ``root``."""
    config = load_development(config_file)
    materials = radius_materials(config, artifacts)
    files = {
        radius: [root / name / "recommendations.json" for name in config.radius.jobs(radius)]
        for radius in config.radius.candidates
    }
    with open_runner(config, runs, "radii") as runner:
        scores = score_radii(runner, materials, files)
        made = {
            "build": dict(runner.simulator.stepper.build),
            "artifacts": {
                name: materials.artifacts.load(name).sha256
                for name in method_class(config.radius.method).uses_artifacts
                if name != "radius"
            },
            "years": sorted(
                str(year)
                for site in materials.sites(range(config.radius.sites))
                for year in (site.campaign_year, *site.evaluation_years)
            ),
        }
    write_plain(target.with_name("made.json"), made)
    write_table(target, scores)


def radius_step(config_file: Path, scores: Path, target: Path) -> None:
    """Choose the radius."""
    config = load_development(config_file)
    contract, table = contract_of(config), pd.read_parquet(scores)
    ranked, made = rank_radii(table), read_plain(scores.with_name("made.json"))
    origin = provenance(
        config,
        contract,
        section="radius",
        build=made["build"],
        sites=table["site"].tolist(),
        years=made["years"],
        artifacts=made["artifacts"],
        campaigns=len(table),
        at_edge=ranked[0].radius in (min(config.radius.candidates), max(config.radius.candidates)),
    )
    candidates = [rounded(asdict(item)) for item in ranked]
    write(target, contract, origin, {"radius": ranked[0].radius, "candidates": candidates})


def play_radius_step(config_file: Path, artifacts: Path, name: str, root: Path) -> None:
    """Run the campaigns of one job of the radius selection."""
    play_radius(load_development(config_file), artifacts, name, root)
