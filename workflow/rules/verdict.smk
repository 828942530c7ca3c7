# The verdict: every claim judged under every reading, and our values beside the published ones.


rule verdicts:
    """Judge every claim of the paper under the study's protocol, the other one, and with each switch turned."""
    input:
        expand(
            f"{STUDY.results}/{{table}}.parquet",
            table=["runs", "methods", "curves", "predictions", "times", "maps"],
        ),
        network_files(OTHER_FAMILIES, "runs"),
        datasets=rules.table3_datasets.output.csv,
    output:
        verdicts=f"{STUDY.results}/statistics/verdicts.csv",
        numbers=f"{STUDY.results}/statistics/key_numbers.csv",
    log:
        f"logs/{STUDY.results}/verdicts.log",
    retries: 0
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=120,
    params:
        code=code_version("qrt.claims.verdict_job"),
        study=STUDY_JSON,
        results=subpath(input[0], parent=True),
        others=OTHER_FAMILIES,
    shell:
        "python -m qrt verdicts --study {params.study:q} --results {params.results} --datasets {input.datasets}"
        " --networks results/networks --other-families {params.others}"
        " --verdicts {output.verdicts} --numbers {output.numbers} > {log} 2> >(tee -a {log} >&2)"


rule scorecard:
    """The scorecard of every claim, and what each disagreement of paper and code changes."""
    input:
        datasets=rules.table3_datasets.output.csv,
        verdicts=rules.verdicts.output.verdicts,
        numbers=rules.verdicts.output.numbers,
    output:
        multiext("paper_figures/scorecard", ".csv", ".md"),
        multiext("paper_figures/disagreements", ".csv", ".md"),
        scorecard=report(
            "paper_figures/scorecard.html",
            caption="../report/scorecard.rst",
            category="Verdict",
            labels={"page": "Scorecard: every claim judged"},
        ),
        disagreements=report(
            "paper_figures/disagreements.html",
            caption="../report/disagreements.rst",
            category="Verdict",
            labels={"page": "Disagreements of paper and code"},
        ),
        landing=LANDING_PAGE,
    log:
        f"logs/{STUDY.results}/scorecard.log",
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
        " --numbers {input.numbers} --out {params.folder} --landing {output.landing} > {log} 2> >(tee -a {log} >&2)"


rule agreement:
    """Our values beside the published ones: Figure 2, Figure 1 and Table 2."""
    input:
        datasets=rules.table3_datasets.output.csv,
        differences=f"{STUDY.results}/statistics/fig02_nll_difference/per_dataset.csv",
        methods=f"{STUDY.results}/methods.parquet",
        selected=f"{STUDY.results}/statistics/fig01_per_epoch/selected.csv",
        times=rules.table2_times.output.csv,
    output:
        multiext("paper_figures/agreement", ".csv", ".md", ".pdf", ".png"),
        page=report(
            "paper_figures/agreement.html",
            caption="../report/agreement.rst",
            category="Verdict",
            labels={"page": "Agreement with the published values"},
        ),
    log:
        f"logs/{STUDY.results}/agreement.log",
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
