# Collecting: from the files of the jobs to the tables of the study.


rule tune:
    """The methods of one experiment, tuned per dataset over its splits."""
    input:
        lambda wildcards: FILES.evaluated(
            "runs", [wildcards.experiment], seeds=[wildcards.seed]
        ),
    output:
        LAYOUT.methods("{experiment}", "{seed}"),
    log:
        LAYOUT.log("tune", "seed{seed}", "{experiment}"),
    priority: 5  # the verdict waits for it, no figure does
    # A damaged input is found again however often the job is tried; the next call makes it again.
    retries: 0
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_version("qrt.commands.tune"),
        experiments=lambda wildcards: FILES.experiments_json([wildcards.experiment]),
        protocol=PROTOCOL_JSON,
        splits=STUDY.splits,
    shell:
        "python -m qrt tune {input} --experiments {params.experiments:q} --splits {params.splits}"
        " --protocol {params.protocol:q} --out {output} > {log} 2> >(tee -a {log} >&2)"


use rule tune as tune_for_one with:
    input:
        lambda wildcards: FILES.evaluated(
            "runs",
            FILES.tuned_for_one(wildcards.purpose),
            [wildcards.dataset],
            seeds=[0],
        ),
    output:
        LAYOUT.tuned_for_one("{purpose}", "{dataset}"),
    log:
        LAYOUT.log("tune", "{purpose}", "{dataset}"),
    params:
        code=code_version("qrt.commands.tune"),
        experiments=lambda wildcards: FILES.experiments_json(
            FILES.tuned_for_one(wildcards.purpose)
        ),
        protocol=PROTOCOL_JSON,
        splits=STUDY.splits,


rule collect:
    """Join the rows of one kind of all networks into one table."""
    input:
        lambda wildcards: FILES.evaluated(wildcards.kind),
    output:
        LAYOUT.table("{kind}"),
    log:
        LAYOUT.log("collect", "{kind}"),
    priority: 5  # the verdict waits for it, no figure does
    retries: 0
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        code=code_version("qrt.commands.collect"),
        kind=lambda wildcards: wildcards.kind,
        # Not {input}: a thousand paths are more than a command line may hold.
        sources=f"--study {shlex.quote(STUDY_JSON)}",
        splits=STUDY.splits,
    shell:
        "python -m qrt collect {params.kind} {params.sources} --splits {params.splits} --out {output}"
        " 2>&1 | tee {log}"


use rule collect as collect_dataset with:
    input:
        lambda wildcards: FILES.evaluated(wildcards.kind, datasets=[wildcards.dataset]),
    output:
        LAYOUT.collected("{dataset}", "{kind}"),
    log:
        LAYOUT.log("collect", "{dataset}.{kind}"),
    params:
        code=code_version("qrt.commands.collect"),
        kind=lambda wildcards: wildcards.kind,
        sources=lambda wildcards, input: f"--sources {' '.join(input)}",
        splits=STUDY.splits,


use rule collect as collect_methods with:
    input:
        FILES.tuned(PLAN.experiments),
    output:
        LAYOUT.table("methods"),
    log:
        LAYOUT.log("collect", "methods"),
    params:
        code=code_version("qrt.commands.collect"),
        kind="methods",
        sources=lambda wildcards, input: f"--sources {' '.join(input)}",
        splits=STUDY.splits,


use rule collect as collect_times with:
    input:
        FILES.times(),
    output:
        LAYOUT.table("times"),
    log:
        LAYOUT.log("collect", "times"),
    params:
        code=code_version("qrt.commands.collect"),
        kind="times",
        sources=lambda wildcards, input: f"--sources {' '.join(input)}",
        splits=STUDY.splits,
