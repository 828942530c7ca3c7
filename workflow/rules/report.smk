# The report: what it says first, and its graph of rules, where all figures are one node and all tables another.
from snakemake.report import html_reporter

from qrt.running.rule_graph import folding

html_reporter.rulegraph_spec = folding(
    html_reporter.rulegraph_spec,
    {name: "figures" for name in FIGURES} | {name: "tables" for name in TABLES},
)


if Path(LANDING_PAGE).exists():

    report: Path(LANDING_PAGE).resolve()
