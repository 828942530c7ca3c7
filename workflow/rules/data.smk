# The data's first rooms: fetched as its source has it, then prepared as numbers.


rule download:
    """Fetch every dataset of the study and nothing else, so that the rest can run offline."""
    input:
        expand(LAYOUT.raw("{dataset}", "parquet"), dataset=STUDY.datasets),


rule fetch:
    """One dataset as its source has it; a record with the reason where no source has it."""
    input:
        # The user's file behind a dataset of their own, so that a changed file is read again.
        lambda wildcards: FILES.own_file(wildcards.dataset),
    output:
        table=LAYOUT.raw("{dataset}", "parquet"),
        record=LAYOUT.raw("{dataset}", "json"),
    log:
        "logs/fetch/{dataset}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(cost.FETCHING_MB),
        runtime=growing(60),
    params:
        version=fetch_version,
        # Grows while a dataset is unavailable, so that every call tries those again. (A function of the wildcards alone:
        # Snakemake does not compare parameters that are derived from the output.)
        attempt=fetching_attempt,
        own=own_entry,
    shell:
        "python -m qrt fetch {wildcards.dataset} --table {output.table} --record {output.record}"
        " --attempt {params.attempt} --own {params.own:q}"
        " 2>&1 | tee {log}"


rule prepare:
    """One dataset as numbers, with a record of what was dropped and why."""
    input:
        table=LAYOUT.raw("{dataset}", "parquet"),
        record=LAYOUT.raw("{dataset}", "json"),
    output:
        multiext(LAYOUT.prepared("{dataset}", ""), "x.npy", "y.npy", "record.json"),
    log:
        "logs/prepare/{dataset}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(cost.PREPARING_MB),
        runtime=growing(10),
    params:
        code=code_version("qrt.commands.prepare"),
        folder=subpath(output[0], parent=True),
    shell:
        "python -m qrt prepare {wildcards.dataset} --table {input.table} --record {input.record}"
        " --out {params.folder} 2>&1 | tee {log}"
