# Tables of the paper.


rule table1_methods:
    """Table 1: the methods of the unified algorithm, as this study trains them."""
    output:
        csv=report(
            LAYOUT.figure("table1_methods", "csv"),
            caption="../report/table1_methods.rst",
            category="Tables",
            labels={"table": "Table 1", "shows": "methods", "format": "CSV"},
        ),
        tex=LAYOUT.figure("table1_methods", "tex"),
        md=LAYOUT.figure("table1_methods", "md"),
    log:
        "logs/tables/table1_methods.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code_version("qrt.commands.table1_methods"),
        experiments=FILES.experiments_json(["main", "regularised"]),
    shell:
        "python -m qrt table1_methods {params.experiments:q} --csv {output.csv} --tex {output.tex}"
        " --markdown {output.md} 2>&1 | tee {log}"


rule table2_times:
    """Table 2: training times, ours beside the published values."""
    input:
        LAYOUT.table("times"),
    output:
        csv=report(
            LAYOUT.figure("table2_times", "csv"),
            caption="../report/table2_times.rst",
            category="Tables",
            labels={"table": "Table 2", "shows": "training times", "format": "CSV"},
        ),
        tex=LAYOUT.figure("table2_times", "tex"),
        md=LAYOUT.figure("table2_times", "md"),
    log:
        "logs/tables/table2_times.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code_version("qrt.commands.table2_times"),
        per_epoch=STUDY.protocol.time_per_epoch,
    shell:
        "python -m qrt table2_times {input} --per-epoch {params.per_epoch} --csv {output.csv} --tex {output.tex}"
        " --markdown {output.md} 2>&1 | tee {log}"


rule table3_datasets:
    """Table 3: the datasets, ours beside the published values."""
    input:
        FILES.records(),
    output:
        csv=report(
            LAYOUT.figure("table3_datasets", "csv"),
            caption="../report/table3_datasets.rst",
            category="Tables",
            labels={"table": "Table 3", "shows": "datasets", "format": "CSV"},
        ),
        tex=LAYOUT.figure("table3_datasets", "tex"),
        md=LAYOUT.figure("table3_datasets", "md"),
    log:
        "logs/tables/table3_datasets.log",
    priority: 5  # the verdict waits for it, no figure does
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code_version("qrt.commands.table3_datasets"),
    shell:
        "python -m qrt table3_datasets {input} --csv {output.csv} --tex {output.tex} --markdown {output.md}"
        " 2>&1 | tee {log}"
