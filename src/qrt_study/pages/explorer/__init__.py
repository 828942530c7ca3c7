"""The explorer: one page that needs no other file, to look at every dataset, method, metric and scenario.

Its numbers are those of the comparisons, of the tuned methods, of the pages on disagreements and of the counted PITs.
explorer.js holds the choices, views.js draws them with Observable Plot and D3, which are here as published on npm (ISC
licence).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from qrt.atomic import write_text
from qrt.text.page import Html, document, link, paragraph, section, tag
from qrt_study.pages.readings import changed_verdicts
from qrt_study.plan.artifacts import FIGURES
from qrt_study.plan.compared import Compared
from qrt_study.plan.config import StudyConfig
from qrt_study.plan.protocol import Protocol
from qrt_study.plan.switches import SWITCHES
from qrt_study.published import figure1_curves, figure2
from qrt_study.results.pit_table import HISTOGRAM, PITS, RELIABILITY
from qrt_study.results.predicted_methods import EXPERIMENTS
from qrt_study.results.readings import STUDY
from qrt_study.running.study_files import StudyFiles
from qrt_study.statistics.agreement import ONE_EPOCH_LATER
from qrt_study.statistics.metrics import figure_metrics
from qrt_study.verdicts.verdict_job import read_verdicts

DIGITS = 5  # significant ones
CURVES = {  # words -> the per-epoch figure of all datasets
    "validation NLL": "fig15_validation_nll",
    "validation PCE": "fig16_validation_pce",
    "training NLL": "fig17_training_nll",
    "training PCE": "fig18_training_pce",
}
PUBLISHED_CURVES = {"validation NLL": "nll_recalibrated", "validation PCE": "pce"}  # words -> metric in Figure 1
DENSITIES = tuple(name for name, figure in FIGURES.items() if figure.kind == "densities")
MAIN = "fig21_main_all"  # the main comparison on all datasets
COMPARISONS = (MAIN, *(name for name, figure in FIGURES.items() if figure.kind == "comparison" and name != MAIN))
_SCRIPTS = ("d3.min.js", "plot.umd.min.js", "views.js", "explorer.js")
_EFFECTS = ("mean", "standard_error", "difference", "difference_standard_error", "relative_difference", "cohens_d")
_DIFFERENCE = ("difference", "standard_error")
_CURVE = ("epoch", "mean", "standard_error")
_CHANGED = ("before", "before_standard_error", "after", "after_standard_error", "seeds")
_CHOICES = {
    "protocol": "protocol",
    "comparison": "comparison",
    "metric": "metric",
    "effect": "effect",
    "dataset": "dataset",
    "method": "method",
}
_FIRST = {
    "metric": "NLL",
    "effect": "cohens_d",
    "comparison": MAIN,
    "method": "QRTC",
    "switch": "posthoc_on",
    "seed": "0",
    "sort": "dataset",
}


class _View(NamedTuple):
    """A view: its heading, what is written below it, and the choice that concerns this view alone."""

    heading: str
    of: str = "of-dataset"
    choice: tuple[str, str] | None = None  # name and words


_VIEWS = {
    "matrix": _View("All datasets", "what"),
    "splits": _View("Every split", choice=("seed", "random start (of this view alone)")),
    "published": _View("Published and ours: test NLL, and with one switch changed"),
    "switch": _View("One switch changed", choice=("switch", "where paper and released code disagree")),
    "curves": _View("Training", choice=("part", "curves")),
    "calibration": _View("Calibration on test rows"),
    "densities": _View("Predictive densities of test rows"),
    "ranks": _View("Mean ranks", ""),
}


@dataclass(frozen=True)
class ProtocolResults:
    """What the explorer shows of one protocol: folders of numbers by figure, and tables."""

    protocol: Protocol
    folders: Mapping[str, Path]
    methods: Mapping[int, pd.DataFrame]  # the tuned methods of all experiments, by random start
    differences: pd.DataFrame  # test NLL minus that of BASE, under each reading
    by_dataset: pd.DataFrame  # CHANGED_DIFFERENCES: those that a switch changes
    verdicts: pd.DataFrame  # on every claim, under each reading
    pits: pd.DataFrame  # PITS


def write_explorer(*, study: StudyConfig, protocols: list[str], out: Path) -> None:
    """Write the page on these protocols of the study."""
    found = {}
    for name in protocols:
        files = StudyFiles(study.under(name))
        inputs = files.explorer_inputs()
        pits = pd.concat([pd.DataFrame(columns=list(PITS)), *map(pd.read_csv, inputs["pits"])])
        found[name] = ProtocolResults(
            protocol=files.study.protocol,
            folders={Path(folder).name: Path(folder) for folder in inputs["comparisons"]},
            methods={seed: files.frames(files.explorer_methods(seed), "methods") for seed in files.study.seeds},
            differences=pd.concat(map(pd.read_csv, inputs["differences"]), ignore_index=True),
            by_dataset=pd.concat(map(pd.read_csv, inputs["by_dataset"])),
            verdicts=read_verdicts(inputs["verdicts"]),
            pits=pits[pits["protocol"] == name],
        )
    write_text(
        out, explorer_page(explorer_data(found, figure2(), figure1_curves(), study.demonstration), study.demonstration)
    )


def explorer_data(
    protocols: Mapping[str, ProtocolResults],
    published: pd.DataFrame,
    published_curves: pd.DataFrame,
    demonstration: str = "",
) -> dict[str, Any]:
    """All numbers of the page; a demonstration leaves out the published ones: differences (Figure 2) and curves."""
    return {
        "protocols": {name: _protocol(results, bool(demonstration)) for name, results in protocols.items()},
        "published": {} if demonstration else _tree(published, ["method", "dataset"], _DIFFERENCE),
        "published_curves": {} if demonstration else _published_curves(published_curves),
        "parts": CURVES,
        "switches": {
            name: {"row": one.row, "topic": one.topic, "why": one.why}
            | {"paper": one.paper.words, "released": one.released.words}
            for name, one in SWITCHES.items()
        },
        "claims": _claims(protocols.values()),
        "first": _FIRST,
    }


def explorer_page(data: Mapping[str, Any], demonstration: str = "") -> str:
    """The page, with its data, style and scripts."""
    choices = [_choice(name, words) for name, words in _CHOICES.items()]
    views = [
        section(
            name,
            view.heading,
            paragraph("", class_=f"soft {view.of}"),
            tag("div", _choice(*view.choice), class_="choices own") if view.choice else "",
            tag("div", class_="view"),
        )
        for name, view in _VIEWS.items()
    ]
    jumps = [link(f"#{name}", view.heading.partition(":")[0], data_view=name) for name, view in _VIEWS.items()]
    content = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    return document(
        "Explorer",
        "Every result by dataset, method, metric and scenario. A cell of the table leads to the views of its dataset "
        "and method; the address of the page holds all choices.",
        Html(f"<style>{_asset('explorer.css')}</style>"),
        tag("div", *choices, class_="choices main"),
        tag("p", *jumps, class_="jumps"),
        tag("div", views[0], tag("div", *views[1:], class_="views"), class_="both"),
        Html(f'<script type="application/json" id="data">{content}</script>'),
        *(Html(f"<script>{_asset(name)}</script>") for name in _SCRIPTS),
        file="",
        pages={},
        demonstration=demonstration,
    )


def _choice(name: str, words: str) -> Html:
    return tag("label", words, tag("select", id=f"choose-{name}", aria_label=words))


def _asset(name: str) -> str:
    return resources.files("qrt_study.pages.explorer").joinpath(name).read_text(encoding="utf-8")


def _protocol(results: ProtocolResults, is_demonstration: bool) -> dict[str, Any]:
    metrics = figure_metrics(results.protocol)
    had = results.methods[0].groupby("experiment", sort=False)["method"].unique()
    comparisons = {name: _comparison(name, results, had) for name in COMPARISONS if name in results.folders}
    own = results.differences[results.differences["reading"] == STUDY]
    return {
        "comparisons": comparisons,
        "seeds": list(results.methods),
        "metrics": list(metrics),
        "splits": {str(seed): _splits(table, metrics.values()) for seed, table in results.methods.items()},
        "differences": _tree(own, ["method", "dataset"], _DIFFERENCE),
        "switches": {name: _switch(name, results, is_demonstration) for name in SWITCHES},
        "curves": {
            words: _curves(_table(results.folders[figure], "curves"))
            for words, figure in CURVES.items()
            if figure in results.folders
        },
        "pits": _pits(results, had),
        "densities": {
            str(densities["dataset"].iloc[0]): _densities(results.folders[name], densities)
            for name in DENSITIES
            if name in results.folders and not (densities := _table(results.folders[name], "densities")).empty
        },
    }


def _switch(name: str, results: ProtocolResults, is_demonstration: bool) -> dict[str, Any]:
    """What one switch changes: values by method and dataset, and verdicts by claim."""
    run = results.differences[results.differences["reading"] == name]
    verdicts = changed_verdicts(results.verdicts, name)
    changed = verdicts.changed.iloc[:0] if is_demonstration else verdicts.changed
    return {
        "run": verdicts.run,
        "datasets": {str(method): list(rows) for method, rows in run.groupby("method", sort=False)["dataset"]},
        "values": _tree(results.by_dataset[results.by_dataset["switch"] == name], ["method", "dataset"], _CHANGED),
        "judged": 0 if is_demonstration else verdicts.judged,
        "verdicts": changed[["id", "before", "after"]].to_numpy().tolist(),
    }


def _claims(protocols: Iterable[ProtocolResults]) -> dict[str, str]:
    """The claims by their id."""
    claims: dict[str, str] = {}
    for results in protocols:
        claims |= dict(zip(results.verdicts["id"], results.verdicts["claim"], strict=True))
    return claims


def _curves(table: pd.DataFrame) -> dict[str, Any]:
    """Per-epoch means by dataset and method, and the last epoch up to which no split has stopped."""
    stopped = table[~table["all_alive"].astype(bool)].groupby(["dataset", "method"])["epoch"].min()
    curves: dict[str, Any] = {}
    for (dataset, method), rows in table.groupby(["dataset", "method"], sort=False):
        whole = rows[rows["epoch"] < stopped.get((dataset, method), np.inf)]["epoch"].max()
        points = [[_rounded(value) for value in row] for row in rows[[*_CURVE]].itertuples(index=False)]
        curves.setdefault(str(dataset), {})[str(method)] = {"whole": _rounded(whole), "points": points}
    return curves


def _published_curves(table: pd.DataFrame) -> dict[str, Any]:
    """The curves of Figure 1 by words, dataset and method; its epochs count from 0, ours are epochs trained."""
    ours = table.assign(epoch=table["epoch"] + ONE_EPOCH_LATER)
    return {
        words: _tree(ours[ours["metric"] == metric], ["dataset", "method"], ("epoch", "value"), several=True)
        for words, metric in PUBLISHED_CURVES.items()
    }


def _pits(results: ProtocolResults, had: pd.Series) -> dict[str, Any]:
    """Shares of PITs with their bands, by dataset and experiment/method."""
    found: dict[str, Any] = {}
    for (dataset, method), rows in results.pits.groupby(["dataset", "method"], sort=False):
        experiment = next((name for name in EXPERIMENTS if method in had.get(name, ())), EXPERIMENTS[0])
        shown = {
            shows: [
                [_rounded(value) for value in row]
                for row in rows.loc[rows["shows"] == shows, ["level", "share", "lower", "upper"]].itertuples(
                    index=False
                )
            ]
            for shows in (HISTOGRAM, RELIABILITY)
        }
        counted = {name: int(rows[name].iloc[0]) for name in ("splits", "rows", "effective_rows")}
        found.setdefault(str(dataset), {})[f"{experiment}/{method}"] = counted | shown
    return found


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
