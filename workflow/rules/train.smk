# Training: one job per dataset, seed, split and family of networks. What it writes does not depend on what acts after
# training. Three rules of one kind, so that the longest jobs start first and what decides fewest claims comes last.


rule train:
    """One family of networks on one dataset and split, trained as a stack: what the networks say, and no metric."""
    input:
        record=record_for(*TRAINED_OR_EVALUATED),
        arrays=arrays_for(["x.npy", "y.npy"], *TRAINED_OR_EVALUATED),
    output:
        trained_file("{dataset}", "{seed}", "{split}", "{family}"),
    log:
        LAYOUT.training_log("{dataset}", "{seed}", "{split}", "{family}"),
    wildcard_constraints:
        dataset=one_of(set(STUDY.datasets) - set(FILES.large_datasets)),
        family=one_of(FILES.families_first),
    priority: 10
    group:
        lambda wildcards: job_of(wildcards).group
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: job_of(wildcards).memory(attempt),
        runtime=lambda wildcards, attempt: job_of(wildcards).minutes(attempt),
        attempt=lambda wildcards, attempt: attempt,
    params:
        code=code_version("qrt.commands.train"),
        folder=subpath(input.record, parent=True),
        family=lambda wildcards: family_of(wildcards).for_training.json,
        training=json.dumps(STUDY.training),
    shell:
        "python -m qrt train {wildcards.dataset} {wildcards.split} --seed {wildcards.seed} --data {params.folder}"
        " --family {params.family:q} --training {params.training:q} --code {params.code} --out {output}"
        " --attempt {resources.attempt} --asked '{resources.mem_mb} MB and {resources.runtime} min'"
        " --log {log} > {log} 2> >(tee -a {log} >&2)"


use rule train as train_large with:
    wildcard_constraints:
        dataset=one_of(FILES.large_datasets),
        family=one_of(FILES.families_first),
    priority: 20


use rule train as train_last with:
    wildcard_constraints:
        family=one_of(FILES.families_last),
    priority: 1
