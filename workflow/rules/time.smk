# Times: the tuned networks of the main comparison, each trained alone (Table 2).


rule time:
    """The tuned networks of the main comparison on one dataset and split, each trained alone."""
    input:
        record=record_for(LAYOUT.times("{dataset}", "{split}")),
        arrays=ancient(multiext(LAYOUT.prepared("{dataset}", ""), "x.npy", "y.npy")),
        methods=LAYOUT.tuned_for_one("timed", "{dataset}"),
    output:
        LAYOUT.times("{dataset}", "{split}"),
    log:
        LAYOUT.log("times", "{dataset}", "split{split}"),
    priority: 5  # the verdict waits for it, no figure does
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(120),
        attempt=lambda wildcards, attempt: attempt,
    params:
        code=code_version("qrt.commands.time"),
        folder=subpath(input.record, parent=True),
        training=json.dumps(STUDY.training),
    shell:
        "python -m qrt time {wildcards.dataset} {wildcards.split} --data {params.folder} --methods {input.methods}"
        " --training {params.training:q} --out {output}"
        " --attempt {resources.attempt} --asked '{resources.mem_mb} MB and {resources.runtime} min'"
        " --log {log} > {log} 2> >(tee -a {log} >&2)"
