"""The Bayesian second look; a missed gate fails its own rule, after everything else is made."""


rule fit_second_look:
    input:
        numbers=NUMBERS,
        declaration=os.path.relpath(ROOT / "preregistration" / "study.yaml"),
        lock=LOCK,
    output:
        look=SECOND_LOOK,
        draws=f"{FOLDER}/second_look.nc",
    params:
        code=code_sha256(["slowlab.report.second_look"]),
    script:
        "../scripts/fit_second_look.py"


rule check_second_look:
    input:
        ancient(primary_results()),
        look=SECOND_LOOK,
    output:
        SECOND_LOOK_GATES,
    params:
        code=code_sha256(["slowlab.analysis.second_look_file"]),
        shown=second_look_shown(),
    script:
        "../scripts/check_second_look.py"


rule draw_second_look:
    input:
        numbers=NUMBERS,
        look=SECOND_LOOK,
        gates=SECOND_LOOK_GATES,
        drawing="figures/{figure}.py",
    output:
        svg=report(
            f"{FOLDER}/figures/{{figure}}.svg",
            caption="../report/figure.rst",
            category="Second look",
        ),
        png=f"{FOLDER}/figures/{{figure}}.png",
    wildcard_constraints:
        figure="|".join(SECOND_LOOK_FIGURES),
    params:
        code=code_sha256(
            ["slowlab.report.second_look_item", "slowlab.plots.second_look_plot"]
        ),
    shell:
        "python {input.drawing} {input.numbers} {input.look} {output.svg} {output.png}"


rule tabulate_second_look:
    input:
        numbers=NUMBERS,
        look=SECOND_LOOK,
        gates=SECOND_LOOK_GATES,
        writing="figures/{table}_table.py",
    output:
        csv=report(
            f"{FOLDER}/tables/{{table}}.csv",
            caption="../report/table.rst",
            category="Second look",
        ),
        markdown=f"{FOLDER}/tables/{{table}}.md",
    wildcard_constraints:
        table="second_look",
    params:
        code=code_sha256(
            ["slowlab.report.second_look_item", "slowlab.analysis.second_look_table"]
        ),
    shell:
        "python {input.writing} {input.numbers} {input.look} {output.csv} {output.markdown}"
