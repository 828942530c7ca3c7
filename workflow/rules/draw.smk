# Drawing: figures, tables and pages for people, from the numbers above.


rule figure:
    """A figure of the paper, drawn from its numbers."""
    input:
        statistics=LAYOUT.comparison("{scenario}", "{figure}"),
    output:
        pdf=LAYOUT.figure("{scenario}", "{figure}", "pdf"),
        png=report(
            LAYOUT.figure("{scenario}", "{figure}", "png"),
            caption="../report/figure.rst",
            category="Figures",
            subcategory="{scenario}",
            labels=figure_labels,
        ),
    log:
        LAYOUT.log("{scenario}", "figure", "{figure}"),
    retries: 0
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=code_version("figures", "published", "statistics/figure_statistics"),
        study=study,
    shell:
        "python -m qrt_study figure {wildcards.figure} --study {params.study:q} --statistics {input.statistics}"
        " --pdf {output.pdf} --png {output.png} > {log} 2> >(tee -a {log} >&2)"


rule table:
    """A table of the paper: CSV with the numbers, LaTeX and Markdown for people."""
    input:
        unpack(
            lambda wildcards: files_of(wildcards.scenario).table_inputs(
                wildcards.table
            )
        ),
    output:
        csv=report(
            LAYOUT.figure("{scenario}", "{table}", "csv"),
            caption="../report/table.rst",
            category="Tables",
            subcategory="{scenario}",
            labels=table_labels,
        ),
        tex=LAYOUT.figure("{scenario}", "{table}", "tex"),
        md=LAYOUT.figure("{scenario}", "{table}", "md"),
    log:
        LAYOUT.log("{scenario}", "table", "{table}"),
    priority: 5  # the verdict waits for Table 3
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=code_version("tables", "statistics", "results", "plan", "published"),
        study=study,
    shell:
        "python -m qrt_study table {wildcards.table} --study {params.study:q} --csv {output.csv} --tex {output.tex}"
        " --markdown {output.md} 2>&1 | tee {log}"


rule scorecard:
    """A page on the verdict, with its text and its numbers; the other pages are variants of this rule."""
    input:
        unpack(page_inputs("scorecard")),
    output:
        **page_files("scorecard"),
    log:
        LAYOUT.log("{scenario}", "page", "scorecard"),
    retries: 0
    localrule: True
    conda:
        ENVIRONMENT
    params:
        **page_params("scorecard"),
        folder=subpath(output.html, parent=True),
    shell:
        "python -m qrt_study page {params.page} --study {params.study:q} --out {params.folder}"
        " > {log} 2> >(tee -a {log} >&2)"


use rule scorecard as disagreements with:
    input:
        unpack(page_inputs("disagreements")),
    output:
        **page_files("disagreements", "disagreements_by_dataset.csv"),
    log:
        LAYOUT.log("{scenario}", "page", "disagreements"),
    params:
        **page_params("disagreements"),
        folder=subpath(output.html, parent=True),


use rule scorecard as agreement with:
    input:
        unpack(page_inputs("agreement")),
    output:
        **page_files("agreement", "agreement.pdf", "agreement.png"),
    log:
        LAYOUT.log("{scenario}", "page", "agreement"),
    params:
        **page_params("agreement"),
        folder=subpath(output.html, parent=True),


use rule scorecard as robustness with:
    input:
        unpack(page_inputs("robustness")),
    output:
        **page_files("robustness", "robustness_summary.csv"),
    log:
        LAYOUT.log("{scenario}", "page", "robustness"),
    params:
        **page_params("robustness"),
        folder=subpath(output.html, parent=True),


use rule scorecard as seeds with:
    input:
        unpack(page_inputs("seeds")),
    output:
        **page_files(
            "seeds",
            "seeds.pdf",
            "seeds.png",
            "seeds_per_seed.csv",
            "seeds_summary.csv",
        ),
    log:
        LAYOUT.log("{scenario}", "page", "seeds"),
    params:
        **page_params("seeds"),
        folder=subpath(output.html, parent=True),


rule own_data:
    """Your own data: the scores of every method, which one predicts best, and whether by more than noise."""
    input:
        records=[prepared_data(dataset) for dataset in STUDY.own_datasets],
        runs=lambda wildcards: files_of(wildcards.scenario).own_data_runs(),
    output:
        **page_files(
            "own_data",
            *(f"own_data/{dataset}.csv" for dataset in STUDY.own_datasets),
            text="txt",
        ),
    log:
        LAYOUT.log("{scenario}", "page", "own_data"),
    retries: 0
    localrule: True
    conda:
        ENVIRONMENT
    params:
        **page_params("own_data"),
        datasets=list(STUDY.own_datasets),
        folder=subpath(output.html, parent=True),
    shell:
        "python -m qrt_study own_data {params.datasets} --study {params.study:q} --out {params.folder}"
        " > {log} 2> >(tee -a {log} >&2)"


rule published:
    """Published figures are committed, not made: asked for one, this says how to draw it."""
    input:
        how_to_draw,
    output:
        "paper_figures/{file}",
    localrule: True
