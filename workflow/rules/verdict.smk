# The verdict: every claim judged under every reading, and our values beside the published ones.


rule verdicts:
    """Judge every claim of the paper under the study's protocol, the other one, and with each switch changed."""
    input:
        [
            LAYOUT.table(kind)
            for kind in ("runs", "methods", "curves", "predictions", "times", "maps")
        ],
        datasets=rules.table3_datasets.output.csv,
    output:
        verdicts=LAYOUT.statistics("verdicts", "verdicts.csv"),
        numbers=LAYOUT.statistics("verdicts", "key_numbers.csv"),
        differences=LAYOUT.statistics("verdicts", "differences.csv"),
    log:
        LAYOUT.log("verdicts"),
    priority: 5  # takes longest of what comes last
    retries: 0
    conda:
        "../../environment.yml"
    threads: 4  # readings are judged side by side
    resources:
        mem_mb=8000,
        runtime=120,
    params:
        code=code_version("qrt.commands.verdicts"),
        # Not inputs: no rule of this study may make them.
        others=FILES.stamp_of_other_readings(),
        study=STUDY_JSON,
    shell:
        "python -m qrt verdicts --study {params.study:q} --datasets {input.datasets}"
        " --verdicts {output.verdicts} --numbers {output.numbers} --differences {output.differences}"
        " --processes {threads} > {log} 2> >(tee -a {log} >&2)"


rule scorecard:
    """The scorecard of every claim, and what each disagreement of paper and code changes."""
    input:
        datasets=rules.table3_datasets.output.csv,
        verdicts=rules.verdicts.output.verdicts,
        numbers=rules.verdicts.output.numbers,
        differences=rules.verdicts.output.differences,
    output:
        multiext(LAYOUT.figure("scorecard", "")[:-1], ".csv", ".md"),
        multiext(LAYOUT.figure("disagreements", "")[:-1], ".csv", ".md"),
        LAYOUT.figure("disagreements_by_dataset", "csv"),
        scorecard=report(
            LAYOUT.figure("scorecard", "html"),
            caption="../report/scorecard.rst",
            category="Verdict",
            labels={"page": "Scorecard: every claim judged"},
        ),
        disagreements=report(
            LAYOUT.figure("disagreements", "html"),
            caption="../report/disagreements.rst",
            category="Verdict",
            labels={"page": "Disagreements of paper and code"},
        ),
        landing=LANDING_PAGE,
    log:
        LAYOUT.log("scorecard"),
    retries: 0
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code_version("qrt.commands.scorecard"),
        study=STUDY_JSON,
        folder=subpath(output.scorecard, parent=True),
    shell:
        "python -m qrt scorecard --study {params.study:q} --datasets {input.datasets} --verdicts {input.verdicts}"
        " --numbers {input.numbers} --differences {input.differences} --out {params.folder} --landing {output.landing}"
        " > {log} 2> >(tee -a {log} >&2)"


rule agreement:
    """Our values beside the published ones: Figure 2, Figure 1 and Table 2."""
    input:
        datasets=rules.table3_datasets.output.csv,
        differences=LAYOUT.statistics("fig02_nll_difference", "per_dataset.csv"),
        methods=LAYOUT.table("methods"),
        selected=LAYOUT.statistics("fig01_per_epoch", "selected.csv"),
        times=rules.table2_times.output.csv,
    output:
        multiext(LAYOUT.figure("agreement", "")[:-1], ".csv", ".md", ".pdf", ".png"),
        page=report(
            LAYOUT.figure("agreement", "html"),
            caption="../report/agreement.rst",
            category="Verdict",
            labels={"page": "Agreement with the published values"},
        ),
    log:
        LAYOUT.log("agreement"),
    retries: 0
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code_version("qrt.commands.agreement"),
        study=STUDY_JSON,
        folder=subpath(output.page, parent=True),
    shell:
        "python -m qrt agreement --study {params.study:q} --datasets {input.datasets}"
        " --differences {input.differences} --methods {input.methods} --selected {input.selected}"
        " --times {input.times} --out {params.folder} > {log} 2> >(tee -a {log} >&2)"


rule robustness:
    """Whether gains on discrete targets are also gains in CRPS, and which means a single split carries."""
    input:
        datasets=rules.table3_datasets.output.csv,
        methods=FILES.tuned(["main"]),
    output:
        multiext(LAYOUT.figure("robustness", "")[:-1], ".csv", ".md"),
        page=report(
            LAYOUT.figure("robustness", "html"),
            caption="../report/robustness.rst",
            category="Verdict",
            labels={"page": "Robustness: discrete targets, single splits"},
        ),
        summary=LAYOUT.statistics("robustness", "summary.csv"),
    log:
        LAYOUT.log("robustness"),
    retries: 0
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code_version("qrt.commands.robustness"),
        study=STUDY_JSON,
        folder=subpath(output.page, parent=True),
    shell:
        "python -m qrt robustness {input.methods} --study {params.study:q} --datasets {input.datasets}"
        " --summary {output.summary} --out {params.folder} > {log} 2> >(tee -a {log} >&2)"


rule seeds:
    """What another random start changes: shares of variance, and conclusions on single datasets."""
    input:
        datasets=rules.table3_datasets.output.csv,
        methods=[path for seed in STUDY.seeds for path in FILES.tuned(["main"], seed)],
    output:
        multiext(LAYOUT.figure("seeds", "")[:-1], ".csv", ".md", ".pdf", ".png"),
        page=report(
            LAYOUT.figure("seeds", "html"),
            caption="../report/seeds.rst",
            category="Verdict",
            labels={"page": "Seeds: what another random start changes"},
        ),
        per_seed=LAYOUT.statistics("seeds", "per_seed.csv"),
        summary=LAYOUT.statistics("seeds", "summary.csv"),
    log:
        LAYOUT.log("seeds"),
    retries: 0
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code_version("qrt.commands.seeds"),
        study=STUDY_JSON,
        folder=subpath(output.page, parent=True),
    shell:
        "python -m qrt seeds {input.methods} --study {params.study:q} --datasets {input.datasets}"
        " --per-seed {output.per_seed} --summary {output.summary} --out {params.folder} > {log} 2> >(tee -a {log} >&2)"
