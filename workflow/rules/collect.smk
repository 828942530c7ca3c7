# Collecting: from the files of the jobs to the tables of the study.


rule tune:
    """The methods of one experiment, tuned per dataset over its splits."""
    input:
        lambda wildcards: network_files(PLAN.needs[wildcards.experiment], "runs"),
    output:
        f"{STUDY.results}/methods/{{experiment}}.parquet",
    log:
        f"logs/{STUDY.results}/tune/{{experiment}}.log",
    # A damaged input is found again however often the job is tried; the next call makes it anew.
    retries: 0
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_version("qrt.results.tuning"),
        experiments=lambda wildcards: experiments_json(wildcards.experiment),
        protocol=PROTOCOL_JSON,
        # Not {input}: a thousand paths are more than a command line may hold.
        datasets=STUDY.datasets,
        splits=STUDY.splits,
        families=lambda wildcards: PLAN.needs[wildcards.experiment],
    shell:
        "python -m qrt tune --experiments {params.experiments:q} --protocol {params.protocol:q}"
        " --networks results/networks --datasets {params.datasets} --splits {params.splits}"
        " --families {params.families} --out {output} > {log} 2> >(tee -a {log} >&2)"


use rule tune as tune_example with:
    input:
        lambda wildcards: network_files(
            needed_by(EXAMPLE_EXPERIMENTS), "runs", [wildcards.dataset]
        ),
    output:
        f"{STUDY.results}/examples/{{dataset}}.parquet",
    log:
        f"logs/{STUDY.results}/tune/{{dataset}}.log",
    params:
        code=code_version("qrt.results.tuning"),
        experiments=experiments_json(*EXAMPLE_EXPERIMENTS),
        protocol=PROTOCOL_JSON,
        datasets=lambda wildcards: wildcards.dataset,
        splits=STUDY.splits,
        families=needed_by(EXAMPLE_EXPERIMENTS),


rule collect_methods:
    """Join result files of one kind into one table."""
    input:
        expand(
            f"{STUDY.results}/methods/{{experiment}}.parquet",
            experiment=PLAN.experiments,
        ),
    output:
        f"{STUDY.results}/methods.parquet",
    log:
        f"logs/{STUDY.results}/collect_methods.log",
    retries: 0
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        kind="methods",
    shell:
        "python -m qrt collect {params.kind} {input} --out {output} 2>&1 | tee {log}"


use rule collect_methods as collect_dataset with:
    input:
        lambda wildcards: network_files(
            families_with(wildcards.kind), wildcards.kind, [wildcards.dataset]
        ),
    output:
        f"{STUDY.results}/collected/{{dataset}}.{{kind}}.parquet",
    log:
        f"logs/{STUDY.results}/collect/{{dataset}}.{{kind}}.log",
    params:
        kind=lambda wildcards: wildcards.kind,


use rule collect_methods as collect_study with:
    input:
        lambda wildcards: expand(
            f"{STUDY.results}/collected/{{dataset}}.{wildcards.kind}.parquet",
            dataset=STUDY.datasets,
        ),
    output:
        f"{STUDY.results}/{{kind}}.parquet",
    log:
        f"logs/{STUDY.results}/collect/{{kind}}.log",
    params:
        kind=lambda wildcards: wildcards.kind,


use rule collect_methods as collect_times with:
    input:
        expand(
            f"{STUDY.results}/times/{{dataset}}/split{{split}}.parquet",
            dataset=STUDY.datasets,
            split=STUDY.splits,
        ),
    output:
        f"{STUDY.results}/times.parquet",
    log:
        f"logs/{STUDY.results}/collect/times.log",
    params:
        kind="times",
