# Training: one job per dataset, seed, split and family of networks, whatever scenarios use them. Its outputs do not
# depend on anything that acts after training.


rule train:
    """One family of networks on one dataset and split, trained as a stack: the networks' outputs, and no metric."""
    input:
        record=prepared_data("{dataset}"),
        # The record has their checksums, and a small file with the same content is no reason to train again.
        arrays=ancient(multiext(prepared_data("{dataset}", ""), "x.npy", "y.npy")),
    output:
        trained_file("{dataset}", "{seed}", "{split}", "{family}"),
    log:
        LAYOUT.training_log("{dataset}", "{seed}", "{split}", "{family}"),
    priority: training_priority
    group:
        lambda wildcards: job_of(wildcards).group
    conda:
        ENVIRONMENT
    resources:
        mem_mb=lambda wildcards, attempt: job_of(wildcards).memory(attempt),
        runtime=lambda wildcards, attempt: job_of(wildcards).minutes(attempt),
        attempt=lambda wildcards, attempt: attempt,
    params:
        version=TRAINING_VERSION,
        folder=subpath(input.record, parent=True),
        family=lambda wildcards: family_of(wildcards).for_training.json,
        training=json.dumps(STUDY.training),
    shell:
        "python -m qrt_study train {wildcards.dataset} {wildcards.split} --seed {wildcards.seed} --data {params.folder}"
        " --family {params.family:q} --training {params.training:q} --out {output}"
        " --attempt {resources.attempt} --asked '{resources.mem_mb} MB and {resources.runtime} min'"
        " --log {log} > {log} 2> >(tee -a {log} >&2)"


rule time:
    """The tuned networks of the main comparison on one dataset, each trained alone on every split (Table 2)."""
    input:
        record=prepared_data("{dataset}"),
        arrays=ancient(multiext(prepared_data("{dataset}", ""), "x.npy", "y.npy")),
        runs=lambda wildcards: files_of(wildcards.scenario).runs_of(
            TIMED_EXPERIMENTS, [wildcards.dataset]
        ),
    output:
        LAYOUT.times("{scenario}", "{dataset}"),
    log:
        LAYOUT.log("{scenario}", "times", "{dataset}"),
    priority: 5  # the verdict waits for it, no figure does
    conda:
        ENVIRONMENT
    resources:
        mem_mb=growing(2000),
        runtime=growing(600),
        attempt=lambda wildcards, attempt: attempt,
    params:
        version=TRAINING_VERSION,
        folder=subpath(input.record, parent=True),
        study=study,
    shell:
        "python -m qrt_study time {wildcards.dataset} --study {params.study:q} --data {params.folder} --out {output}"
        " --attempt {resources.attempt} --asked '{resources.mem_mb} MB and {resources.runtime} min'"
        " --log {log} > {log} 2> >(tee -a {log} >&2)"
