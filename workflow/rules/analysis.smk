"""Analysis: one file of numbers, and every table, figure and page made from it alone."""


rule compute_numbers:
    input:
        [f"{FOLDER}/{table}.parquet" for table in ["sites", *STUDY_TABLES]],
        SETTING_FILES,
        EXAMPLE_JOURNAL,
        lock=LOCK,
    output:
        NUMBERS,
    params:
        code=code_sha256(["slowlab.report.study", "slowlab.analysis.study_numbers"]),
        study=STUDY.model_dump_json(),
        folder=FOLDER,
    script:
        "../scripts/compute_numbers.py"


rule draw_figure:
    input:
        numbers=NUMBERS,
        drawing="figures/{figure}.py",
    output:
        svg=report(
            f"{FOLDER}/figures/{{figure}}.svg",
            caption="../report/figure.rst",
            category="Figures",
        ),
        png=f"{FOLDER}/figures/{{figure}}.png",
    wildcard_constraints:
        figure="|".join(FIGURES),
    params:
        code=code_sha256(["slowlab.report.paper_item", "slowlab.plots.study_figures"]),
    shell:
        "python {input.drawing} {input.numbers} {output.svg} {output.png}"


rule write_table:
    input:
        numbers=NUMBERS,
        writing="figures/{table}.py",
    output:
        csv=report(
            f"{FOLDER}/tables/{{table}}.csv",
            caption="../report/table.rst",
            category="Tables",
        ),
        markdown=f"{FOLDER}/tables/{{table}}.md",
    wildcard_constraints:
        table="|".join(TABLES),
    params:
        code=code_sha256(["slowlab.report.paper_item", "slowlab.analysis.study_tables"]),
    shell:
        "python {input.writing} {input.numbers} {output.csv} {output.markdown}"


rule write_report:
    input:
        numbers=NUMBERS,
        figures=expand(f"{FOLDER}/figures/{{figure}}.svg", figure=FIGURES),
        tables=expand(f"{FOLDER}/tables/{{table}}.csv", table=TABLES),
        data=[f"{FOLDER}/{table}.parquet" for table in ["sites", *STUDY_TABLES]],
        transcripts=[f"{FOLDER}/transcript_pages"] if AGENTS else [],
        look=SECOND_LOOK,  # not its gates: they are checked after the report is written
    output:
        report(
            f"{FOLDER}/report.html",
            caption="../report/report.rst",
            category="Report",
        ),
    params:
        code=code_sha256(
            ["slowlab.report.files"], [ROOT / "slowlab/report/page.html.j2"]
        ),
    script:
        "../scripts/write_report.py"
