"""Replication of "Probabilistic Calibration by Design for Neural Network Regression" (AISTATS 2024)."""

from snakemake.utils import min_version

min_version("9.0")


configfile: f"{workflow.basedir}/config.yaml"


include: "workflow/rules/common.smk"


# What takes seconds runs where Snakemake runs, also on a cluster; so does fetching, which needs the network.
localrules:
    all,
    fetch,
    tune,
    tune_example,
    collect_dataset,
    collect_methods,
    collect_study,
    collect_times,
    maps,
    table1_methods,
    table2_times,
    table3_datasets,
    scorecard,
    agreement,


wildcard_constraints:
    dataset=NAME_PATTERN,
    family="|".join(re.escape(name) for name in PLAN.families),
    split="[0-9]+",
    kind="runs|curves|predictions",


report: Path(LANDING_PAGE).resolve()


rule all:
    """Everything the configuration asks for."""
    default_target: True
    input:
        expand("paper_figures/{figure}.{form}", figure=FIGURES, form=["pdf", "png"]),
        expand("paper_figures/{table}.{form}", table=TABLES, form=["csv", "tex", "md"]),
        multiext("paper_figures/scorecard", ".html", ".csv", ".md"),
        multiext("paper_figures/disagreements", ".html", ".csv", ".md"),
        multiext("paper_figures/agreement", ".html", ".csv", ".md", ".pdf", ".png"),
        expand(
            f"{STUDY.results}/{{table}}.parquet",
            table=["runs", "methods", "curves", "predictions", "times"],
        ),


include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/collect.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/verdict.smk"
include: "workflow/rules/targets.smk"
