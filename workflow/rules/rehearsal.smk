"""Rehearsal of the confirmatory analysis on scores without effects and with planted ones."""

REHEARSAL = f"{FOLDER}/rehearsal.json"
REHEARSAL_SHOWN = [f"{FOLDER}/rehearsal.{kind}" for kind in ("svg", "png", "md", "csv")]


rule rehearse:
    input:
        rehearsal=REHEARSAL,
        shown=REHEARSAL_SHOWN,
    script:
        "../scripts/check_rehearsal.py"


rule run_rehearsal:
    input:
        [f"{FOLDER}/{table}.parquet" for table in STUDY_TABLES],
        SETTING_FILES,
        EXAMPLE_JOURNAL,
        numbers=NUMBERS,
        declaration=ROOT / "preregistration" / "study.yaml",
        lock=LOCK,
    output:
        REHEARSAL,
    params:
        code=code_sha256(["slowlab.report.rehearsal"]),
        study=STUDY.model_dump_json(),
        folder=FOLDER,
        root=str(ROOT),
    script:
        "../scripts/run_rehearsal.py"


rule show_rehearsal:
    input:
        rehearsal=REHEARSAL,
    output:
        REHEARSAL_SHOWN,
    params:
        code=code_sha256(
            ["slowlab.plots.rehearsal_plot", "slowlab.analysis.rehearsal_file"]
        ),
    script:
        "../scripts/show_rehearsal.py"
