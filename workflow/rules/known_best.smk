"""Best-known policies, and scores with other side walls: both beside the methods' own scores."""

SIDE_WALL_CODE = code_sha256(["slowlab.stages.side_wall"])


def within(shard, sites):
    """Those of some sites that lie in a shard."""
    return [site for site in SHARDS[shard].sites if site in sites]


def recommendations_of(items, shard):
    """Recommendations of campaign items on a shard."""
    return [
        f"{PATHS.campaigns(item)}/recommendations.json"
        for item in items
        if item.shard.name == shard
    ]


rule find_oracle:
    input:
        recommendations=lambda wildcards: recommendations_of(
            [item for name in METHODS for item in scored_items(STUDY, name)],
            wildcards.shard,
        ),
        reference=f"{FOLDER}/scores/{STUDY.analysis.reference}/{{shard}}.parquet",
        lock=LOCK,
        compiled=COMPILED_STEP,
    output:
        f"{FOLDER}/oracle/{{shard}}.parquet",
    benchmark:
        f"{FOLDER}/timings/oracle/{{shard}}.tsv"
    params:
        code=lambda wildcards: oracle_code(STUDY),
        setting=SETTING,
        search=lambda wildcards: STUDY.oracle.search.model_dump_json(),
        sites=lambda wildcards: within(wildcards.shard, STUDY.oracle_sites),
        again=lambda wildcards: within(wildcards.shard, STUDY.repeated_oracle_sites),
        runs=f"{FOLDER}/runs",
    script:
        "../scripts/find_oracle.py"


rule gather_oracle:
    input:
        [
            f"{FOLDER}/oracle/{shard}.parquet"
            for shard in SHARDS
            if within(shard, STUDY.oracle_sites)
        ],
    output:
        f"{FOLDER}/oracle.parquet",
    params:
        code=oracle_code(STUDY),
        setting=SETTING,
        sites=list(STUDY.oracle_sites),
        again=list(STUDY.repeated_oracle_sites),
    script:
        "../scripts/gather_oracle.py"


rule rescore_side_wall:
    input:
        recommendations=lambda wildcards: recommendations_of(
            side_wall_items(STUDY), wildcards.shard
        ),
        lock=LOCK,
        compiled=COMPILED_STEP,
    output:
        f"{FOLDER}/side_wall/{{shard}}.parquet",
    benchmark:
        f"{FOLDER}/timings/side_wall/{{shard}}.tsv"
    params:
        code=SIDE_WALL_CODE,
        setting=SETTING,
        exchanges=lambda wildcards: list(STUDY.side_wall.exchange_w_m2_k),
        sites=lambda wildcards: within(wildcards.shard, STUDY.side_wall_sites),
        runs=f"{FOLDER}/runs",
    script:
        "../scripts/rescore_side_wall.py"


rule gather_side_wall:
    input:
        [
            f"{FOLDER}/side_wall/{shard}.parquet"
            for shard in SHARDS
            if within(shard, STUDY.side_wall_sites)
        ],
    output:
        f"{FOLDER}/side_wall.parquet",
    params:
        code=code_sha256(["slowlab.stages.gather", "slowlab.evaluation.side_wall"]),
        expected=[
            [site, item.method, item.feedback, item.repeat]
            for item in side_wall_items(STUDY)
            for site in within(item.shard.name, STUDY.side_wall_sites)
        ],
    script:
        "../scripts/gather_side_wall.py"
