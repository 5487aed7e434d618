"""The development stage: what is fitted and chosen on public sites, for `slowlab artifacts freeze`.

Only the target `development` asks for it. A study reads the artifacts under config/artifacts and
never reruns this.
"""

from slowlab.development.config import load_development

DEVELOPMENT = "results/development"
DEVELOPMENT_FILE = os.path.relpath(ROOT / "config" / "development.yaml")
STAGE = load_development(DEVELOPMENT_FILE)
FITTED = f"{DEVELOPMENT}/artifacts"
FINISHED_RUNS = f"{DEVELOPMENT}/finished_runs"
RADIUS = f"{DEVELOPMENT}/radius"
DEVELOPMENT_DATA = [
    f"{DEVELOPMENT}/data/{name}"
    for name in ("crops.parquet", "examples.parquet", "build.json")
]
FIT_CODE = code_sha256(["slowlab.development.fit_steps"])
CHOICE_CODE = code_sha256(["slowlab.development.choice_steps"])
RADIUS_INPUTS = [
    f"{FITTED}/{name}.json" for name in ("fixed_reference", "kernel", "predictor")
]


rule development:
    input:
        f"{DEVELOPMENT}/summary.json",


rule develop_runs:
    input:
        config=DEVELOPMENT_FILE,
        lock=LOCK,
        compiled=COMPILED_STEP,
    output:
        f"{DEVELOPMENT}/runs/job-{{job}}.jsonl.gz",
    wildcard_constraints:
        job=r"\d+",
    params:
        code=code_sha256(["slowlab.development.collect"]),
    script:
        "../scripts/develop_runs.py"


rule develop_tables:
    input:
        config=DEVELOPMENT_FILE,
        runs=[
            f"{DEVELOPMENT}/runs/job-{job:02d}.jsonl.gz"
            for job in range(STAGE.runs.jobs)
        ],
    output:
        DEVELOPMENT_DATA,
    params:
        code=code_sha256(["slowlab.development.dataset"]),
    script:
        "../scripts/develop_tables.py"


rule develop_predictor:
    input:
        config=DEVELOPMENT_FILE,
        data=DEVELOPMENT_DATA,
    output:
        predictor=f"{DEVELOPMENT}/fitted/predictor.json",
        validation=f"{DEVELOPMENT}/fitted/validation.parquet",
    params:
        code=code_sha256(["slowlab.development.fit_predictor"]),
    script:
        "../scripts/develop_predictor.py"


rule develop_parity:
    input:
        config=DEVELOPMENT_FILE,
        fitted=f"{DEVELOPMENT}/fitted/predictor.json",
        compiled=COMPILED_STEP,
    output:
        predictor=f"{FITTED}/predictor.json",
        report=f"{DEVELOPMENT}/parity.json",
    params:
        code=code_sha256(["slowlab.development.parity"]),
    script:
        "../scripts/develop_parity.py"


rule develop_kernel:
    input:
        config=DEVELOPMENT_FILE,
        data=DEVELOPMENT_DATA,
    output:
        f"{FITTED}/kernel.json",
    params:
        code=code_sha256(["slowlab.development.fit_kernel"]),
    script:
        "../scripts/develop_kernel.py"


rule develop_candidates:
    input:
        config=DEVELOPMENT_FILE,
        lock=LOCK,
        compiled=COMPILED_STEP,
    output:
        f"{DEVELOPMENT}/reference/scores.parquet",
    params:
        code=code_sha256(["slowlab.development.reference"]),
        finished=FINISHED_RUNS,
    script:
        "../scripts/develop_candidates.py"


rule develop_reference:
    input:
        config=DEVELOPMENT_FILE,
        scores=f"{DEVELOPMENT}/reference/scores.parquet",
    output:
        reference=f"{FITTED}/fixed_reference.json",
        error=f"{FITTED}/evaluation_error.json",
    params:
        code=code_sha256(["slowlab.development.reference"]),
    script:
        "../scripts/develop_reference.py"


rule search_common_policy:
    input:
        lock=LOCK,
        compiled=COMPILED_STEP,
    output:
        f"{DEVELOPMENT}/common_policy/search.json",
    params:
        code=code_sha256(["slowlab.evaluation.common", "slowlab.evaluation.value"]),
        contract=STAGE.contract,
        sites=STAGE.common_policy.sites,
        seed=STAGE.common_policy.seed,
        finished=FINISHED_RUNS,
    shell:
        "slowlab common-policy --contract {params.contract} --sites {params.sites}"
        " --seed {params.seed} --shards {params.finished} --workers 1 --out {output}"


rule develop_common_policy:
    input:
        config=DEVELOPMENT_FILE,
        search=f"{DEVELOPMENT}/common_policy/search.json",
    output:
        f"{FITTED}/common_policy.json",
    params:
        code=CHOICE_CODE,
    script:
        "../scripts/develop_common_policy.py"


rule develop_radius:
    input:
        config=DEVELOPMENT_FILE,
        artifacts=RADIUS_INPUTS,
        lock=LOCK,
        compiled=COMPILED_STEP,
    output:
        f"{RADIUS}/{{name}}/recommendations.json",
        journals=directory(f"{RADIUS}/{{name}}/journals"),
    wildcard_constraints:
        name="|".join(STAGE.radius.every_job()),
    params:
        code=code_sha256(
            [f"slowlab.methods.{STAGE.radius.method}", "slowlab.stages.campaigns"]
        ),
        root=RADIUS,
    script:
        "../scripts/develop_radius.py"


rule develop_radius_scores:
    input:
        config=DEVELOPMENT_FILE,
        artifacts=RADIUS_INPUTS,
        recommendations=[
            f"{RADIUS}/{name}/recommendations.json"
            for name in STAGE.radius.every_job()
        ],
    output:
        f"{RADIUS}/scores.parquet",
        f"{RADIUS}/made.json",
    params:
        code=code_sha256(["slowlab.development.radius"]),
        root=RADIUS,
        finished=FINISHED_RUNS,
    script:
        "../scripts/develop_radius_scores.py"


rule develop_radius_choice:
    input:
        config=DEVELOPMENT_FILE,
        scores=f"{RADIUS}/scores.parquet",
    output:
        f"{FITTED}/radius.json",
    params:
        code=code_sha256(["slowlab.development.radius"]),
    script:
        "../scripts/develop_radius_choice.py"


rule develop_summary:
    input:
        config=DEVELOPMENT_FILE,
        validation=f"{DEVELOPMENT}/fitted/validation.parquet",
        artifacts=[
            f"{FITTED}/{name}.json"
            for name in (
                "common_policy",
                "evaluation_error",
                "fixed_reference",
                "kernel",
                "predictor",
                "radius",
            )
        ],
    output:
        summary=f"{DEVELOPMENT}/summary.json",
        figures=expand(
            f"{DEVELOPMENT}/figures/{{name}}.{{kind}}",
            name=["predictor", "kernel"],
            kind=["svg", "png"],
        ),
    params:
        code=code_sha256(["slowlab.development.summary", "slowlab.plots.development"]),
    script:
        "../scripts/develop_summary.py"
