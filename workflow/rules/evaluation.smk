"""Private scores: a job is one method, or one reader, on a shard of sites."""

SCORING_CODE = code_sha256(["slowlab.stages.evaluation"])
GATHER_CODE = code_sha256(["slowlab.stages.gather", "slowlab.evaluation.score"])
SCORE_TABLES = {"scores": "", "site_scores": ".sites"}


rule score_method:
    input:
        recommendations=lambda wildcards: [
            f"{PATHS.campaigns(item)}/recommendations.json"
            for item in scored_items(STUDY, wildcards.method)
            if item.shard.name == wildcards.shard
        ],
        lock=LOCK,
        compiled=COMPILED_STEP,
    output:
        scores=f"{FOLDER}/scores/{{method}}/{{shard}}.parquet",
        sites=f"{FOLDER}/scores/{{method}}/{{shard}}.sites.parquet",
    benchmark:
        f"{FOLDER}/timings/scores/{{method}}.{{shard}}.tsv"
    params:
        code=SCORING_CODE,
        setting=SETTING,
        runs=f"{FOLDER}/runs",
    script:
        "../scripts/score_method.py"


rule gather_scores:
    input:
        lambda wildcards: [
            f"{FOLDER}/scores/{method}/{shard}{SCORE_TABLES[wildcards.table]}.parquet"
            for method in METHODS
            for shard in SHARDS
        ],
    output:
        f"{FOLDER}/{{table}}.parquet",
    wildcard_constraints:
        table="|".join(SCORE_TABLES),
    params:
        code=GATHER_CODE,
        expected=[
            [site, entry.name, feedback, repeat]
            for entry in STUDY.methods
            for feedback, repeat in scored_conditions(STUDY, entry)
            for site in STUDY.site_numbers
        ],
    script:
        "../scripts/gather_scores.py"
