"""Steps of the development stage that play runs and fit: files in, files out, one rule each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from slowlab.development.artifact_files import provenance, write
from slowlab.development.collect import Ground, play_runs, read_build, site_in_year, write_runs
from slowlab.development.config import DevelopmentConfig, Layout, load_development
from slowlab.development.dataset import (
    age_grid,
    load_process_data,
    read_process_data,
    write_table,
)
from slowlab.development.fit_kernel import (
    at_bounds,
    best_form,
    compare_forms,
    fit_form,
    fit_measured,
    kernel_content,
    random_starts,
    replicate_sd,
)
from slowlab.development.fit_predictor import fit_predictor, usable, validate
from slowlab.development.kernel_groups import KernelForm, make_groups
from slowlab.development.parity import DeployedCampaign, check_parity
from slowlab.development.runs import PARTITION, jobs, plan_run
from slowlab.development.stage_files import (
    contract_of,
    make_ground,
    read_plain,
    rounded,
    write_plain,
    years_of,
)
from slowlab.seeds import SeedKey
from slowlab.tools.artifacts import ArtifactFolder


class ParityError(RuntimeError):
    """The deployed predictor is another one than the fitted one."""


def collect_job(config_file: Path, number: int, target: Path) -> None:
    """Play the runs of one job."""
    config = load_development(config_file)
    ground = make_ground(config)
    records = play_runs(ground, jobs(config, ground.contract)[number])
    write_runs(target, records, dict(ground.simulator.stepper.build))


def tabulate(config_file: Path, files: Sequence[Path], folder: Path) -> None:
    """Turn runs into the tables of crops and readings; the build goes beside them."""
    config = load_development(config_file)
    rules = contract_of(config)
    ages = age_grid(
        rules.analysis_tools.min_crop_age_days,
        rules.calendar.crop_days,
        config.predictor.age_step_days,
    )
    data = read_process_data(sorted(files), ages)
    write_table(folder / "crops.parquet", data.crops)
    write_table(folder / "examples.parquet", data.examples)
    builds = [read_build(path) for path in sorted(files)]
    if any(build != builds[0] for build in builds):
        raise ValueError("the runs were made by different builds; run the stage again")
    write_plain(folder / "build.json", builds[0])


def fit_predictor_step(config_file: Path, folder: Path, target: Path, table: Path) -> None:
    """Fit and validate the predictor; the gate has not been passed yet."""
    config = load_development(config_file)
    contract, data = contract_of(config), load_process_data(folder)
    used = usable(data)
    validation = validate(used, contract, config.predictor)
    content = fit_predictor(used, contract, config.predictor, validation)
    errors = validation.table()
    ages = list(config.predictor.table_ages_days)
    origin = provenance(
        config,
        contract,
        section="predictor",
        build=read_plain(folder / "build.json"),
        sites=used.crops["site"].tolist(),
        years=years_of(config, used.crops),
        crops=len(used.crops),
        examples=len(used.examples),
        margin_sd_eur_m2=validation.margin_sd_eur_m2,
        validation_rmse_eur_m2={"ages": ages, **_columns(errors.loc[ages])},
    )
    write(target, contract, origin, content.model_dump(mode="json"))
    write_table(table, errors.reset_index())


def _columns(table: pd.DataFrame) -> dict[str, list[float]]:
    """The columns of a table as plain numbers."""
    return {str(name): rounded(table[name].tolist()) for name in table}


def fit_kernel_step(config_file: Path, folder: Path, target: Path) -> None:
    """Fit the kernel, compare its forms and keep both."""
    config = load_development(config_file)
    contract, data = contract_of(config), load_process_data(folder)
    used = usable(data).crops
    groups = make_groups(used, contract.policy, config.kernel.smallest_group)
    noise_sd, freedom = replicate_sd(data.crops)
    key = SeedKey(config.id, PARTITION, 0, "kernel", 0, "starts")
    fits = {
        form: fit_measured(groups, form, config.kernel, noise_sd, key.generator())
        for form in KernelForm
    }
    free = fit_form(
        groups,
        KernelForm.SEASON,
        config.kernel,
        random_starts(KernelForm.SEASON, config.kernel, key.generator()),
        noise_ratio=None,
    )
    scores = compare_forms(groups, config.kernel, noise_sd, key.seed())
    chosen = best_form(scores)
    origin = provenance(
        config,
        contract,
        section="kernel",
        build=read_plain(folder / "build.json"),
        sites=groups.site.tolist(),
        years=years_of(config, used),
        crops=int(groups.counts.sum()),
        runs=len(groups.site),
        replicate_degrees_of_freedom=freedom,
        form=chosen.value,
        form_scores={form.value: rounded(asdict(score)) for form, score in scores.items()},
        fits={form.value: rounded(kernel_content(fit, noise_sd)) for form, fit in fits.items()},
        fitted_noise_ratio=rounded(free.kernel.noise_ratio),
        at_bounds=at_bounds(fits[KernelForm.SEASON], config.kernel),
    )
    write(target, contract, origin, kernel_content(fits[KernelForm.SEASON], noise_sd))


def parity_step(config_file: Path, fitted: Path, target: Path, report: Path) -> None:
    """Let the fitted predictor through the gate; only then it becomes an artifact to use.

    Raises:
        ParityError: the deployed predictor is another one than the fitted one.
    """
    config = load_development(config_file)
    ground = make_ground(config)
    artifacts = ArtifactFolder(fitted.parent, ground.contract.id)
    found = check_parity(deployed_campaigns(config, ground), artifacts, config.parity)
    plain = {
        "passed": found.passed,
        "predictions": found.predictions,
        "missing": found.missing,
        "largest_difference_eur_m2": found.largest_difference_eur_m2,
        "sites": list(config.parity.sites),
        "table": rounded(found.table.to_dict(orient="records")),
    }
    write_plain(report, plain)
    if not found.passed:
        raise ParityError(
            f"{found.missing} of {found.predictions} predictions are missing, and margins differ "
            f"by up to {found.largest_difference_eur_m2:.4f} EUR/m2; see {report}"
        )
    artifact = artifacts.load("predictor")
    origin = {**artifact.provenance, "deployed": plain}
    write(target, ground.contract, origin, artifact.content)


def deployed_campaigns(config: DevelopmentConfig, ground: Ground) -> list[DeployedCampaign]:
    """Campaigns of the gate: on every site one for each pair of ages, with policies of its own."""
    found = []
    for site in config.parity.sites:
        for number, ages in enumerate(config.parity.age_pairs_days):
            run = plan_run(config, ground.contract, site, number, Layout.TWO_WAVE)
            session = ground.session(site_in_year(ground.site(site), number))
            found.append(DeployedCampaign(run, ages, session))
    return found
