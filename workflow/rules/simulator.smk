"""The simulator's own proof, an example crop, and the compiled step that all campaigns share."""

SIMULATOR_CODE = code_sha256(
    ["slowlab.commands.simulator", "slowlab.commands.simulate"]
)


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


rule compile_step:
    input:
        lock=LOCK,
    output:
        COMPILED_STEP,
    params:
        code=code_sha256(["slowlab.stages.compile"]),
        contract=STUDY.contract,
        sensors=STUDY.sensors,
    script:
        "../scripts/compile_step.py"
