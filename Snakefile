"""Entry point of `snakemake` in the repository's root; the workflow itself is workflow/Snakefile."""


# Snakemake ignores the default target of an included file, so this one needs its own.
include: "workflow/Snakefile"


rule default:
    default_target: True
    input:
        rules.all.input,
