"""Rehearsal of the confirmatory analysis on scores without effects and with planted ones."""

REHEARSAL = f"{FOLDER}/rehearsal.json"


rule run_rehearsal:
    input:
        [f"{FOLDER}/{table}.parquet" for table in STUDY_TABLES],
        SETTING_FILES,
        EXAMPLE_JOURNAL,
        numbers=NUMBERS,
        declaration=os.path.relpath(ROOT / "preregistration" / "study.yaml"),
        lock=LOCK,
    output:
        REHEARSAL,
    params:
        code=code_sha256(["slowlab.report.rehearsal"]),
        study=STUDY.model_dump_json(),
        folder=FOLDER,
    script:
        "../scripts/run_rehearsal.py"


rule show_rehearsal:
    input:
        rehearsal=REHEARSAL,
    output:
        svg=f"{FOLDER}/rehearsal.svg",
        png=f"{FOLDER}/rehearsal.png",
        markdown=f"{FOLDER}/rehearsal.md",
        csv=f"{FOLDER}/rehearsal.csv",
    params:
        code=code_sha256(
            ["slowlab.plots.rehearsal_plot", "slowlab.analysis.rehearsal_file"]
        ),
    script:
        "../scripts/show_rehearsal.py"


rule rehearse:
    input:
        rehearsal=REHEARSAL,
        shown=rules.show_rehearsal.output,
    output:
        f"{FOLDER}/rehearsal_gates.txt",
    params:
        code=code_sha256(["slowlab.analysis.rehearsal_file"]),
    script:
        "../scripts/check_rehearsal.py"
