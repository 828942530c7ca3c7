# Training: one job per dataset, split and family of networks; what it writes does not depend on the protocol.


rule train:
    """One family of networks on one dataset and split: trained as a stack, evaluated in every reading."""
    input:
        multiext("data/prepared/{dataset}/", "x.npy", "y.npy", "record.json"),
    output:
        runs="results/networks/{dataset}/split{split}/{family}.runs.parquet",
        curves="results/networks/{dataset}/split{split}/{family}.curves.parquet",
        predictions="results/networks/{dataset}/split{split}/{family}.predictions.parquet",
    log:
        "logs/train/{dataset}/split{split}/{family}.log",
    priority: 1
    group:
        train_group
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=train_memory,
        runtime=train_minutes,
        attempt=number_of_attempt,
    params:
        code=code_version("qrt.training.family_job"),
        folder=subpath(input[0], parent=True),
        family=lambda wildcards: PLAN.families[wildcards.family].to_json(),
        training=json.dumps(STUDY.training),
        examples=example_option,
    shell:
        "python -m qrt train {wildcards.dataset} {wildcards.split} --data {params.folder}"
        " --family {params.family:q} --training {params.training:q} {params.examples}"
        " --runs {output.runs} --curves {output.curves} --predictions {output.predictions}"
        " --attempt {resources.attempt} --asked '{resources.mem_mb} MB and {resources.runtime} min'"
        " --log {log} > {log} 2> >(tee -a {log} >&2)"


# Longest jobs first, so that none of them is left alone at the end.
use rule train as train_large with:
    wildcard_constraints:
        dataset=LARGE_DATASETS,
    priority: 10


ruleorder: train_large > train


rule time:
    """The tuned networks of the main comparison on one dataset and split, each trained alone."""
    input:
        multiext("data/prepared/{dataset}/", "x.npy", "y.npy", "record.json"),
        methods=[
            f"{STUDY.results}/methods/{experiment}.parquet"
            for experiment in ("main", "regularised")
            if experiment in PLAN.experiments
        ],
    output:
        f"{STUDY.results}/times/{{dataset}}/split{{split}}.parquet",
    log:
        f"logs/{STUDY.results}/times/{{dataset}}/split{{split}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(120),
        attempt=number_of_attempt,
    params:
        code=code_version("qrt.training.timing"),
        folder=subpath(input[0], parent=True),
        training=json.dumps(STUDY.training),
    shell:
        "python -m qrt time {wildcards.dataset} {wildcards.split} --data {params.folder} --methods {input.methods}"
        " --training {params.training:q} --out {output}"
        " --attempt {resources.attempt} --asked '{resources.mem_mb} MB and {resources.runtime} min'"
        " --log {log} > {log} 2> >(tee -a {log} >&2)"
