"""The explorer: one page that needs no other file, to look at every dataset, method, metric and scenario.

Its numbers are those of the comparisons and of the tuned methods; explorer.js draws them with Observable Plot and D3,
which are here as published on npm (ISC licence).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from qrt.atomic import write_text
from qrt.text.page import Html, document, paragraph, section, tag
from qrt_study.plan.artifacts import FIGURES
from qrt_study.plan.compared import Compared
from qrt_study.plan.config import StudyConfig
from qrt_study.plan.protocol import Protocol
from qrt_study.plan.switches import SWITCHES
from qrt_study.published import figure2
from qrt_study.running.study_files import StudyFiles
from qrt_study.statistics.metrics import figure_metrics

DIGITS = 5  # significant ones
CURVES = {  # words -> the per-epoch figure of all datasets
    "validation NLL": "fig15_validation_nll",
    "validation PCE": "fig16_validation_pce",
    "training NLL": "fig17_training_nll",
    "training PCE": "fig18_training_pce",
}
DENSITIES = tuple(name for name, figure in FIGURES.items() if figure.kind == "densities")
MAIN = "fig21_main_all"  # the main comparison on all datasets
COMPARISONS = (MAIN, *(name for name, figure in FIGURES.items() if figure.kind == "comparison" and name != MAIN))
_EFFECTS = ("mean", "standard_error", "difference", "difference_standard_error", "relative_difference", "cohens_d")
_DIFFERENCE = ("difference", "standard_error")
_CURVE = ("epoch", "mean", "standard_error")
_CHOICES = {
    "protocol": "protocol",
    "comparison": "comparison",
    "metric": "metric",
    "effect": "effect",
    "dataset": "dataset",
    "method": "method",
    "seed": "random start",
    "part": "curves",
}
_FIRST = {"metric": "NLL", "effect": "cohens_d", "comparison": MAIN, "method": "QRTC", "seed": "0"}
_VIEWS = {
    "matrix": ("All datasets", "what"),
    "splits": ("Every split", "of-dataset"),
    "published": ("Test NLL: published, ours, and with switches changed that matter", "of-dataset"),
    "curves": ("Training", "of-dataset"),
    "densities": ("Predictive densities of test rows", "of-dataset"),
    "ranks": ("Mean ranks", ""),
}


@dataclass(frozen=True)
class ProtocolResults:
    """What the explorer shows of one protocol: folders of numbers by figure, and tables."""

    protocol: Protocol
    folders: Mapping[str, Path]
    methods: Mapping[int, pd.DataFrame]  # the tuned methods of all experiments, by random start
    differences: pd.DataFrame  # test NLL minus that of BASE, under each switch


def write_explorer(*, study: StudyConfig, protocols: list[str], out: Path) -> None:
    """Write the page on these protocols of the study."""
    found = {}
    for name in protocols:
        files = StudyFiles(study.under(name))
        inputs = files.explorer_inputs()
        found[name] = ProtocolResults(
            protocol=files.study.protocol,
            folders={Path(folder).name: Path(folder) for folder in inputs["comparisons"]},
            methods={seed: files.frames(files.explorer_methods(seed), "methods") for seed in files.study.seeds},
            differences=pd.concat(map(pd.read_csv, inputs["differences"]), ignore_index=True),
        )
    write_text(out, explorer_page(explorer_data(found, figure2())))


def explorer_data(protocols: Mapping[str, ProtocolResults], published: pd.DataFrame) -> dict[str, Any]:
    """All numbers of the page; `published` are the differences of Figure 2."""
    return {
        "protocols": {name: _protocol(results) for name, results in protocols.items()},
        "published": _tree(published, ["method", "dataset"], _DIFFERENCE),
        "parts": CURVES,
        "switches": list(SWITCHES),
        "first": _FIRST,
    }


def explorer_page(data: Mapping[str, Any]) -> str:
    """The page, with its data, style and scripts."""
    choices = [
        tag("label", words, tag("select", id=f"choose-{name}", aria_label=words)) for name, words in _CHOICES.items()
    ]
    views = [
        section(name, heading, paragraph("", class_=f"soft {look}"), tag("div", class_="view"))
        for name, (heading, look) in _VIEWS.items()
    ]
    content = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    return document(
        "Explorer",
        "Every result by dataset, method, metric and scenario. A click on a cell shows its dataset below; the page's "
        "address holds the choice.",
        Html(f"<style>{_asset('explorer.css')}</style>"),
        tag("div", *choices, class_="choices"),
        views[0],
        tag("div", *views[1:], class_="views"),
        Html(f'<script type="application/json" id="data">{content}</script>'),
        *(Html(f"<script>{_asset(name)}</script>") for name in ("d3.min.js", "plot.umd.min.js", "explorer.js")),
        file="",
        pages={},
    )


def _asset(name: str) -> str:
    return resources.files("qrt_study.pages.explorer").joinpath(name).read_text(encoding="utf-8")


def _protocol(results: ProtocolResults) -> dict[str, Any]:
    metrics = figure_metrics(results.protocol)
    had = results.methods[0].groupby("experiment", sort=False)["method"].unique()
    comparisons = {name: _comparison(name, results, had) for name in COMPARISONS if name in results.folders}
    return {
        "comparisons": comparisons,
        "seeds": list(results.methods),
        "metrics": list(metrics),
        "splits": {str(seed): _splits(table, metrics.values()) for seed, table in results.methods.items()},
        "differences": {
            str(reading): _tree(rows, ["method", "dataset"], _DIFFERENCE)
            for reading, rows in results.differences.groupby("reading", sort=False)
        },
        "curves": {
            words: _tree(_table(results.folders[figure], "curves"), ["dataset", "method"], _CURVE, several=True)
            for words, figure in CURVES.items()
        },
        "densities": {
            str(densities["dataset"].iloc[0]): _densities(results.folders[name], densities)
            for name in DENSITIES
            if name in results.folders and not (densities := _table(results.folders[name], "densities")).empty
        },
    }


def _comparison(name: str, results: ProtocolResults, had: pd.Series) -> dict[str, Any]:
    figure, folder = FIGURES[name], results.folders[name]
    assert figure.comparison is not None
    compared = figure.comparison.under(results.protocol)
    whole = [Compared(one, method, method) for one in compared.whole for method in had.get(one, ())]
    keys = {one.label: f"{one.experiment}/{one.method}" for one in (compared.baseline, *compared.compared, *whole)}
    cells, ranks = _table(folder, "per_dataset"), _table(folder, "ranks").rename(columns={"mean_rank": "rank"})
    methods = [method for method in keys if method in set(cells["method"])]
    return {
        "title": f"{figure.number}: {figure.title}",
        "baseline": compared.baseline.label,
        "methods": methods,
        "keys": {method: keys[method] for method in methods},
        "datasets": sorted(cells["dataset"].unique(), key=str.lower),
        "metrics": [metric for metric in compared.metrics if metric in set(cells["metric"])],
        "cells": _tree(cells, ["metric", "method", "dataset"], _EFFECTS),
        "ranks": json.loads(ranks[["metric", "method", "rank", "datasets"]].to_json(orient="records")),
    }


def _splits(methods: pd.DataFrame, metrics: Iterable[str]) -> dict[str, Any]:
    """Test values of every split, by experiment/method and dataset."""
    finished = methods[methods["status"] == "ok"]
    table = finished.assign(key=finished["experiment"] + "/" + finished["method"])
    return _tree(table, ["key", "dataset"], ["split", *(f"test_{metric}" for metric in metrics)], several=True)


def _densities(folder: Path, densities: pd.DataFrame) -> list[dict[str, Any]]:
    targets = _table(folder, "instances").set_index(["row", "method"])["target"]
    return [
        {"row": int(row), "method": method, "target": _rounded(targets[(row, method)])}
        | {name: [_rounded(one) for one in curve[name].iloc[::2]] for name in ("y", "density")}
        for (row, method), curve in densities.groupby(["row", "method"], sort=False)
    ]


def _table(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / f"{name}.csv")


def _tree(table: pd.DataFrame, keys: list[str], columns: Iterable[str], *, several: bool = False) -> dict[str, Any]:
    """The values of each combination of keys as dictionaries in each other: one list, or the list of all its rows."""
    tree: dict[str, Any] = {}
    for row in table[[*keys, *columns]].itertuples(index=False):
        *place, last = map(str, row[: len(keys)])
        branch = tree
        for key in place:
            branch = branch.setdefault(key, {})
        values = [_rounded(value) for value in row[len(keys) :]]
        if several:
            branch.setdefault(last, []).append(values)
        else:
            branch[last] = values
    return tree


def _rounded(value: float) -> float | None:
    """A number with as many digits as the page needs; none where there is none."""
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
