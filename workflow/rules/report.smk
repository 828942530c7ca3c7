# The report: it takes what is there, says first what came out, and its graph of rules has one node for all figures and
# one for all tables.
from snakemake import report as snakemake_report
from snakemake.logging import logger
from snakemake.report import html_reporter

from qrt.running.partial_report import of_what_is_there
from qrt.running.rule_graph import folding

snakemake_report.auto_report = of_what_is_there(snakemake_report.auto_report, logger)

html_reporter.rulegraph_spec = folding(
    html_reporter.rulegraph_spec,
    {name: "figures" for name in FIGURES} | {name: "tables" for name in TABLES},
)


if Path(LANDING_PAGE).exists():

    report: Path(LANDING_PAGE).resolve()
