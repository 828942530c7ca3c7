# Tuning: from the rows of all networks to those of named methods, and the tables of a scenario as a whole.


rule tune:
    """The methods of one experiment, tuned per dataset over its splits."""
    input:
        lambda wildcards: files_of(wildcards.scenario).runs_of(
            [wildcards.experiment], seed=int(wildcards.seed)
        ),
    output:
        LAYOUT.methods("{scenario}", "{experiment}", "{seed}"),
    log:
        LAYOUT.log("{scenario}", "tune", "seed{seed}", "{experiment}"),
    priority: 5
    # A damaged input is found again however often the job is tried; the next call makes it again.
    retries: 0
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=code_version("results", "plan", "qrt/tuning"),
        study=study,
    shell:
        "python -m qrt_study tune {wildcards.experiment} --study {params.study:q} --seed {wildcards.seed}"
        " --out {output} > {log} 2> >(tee -a {log} >&2)"


rule collect:
    """All rows of one kind, joined into one table."""
    input:
        lambda wildcards: files_of(wildcards.scenario).collected(wildcards.kind),
    output:
        LAYOUT.table("{scenario}", "{kind}"),
    log:
        LAYOUT.log("{scenario}", "collect", "{kind}"),
    retries: 0
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=code_version("results", "plan"),
        study=study,
    shell:
        "python -m qrt_study collect {wildcards.kind} --study {params.study:q} --out {output} 2>&1 | tee {log}"
