# Data: fetched as its source has it, then prepared as numbers.


rule download:
    """Fetch every dataset of the study and nothing else, so that the rest can run offline."""
    input:
        [raw_data(dataset, "parquet") for dataset in STUDY.datasets],
    localrule: True


rule fetch:
    """One dataset as its source has it; a record with the reason where no source has it."""
    input:
        own_file,
    output:
        table=raw_data("{dataset}", "parquet"),
        record=raw_data("{dataset}", "json"),
    log:
        "logs/fetch/{dataset}.log",
    localrule: True  # it needs the network, which jobs of a cluster may lack
    conda:
        ENVIRONMENT
    params:
        version=fetch_version,
        own=own_entry,
    shell:
        "python -m qrt_study fetch {wildcards.dataset} --table {output.table} --record {output.record}"
        " --own {params.own:q} 2>&1 | tee {log}"


rule prepare:
    """One dataset as numbers, with a record of what was dropped and why."""
    input:
        table=raw_data("{dataset}", "parquet"),
        record=raw_data("{dataset}", "json"),
    output:
        multiext(prepared_data("{dataset}", ""), "x.npy", "y.npy", "record.json"),
    log:
        "logs/prepare/{dataset}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=growing(cost.PREPARING_MB),
        runtime=growing(10),
    params:
        version=PREPARATION_VERSION,
        folder=subpath(output[0], parent=True),
        expected=lambda wildcards: files_of(STUDY.scenario).expected_data(
            wildcards.dataset
        ),
    shell:
        "python -m qrt_study prepare {wildcards.dataset} --table {input.table} --record {input.record}"
        " --out {params.folder} --expected {params.expected:q} 2>&1 | tee {log}"
