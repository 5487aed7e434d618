"""Readers: packets of finished campaigns, and what every reader recommends from each of them."""


def packet_sites(wildcards):
    """Sites of a shard whose campaigns are read."""
    return [s for s in SHARDS[wildcards.shard].sites if s in STUDY.packet_sites]


def journal_folders(wildcards):
    """Folders of journals of all sources on a shard, in the order of the sources."""
    items = source_items(STUDY, SHARDS[wildcards.shard])
    return [f"{PATHS.campaigns(item)}/journals" for item in items]


rule build_packets:
    input:
        SETTING_FILES,
        journals=journal_folders,
    output:
        f"{FOLDER}/packets/{{shard}}.json",
    params:
        code=code_sha256(["slowlab.stages.readers"]),
        setting=SETTING,
        sources=list(sources(STUDY)),
        feedback=STUDY.feedback[0],
        sites=packet_sites,
    script:
        "../scripts/build_packets.py"


rule read_packets:
    input:
        f"{FOLDER}/packets/{{shard}}.json",
        SETTING_FILES,
    output:
        f"{FOLDER}/readings/{{reader}}/{{shard}}.json",
    benchmark:
        f"{FOLDER}/timings/readings/{{reader}}.{{shard}}.tsv"
    resources:
        spending=STUDY.spending.model_dump_json(),
    params:
        code=lambda wildcards: reader_code(STUDY, wildcards.reader),
        setting=SETTING,
        entry=lambda wildcards: STUDY.reader(wildcards.reader).model_dump_json(),
        questions=lambda wildcards: agent_questions(STUDY.reader(wildcards.reader)),
        transcripts=TRANSCRIPTS,
        purse=PURSE,
    script:
        "../scripts/read_packets.py"


rule score_reader:
    input:
        recommendations=[f"{FOLDER}/readings/{{reader}}/{{shard}}.json"],
        lock=LOCK,
        compiled=COMPILED_STEP,
    output:
        scores=f"{FOLDER}/reading_scores/{{reader}}/{{shard}}.parquet",
        sites=f"{FOLDER}/reading_scores/{{reader}}/{{shard}}.sites.parquet",
    benchmark:
        f"{FOLDER}/timings/reading_scores/{{reader}}.{{shard}}.tsv"
    params:
        code=SCORING_CODE,
        setting=SETTING,
        runs=f"{FOLDER}/runs",
    script:
        "../scripts/score_method.py"


rule gather_reading_scores:
    input:
        [
            f"{FOLDER}/reading_scores/{reader}/{shard.name}.parquet"
            for reader in READERS
            for shard in packet_shards(STUDY)
        ],
    output:
        f"{FOLDER}/reading_scores.parquet",
    params:
        code=GATHER_CODE,
        expected=[
            [site, f"reader:{reader}:{source}", STUDY.feedback[0], 0]
            for reader in READERS
            for source in sources(STUDY)
            for site in STUDY.packet_sites
        ],
    script:
        "../scripts/gather_scores.py"
