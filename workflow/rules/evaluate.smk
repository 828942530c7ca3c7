# Evaluation: from the outputs of the networks of a family to rows of the result tables.


rule networks:
    """Every network of the study, trained and evaluated, and no figure."""
    input:
        [
            path
            for scenario in STUDY.scenarios
            for path in files_of(scenario).files(files_of(scenario).places(), "runs")
        ],
    localrule: True


rule evaluate:
    """Every metric of the networks of one family, under every switch that acts after training."""
    input:
        networks=lambda wildcards: [
            LAYOUT.trained(wildcards.dataset, wildcards.seed, split, wildcards.family)
            for split in splits_of_word(wildcards.splits)
        ],
        record=ancient(prepared_data("{dataset}")),
        targets=ancient(prepared_data("{dataset}", "y.npy")),
    output:
        **{
            kind: LAYOUT.evaluated("{dataset}", "{seed}", "{splits}", "{family}", kind)
            for kind in ("runs", "curves", "predictions")
        },
    log:
        LAYOUT.evaluation_log("{dataset}", "{seed}", "{splits}", "{family}"),
    priority: 15
    group:
        "evaluate"
    conda:
        ENVIRONMENT
    resources:
        mem_mb=lambda wildcards, attempt: job_of(wildcards).evaluation_memory(attempt),
        runtime=lambda wildcards, attempt: job_of(wildcards).evaluation_minutes(attempt),
    params:
        version=EVALUATION_VERSION,
        folder=subpath(input.record, parent=True),
        splits=lambda wildcards: splits_of_word(wildcards.splits),
        family=lambda wildcards: family_of(wildcards).json,
        examples=lambda wildcards: "--examples" * is_example(wildcards.dataset),
    shell:
        "python -m qrt_study evaluate {wildcards.dataset} --seed {wildcards.seed} --data {params.folder}"
        " --networks {input.networks} --splits {params.splits} --family {params.family:q} {params.examples}"
        " --runs {output.runs} --curves {output.curves} --predictions {output.predictions}"
        " > {log} 2> >(tee -a {log} >&2)"
