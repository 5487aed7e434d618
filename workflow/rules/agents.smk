"""Language models: a job is one model and repeat on a shard of sites, in all conditions at once.

What is paid for, the transcripts and the purse, is no output of a rule: Snakemake would remove it
before it runs a job again. A job that runs again replays its transcripts and pays for nothing twice.
"""

AGENT_FOLDER = f"{FOLDER}/campaigns/{{method}}/{{mode}}/repeat-{{repeat}}/{{shard}}"


def agent_outputs(name):
    """A file of a job in every feedback condition, with the job's wildcards left open."""
    return [f"{AGENT_FOLDER}/{name}".replace("{mode}", mode) for mode in STUDY.feedback]


if AGENTS:

    rule run_agents:
        input:
            SETTING_FILES,
            lock=LOCK,
            compiled=COMPILED_STEP,
        output:
            initial=f"{AGENT_FOLDER}/recommendations.json".replace("{mode}", INITIAL),
            recommendations=agent_outputs("recommendations.json"),
            tables=[
                path
                for table in ["campaigns", "crops", "reads", *AGENT_TABLES]
                for path in agent_outputs(f"{table}.parquet")
            ],
            journals=[directory(path) for path in agent_outputs("journals")],
        benchmark:
            f"{FOLDER}/timings/agents/{{method}}.{{repeat}}.{{shard}}.tsv"
        wildcard_constraints:
            method="|".join(AGENTS),
        resources:
            spending=STUDY.spending.model_dump_json(),
        params:
            code=lambda wildcards: agent_code(STUDY, wildcards.method),
            questions=lambda wildcards: agent_questions(STUDY.entry(wildcards.method)),
            setting=SETTING,
            entry=lambda wildcards: STUDY.entry(wildcards.method).model_dump_json(),
            feedback=list(STUDY.feedback),
            folder=f"{FOLDER}/campaigns",
            transcripts=f"{TRANSCRIPTS}/campaigns",
            purse=PURSE,
        script:
            "../scripts/run_agents.py"

    rule gather_agents:
        input:
            lambda wildcards: [
                f"{PATHS.campaigns(item)}/{wildcards.table}.parquet"
                for item in campaign_items(STUDY, AGENTS)
            ],
        output:
            f"{FOLDER}/{{table}}.parquet",
        wildcard_constraints:
            table="|".join(AGENT_TABLES),
        params:
            code=code_sha256(["slowlab.stages.gather", "slowlab.stages.agent_table"]),
        script:
            "../scripts/gather_agents.py"

    rule write_transcript_pages:
        input:
            f"{FOLDER}/agents.parquet",
        output:
            directory(f"{FOLDER}/transcript_pages"),
        params:
            code=code_sha256(
                ["slowlab.agents.page"], sorted((ROOT / "slowlab/agents").glob("*.j2"))
            ),
            transcripts=f"{TRANSCRIPTS}/campaigns",
        script:
            "../scripts/write_transcript_pages.py"
