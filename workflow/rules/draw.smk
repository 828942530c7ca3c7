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
        unpack(declared("table")),
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


rule page:
    """A page on the verdict, with its text and its numbers; pages with more files are variants of this rule."""
    input:
        unpack(declared("page")),
    output:
        **page_files("scorecard"),
    log:
        LAYOUT.log("{scenario}", "page", "{page}"),
    retries: 0
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=page_code,
        study=study,
        folder=subpath(output.html, parent=True),
    shell:
        "python -m qrt_study page {wildcards.page} --study {params.study:q} --out {params.folder}"
        " > {log} 2> >(tee -a {log} >&2)"


use rule page as disagreements with:
    output:
        **page_files("disagreements", "_by_dataset.csv"),


use rule page as agreement with:
    output:
        **page_files("agreement", ".pdf", ".png"),


use rule page as robustness with:
    output:
        **page_files("robustness", "_summary.csv"),


use rule page as seeds with:
    output:
        **page_files("seeds", ".pdf", ".png", "_per_seed.csv", "_summary.csv"),


use rule page as gains with:
    output:
        **page_files("gains", ".pdf", ".png", "_summary.csv"),


use rule page as coverage with:
    output:
        **page_files(
            "coverage",
            *(".pdf", ".png", "_summary.csv", "_intervals.csv", "_ways.csv"),
        ),


use rule page as stopping with:
    output:
        **page_files("stopping", ".pdf", ".png", "_summary.csv"),


rule own_data:
    """Your own data: the scores of every method, which one predicts best, and whether by more than noise."""
    input:
        records=[prepared_data(dataset) for dataset in STUDY.own_datasets],
        runs=lambda wildcards: files_of(wildcards.scenario).own_data_runs(),
    output:
        **page_files(
            "own_data",
            folder=[f"{dataset}.csv" for dataset in STUDY.own_datasets],
            text="txt",
        ),
    log:
        LAYOUT.log("{scenario}", "page", "{page}"),
    retries: 0
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=page_code,
        study=study,
        datasets=list(STUDY.own_datasets),
        folder=subpath(output.html, parent=True),
    shell:
        "python -m qrt_study own_data {params.datasets} --study {params.study:q} --out {params.folder}"
        " > {log} 2> >(tee -a {log} >&2)"


rule explorer:
    """One page with the results of all protocols of the study, by dataset, method, metric and scenario."""
    input:
        [
            files
            for protocol in DRAWN_PROTOCOLS
            for files in files_of(protocol).explorer_inputs().values()
        ],
    output:
        report(LAYOUT.explorer, category="Verdict", labels={"page": "explorer"}),
    log:
        LAYOUT.log("explorer"),
    retries: 0
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=code_version(
            *("pages/explorer", "pages/readings", "plan", "published", "qrt/text"),
            "statistics/metrics",
        ),
        study=facts(STUDY.scenario),
        protocols=DRAWN_PROTOCOLS,
    shell:
        "python -m qrt_study explorer --study {params.study:q} --protocols {params.protocols} --out {output}"
        " > {log} 2> >(tee -a {log} >&2)"


rule article:
    """The article about the published results under both protocols, with their numbers, tables and figures."""
    input:
        source=PROJECT / "article/article.typ",
        parts=[PROJECT / "article/metadata.yaml", PROJECT / "article/references.bib"],
        described=[
            PROJECT / name
            for name in ("docs/verdict.md", "docs/engine.md", "replication/steps.yaml")
        ],
        version=PROJECT / "src/qrt/__init__.py",
        published=PROJECT / "replication/results/manifest.json",
        drawn=expand(
            f"{LAYOUT.figures}/{{protocol}}/{{file}}",
            protocol=PROTOCOLS,
            file=ARTICLE_READS,
        ),
    output:
        report(LAYOUT.article, category="Article"),
    log:
        LAYOUT.log("article"),
    retries: 0
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=code_version(
            "documents",
            "statistics/times",
            "pages/changed_differences",
            "pages/value_table",
        ),
        folders=[f"{LAYOUT.figures}/{protocol}" for protocol in PROTOCOLS],
        project=PROJECT,
    shell:
        "python -m qrt_study article {input.source:q} --project {params.project:q} --out {output}"
        " --paper {params.folders[0]} --released {params.folders[1]} > {log} 2> >(tee -a {log} >&2)"


rule published:
    """Published figures are committed, not made: asked for one, this says how to draw it."""
    input:
        how_to_draw,
    output:
        "paper_figures/{file}",
    localrule: True
