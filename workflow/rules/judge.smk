# Judging: every claim under a protocol, and with each of its switches changed alone, in one job: they share their work.
JUDGED_SCENARIOS = ["{protocol}", *(f"{{protocol}}.{switch}" for switch in SWITCHES)]


rule judge:
    """The verdict on every claim under a protocol, and with each of its switches changed alone."""
    input:
        unpack(lambda wildcards: files_of(wildcards.protocol).judge_inputs()),
    output:
        [
            LAYOUT.verdicts(scenario, file)
            for scenario in JUDGED_SCENARIOS
            for file in JUDGED
        ],
    log:
        LAYOUT.log("{protocol}", "judge"),
    priority: 5  # takes longest of what comes last
    retries: 0
    conda:
        ENVIRONMENT
    resources:
        mem_mb=8000,
        runtime=120,
    params:
        code=code_version(
            "verdicts", "statistics", "results", "plan", "published", "qrt/tuning"
        ),
        study=lambda wildcards: facts(wildcards.protocol, to_judge=True),
        results=subpath(output[0], ancestor=2),
    shell:
        "python -m qrt_study judge --study {params.study:q} --results {params.results}"
        " > {log} 2> >(tee -a {log} >&2)"
