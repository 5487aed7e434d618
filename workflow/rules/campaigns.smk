"""Campaigns: one generic rule. A job is a shard of sites of one method, condition and repeat.

Language models have a rule of their own, agents.smk.
"""

CAMPAIGN = f"{FOLDER}/campaigns/{{method}}/{{feedback}}/repeat-{{repeat}}/{{shard}}"


rule draw_sites:
    input:
        SETTING_FILES,
    output:
        f"{FOLDER}/sites.parquet",
    params:
        code=code_sha256(["slowlab.stages.sites"]),
        setting=SETTING,
        sites=list(STUDY.site_numbers),
    script:
        "../scripts/draw_sites.py"


rule run_campaigns:
    input:
        SETTING_FILES,
        lock=LOCK,
        compiled=COMPILED_STEP,
    output:
        recommendations=f"{CAMPAIGN}/recommendations.json",
        campaigns=f"{CAMPAIGN}/campaigns.parquet",
        crops=f"{CAMPAIGN}/crops.parquet",
        reads=f"{CAMPAIGN}/reads.parquet",
        journals=directory(f"{CAMPAIGN}/journals"),
    benchmark:
        f"{FOLDER}/timings/campaigns/{{method}}.{{feedback}}.{{repeat}}.{{shard}}.tsv"
    wildcard_constraints:
        method="|".join(name for name in METHODS if name not in AGENTS),
    params:
        code=lambda wildcards: method_code(STUDY, wildcards.method),
        setting=SETTING,
        method_folders=lambda wildcards: folders_of(STUDY, wildcards.method),
        entry=lambda wildcards: STUDY.entry(wildcards.method).model_dump_json(),
    script:
        "../scripts/run_campaigns.py"


rule gather_campaigns:
    input:
        lambda wildcards: [
            f"{PATHS.campaigns(item)}/{wildcards.table}.parquet"
            for item in campaign_items(STUDY)
        ],
    output:
        f"{FOLDER}/{{table}}.parquet",
    wildcard_constraints:
        table="campaigns|crops|reads",
    params:
        code=code_sha256(["slowlab.stages.gather", "slowlab.stages.campaign_table"]),
    script:
        "../scripts/gather_campaigns.py"
