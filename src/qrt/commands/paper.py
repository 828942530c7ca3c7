"""Commands about figures and tables of the paper; none but `maps` needs PyTorch."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add these commands to the parser."""
    maps = commands.add_parser("maps", help="fit the calibration maps of Figure 11 to simulated PITs")
    maps.add_argument("--protocol", type=json.loads, required=True, help="the protocol's switches as JSON")
    maps.add_argument("--maps", type=Path, required=True)
    maps.add_argument("--sample", type=Path, required=True)
    maps.set_defaults(run=_maps)

    figure = commands.add_parser("figure", help="draw one figure of the paper from result tables")
    figure.add_argument("name")
    figure.add_argument("--study", type=json.loads, required=True, help="the study's facts as JSON")
    for table in ("records", "methods", "curves", "predictions", "maps", "sample"):
        figure.add_argument(f"--{table}", type=Path, nargs="*", default=[])
    figure.add_argument("--statistics", type=Path, required=True, help="folder for the figure's numbers")
    figure.add_argument("--pdf", type=Path, required=True)
    figure.add_argument("--png", type=Path, required=True)
    figure.set_defaults(run=_figure)

    for name, source, words in (
        ("method-table", "experiments", "Table 1 from the experiments, each as JSON"),
        ("times-table", "times", "Table 2 from the table of times"),
        ("dataset-table", "records", "Table 3 from the records of the prepared datasets"),
    ):
        table_command = commands.add_parser(name, help=f"write {words}")
        table_command.add_argument(source, nargs="+", type=str if source == "experiments" else Path)
        if source == "times":
            table_command.add_argument("--reading", choices=("trained", "selected"), required=True)
        for form in ("csv", "tex", "markdown"):
            table_command.add_argument(f"--{form}", type=Path, required=True)
        table_command.set_defaults(
            run={"experiments": _method_table, "times": _times_table}.get(source, _dataset_table)
        )


def _dataset_table(options: argparse.Namespace) -> None:
    from qrt.data.raw_store import read_record
    from qrt.data.sheet import paper_datasets
    from qrt.tables.dataset_table import dataset_table, for_reading, status_summary

    table = dataset_table([read_record(path) for path in options.records], paper_datasets())
    summary = status_summary(table)
    caption = f"Datasets, the published value in brackets. {len(table)} datasets: {summary}."
    _write_table(options, table, for_reading(table), caption, "table:datasets")
    print(f"Table 3: {summary}")


def _maps(options: argparse.Namespace) -> None:
    from qrt.map_comparison import map_comparison
    from qrt.protocol import Protocol
    from qrt.result_tables import MAPS, SAMPLE, write_rows

    maps, sample = map_comparison(Protocol.from_dict(options.protocol).kernel_width)
    write_rows(options.maps, maps, MAPS)
    write_rows(options.sample, sample, SAMPLE)


def _figure(options: argparse.Namespace) -> None:
    from qrt.config import StudyConfig
    from qrt.data.raw_store import read_record
    from qrt.figure_job import Results, write_figure
    from qrt.result_tables import read_frames

    records = [read_record(path) for path in options.records]
    results = Results(
        records={record["dataset"]: record for record in records},
        methods=read_frames(options.methods, "methods"),
        curves=read_frames(options.curves, "curves"),
        predictions=read_frames(options.predictions, "predictions"),
        maps=read_frames(options.maps, "maps"),
        sample=read_frames(options.sample, "sample"),
    )
    study = StudyConfig.from_facts(options.study)
    print(write_figure(options.name, study, results, options.statistics, pdf=options.pdf, png=options.png))


def _method_table(options: argparse.Namespace) -> None:
    from qrt.experiments import Experiment
    from qrt.tables.method_table import CAPTION, for_reading, method_table

    experiments = [Experiment.from_json(text) for text in options.experiments]
    table = method_table({experiment.name: experiment for experiment in experiments})
    _write_table(options, table, for_reading(table), CAPTION, "table:methods")


def _times_table(options: argparse.Namespace) -> None:
    from qrt import published
    from qrt.result_tables import read_frames
    from qrt.statistics.times import times_statistics
    from qrt.tables.times_table import caption, times_table

    statistics = times_statistics(read_frames(options.times, "times"), published.table2(), options.reading)
    _write_table(options, statistics, times_table(statistics), caption(options.reading), "table:times")


def _write_table(
    options: argparse.Namespace, numbers: pd.DataFrame, for_reading: pd.DataFrame, caption: str, label: str
) -> None:
    """A table as CSV (the numbers), LaTeX and Markdown (for people)."""
    from qrt.atomic import write_text
    from qrt.tables.formats import to_latex, to_markdown

    write_text(options.csv, numbers.to_csv(index=False, float_format="%.6g"))
    write_text(options.tex, to_latex(for_reading, caption, label))
    write_text(options.markdown, to_markdown(for_reading, caption))
