# Tables of the paper.


rule table3_datasets:
    """Table 3: the datasets, ours beside the published values."""
    input:
        expand("data/prepared/{dataset}/record.json", dataset=STUDY.datasets),
    output:
        csv=report(
            "paper_figures/table3_datasets.csv",
            caption="../report/table3_datasets.rst",
            category="Data",
            labels={"table": "Table 3", "shows": "datasets", "format": "CSV"},
        ),
        tex="paper_figures/table3_datasets.tex",
        md="paper_figures/table3_datasets.md",
    log:
        "logs/tables/table3_datasets.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code_version("qrt.tables.dataset_table"),
    shell:
        "python -m qrt dataset-table {input} --csv {output.csv} --tex {output.tex} --markdown {output.md}"
        " 2>&1 | tee {log}"
