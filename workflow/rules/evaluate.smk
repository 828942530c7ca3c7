# Evaluation: from what the networks of a family say, split by split, to rows of the result tables.


rule evaluate:
    """Every metric of the networks of one family, under every switch that acts after training."""
    input:
        networks=lambda wildcards: FILES.trained(
            wildcards.dataset, wildcards.seed, wildcards.family
        ),
        record=record_for(EVALUATED),
        targets=arrays_for(["y.npy"], EVALUATED),
    output:
        runs=LAYOUT.evaluated("{dataset}", "{seed}", "{family}", "runs"),
        curves=LAYOUT.evaluated("{dataset}", "{seed}", "{family}", "curves"),
        predictions=LAYOUT.evaluated("{dataset}", "{seed}", "{family}", "predictions"),
    log:
        LAYOUT.training_log("{dataset}", "{seed}", "all", "{family}"),
    priority: 15
    group:
        "evaluate"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: job_of(wildcards).evaluation_memory(attempt),
        runtime=lambda wildcards, attempt: job_of(wildcards).evaluation_minutes(attempt),
    params:
        code=code_version("qrt.commands.evaluate"),
        folder=subpath(input.record, parent=True),
        splits=lambda wildcards: FILES.splits_to_evaluate(
            wildcards.dataset, wildcards.seed, wildcards.family
        ),
        family=lambda wildcards: family_of(wildcards).json,
        examples=lambda wildcards: "--examples" * is_example(wildcards.dataset),
    shell:
        "python -m qrt evaluate {wildcards.dataset} --seed {wildcards.seed} --data {params.folder}"
        " --networks {input.networks} --splits {params.splits} --family {params.family:q} {params.examples}"
        " --runs {output.runs} --curves {output.curves} --predictions {output.predictions}"
        " > {log} 2> >(tee -a {log} >&2)"
