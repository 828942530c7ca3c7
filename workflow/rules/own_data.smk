# Data of the user's own: what came out for it.


rule own_data:
    """Your own data: the scores of every method, which one predicts best, and whether by more than noise."""
    input:
        records=[LAYOUT.prepared(dataset) for dataset in OWN_DATA],
        methods=[LAYOUT.tuned_for_one("own", dataset) for dataset in OWN_DATA],
    output:
        [LAYOUT.figure(f"own_data/{dataset}", "csv") for dataset in OWN_DATA],
        page=report(
            LAYOUT.figure("own_data", "html"),
            caption="../report/own_data.rst",
            category="Your data",
            labels={"page": "Your data: which method predicts it best"},
        ),
        text=LAYOUT.figure("own_data", "txt"),
        comparisons=LAYOUT.statistics("own_data", "comparisons.csv"),
    log:
        LAYOUT.log("own_data"),
    retries: 0
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code_version("qrt.commands.own_data"),
        datasets=OWN_DATA,
        study=STUDY_JSON,
        folder=subpath(output.page, parent=True),
    shell:
        "python -m qrt own_data {params.datasets} --study {params.study:q} --records {input.records}"
        " --methods {input.methods} --comparisons {output.comparisons} --out {params.folder}"
        " > {log} 2> >(tee -a {log} >&2)"
