"""The simulator's own proof and an example crop."""


rule audit_simulator:
    input:
        lock=LOCK,
    output:
        SIMULATOR_AUDIT,
    params:
        code=SIMULATOR_CODE,
    shell:
        "slowlab audit simulator --json --quick > {output}.part && mv {output}.part {output}"


rule simulate_example:
    input:
        lock=LOCK,
    output:
        SIMULATOR_EXAMPLE,
    params:
        code=SIMULATOR_CODE,
        folder=lambda wildcards, output: str(Path(output[0]).parent),
    shell:
        "slowlab simulate --out {params.folder}"
