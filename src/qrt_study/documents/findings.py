"""The numbers of docs/findings.md, from the published tables of both protocols; the words around them are by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from qrt.text.words import counted, listed, number, p_value, percent
from qrt_study.data.record import read_record
from qrt_study.documents.written_block import markdown_table
from qrt_study.pages.changed_differences import distances_to_published
from qrt_study.pages.readings import BOTH_RUN
from qrt_study.pages.value_table import with_noise
from qrt_study.plan.compared import Compared
from qrt_study.plan.config import load_study
from qrt_study.plan.experiments import plan_study
from qrt_study.results.tables import of_reported_seed
from qrt_study.results.tuning import Tuning
from qrt_study.statistics.comparison import effects
from qrt_study.statistics.metrics import figure_metrics
from qrt_study.statistics.times import OURS, RELEASED, time_ratios

PROTOCOLS = {"paper": "paper_figures", "released": "replication/released"}  # where each one's tables are
Rows = list[tuple[str, ...]]
_METHODS = ("QRC", "QREGC", "QRTC")


def findings_blocks(
    project: Path, folders: Mapping[str, Path] | None = None, names: Collection[str] = ()
) -> dict[str, str]:
    """Each block of docs/findings.md by its name, or those named.

    `folders` have the tables of each protocol, the published ones.
    """
    folders = folders or {protocol: project / folder for protocol, folder in PROTOCOLS.items()}

    def tables(name: str) -> dict[str, pd.DataFrame]:
        return {protocol: pd.read_csv(folder / f"{name}.csv") for protocol, folder in folders.items()}

    agreement = pd.read_csv(folders["released"] / "agreement.csv")
    switches, robustness, by_dataset = tables("disagreements"), tables("robustness"), tables("disagreements_by_dataset")
    blocks: dict[str, Callable[[], str]] = {
        "agreement": lambda: _agreement(agreement),
        "outside by bandwidth": lambda: _by_bandwidth(project, agreement),
        "switches": lambda: _switches(switches),
        "sd": lambda: _changed(switches, "sd", "SD"),
        "one map or two": lambda: _changed(switches, "posthoc_on", "NLL", "PCE"),
        "bandwidth": lambda: _changed(switches, "posthoc_bandwidth", "NLL", "PCE"),
        "coverage": lambda: _coverage(project),
        "calibration or refinement": lambda: _pairs(tables("gains_summary"), ("QRC", "QRT", "QRTC")),
        "conditional coverage": lambda: _pairs(tables("coverage_summary"), ("QRC", "QRT", "QRTC"), _CONDITIONAL),
        "widths": lambda: _widths(tables("coverage_ways")),
        "stopping": lambda: _pairs(tables("stopping_summary"), ("QRC-STOP", "QRTC")),
        "batches": lambda: _changed(switches, "metric_rows", "NLL", "PCE"),
        "second pass": lambda: _changed(switches, "map_centres", "NLL", "PCE"),
        "second pass by dataset": lambda: _on_datasets(by_dataset, "map_centres", "QRTC"),
        "distance to published": lambda: _distances(by_dataset["released"]),
        "constant columns": lambda: _on_datasets(by_dataset, "x_scale", "QRTC", "QRC"),
        "discrete targets": lambda: _discrete(robustness),
        "single splits": lambda: _single_splits(robustness),
        "seeds": lambda: _seeds(tables("seeds")),
        "times": lambda: _times(pd.read_csv(folders["paper"] / "table2_times.csv")),
    }
    return {name: block() for name, block in blocks.items() if not names or name in names}


def _agreement(points: pd.DataFrame) -> str:
    rows: Rows = [("method", "inside the 95 % prediction interval", "same sign", "outside: ours and published")]
    for method, of_method in points.groupby("method", sort=False):
        tested = of_method[of_method["p_value"].notna()]
        outside = [
            f"{row['dataset']} {number(row['ours'])} ± {number(row['ours_standard_error'], 2)}, "
            f"{number(row['published'])} ± {number(row['published_standard_error'], 2)}"
            for row in tested[~tested["inside"].astype(bool)].to_dict("records")
        ]
        inside = f"{int(tested['inside'].sum())} of {counted(len(tested), 'dataset')}"
        signs = f"{int(of_method['same_sign'].sum())} of {len(of_method)}"
        rows.append((str(method), inside, signs, "; ".join(outside) or "none"))
    return markdown_table(*rows)


def _by_bandwidth(project: Path, points: pd.DataFrame) -> str:
    """QRTC with each bandwidth of training on the datasets on which its published value is outside (released)."""
    outside = points[(points["method"] == "QRTC") & points["p_value"].notna() & ~points["inside"].astype(bool)]
    if outside.empty:
        return "The published value of QRTC is outside on no dataset."
    study = load_study({"protocols": ["released"]}, project)
    datasets = list(outside["dataset"])
    paths = [project / f"replication/results/networks/{name}.runs.parquet" for name in datasets]
    runs = pd.concat([of_reported_seed(pq.read_table(path).to_pandas()) for path in paths], ignore_index=True)
    tuning, experiments = Tuning(runs), plan_study(study).experiments
    tuned = pd.concat([tuning.methods(experiments[name], study.protocol) for name in ("main", "bandwidth")])
    base, suffix = Compared("main", "BASE", "BASE"), figure_metrics(study.protocol)["NLL"]
    columns: dict[str, Sequence[str]] = {"dataset": datasets}
    for method in experiments["bandwidth"].methods:
        one = Compared("bandwidth", method.name, method.name)
        found = effects(tuned, one, base, "NLL", suffix, datasets, study.protocol.cohens_d, {}).set_index("dataset")
        values = found.loc[datasets, ["difference", "difference_standard_error"]].itertuples(index=False)
        columns[method.name.removeprefix("QRTC ")] = [with_noise(*value) for value in values]
    published = outside[["published", "published_standard_error"]].itertuples(index=False)
    columns["published"] = [with_noise(*value) for value in published]
    return markdown_table(tuple(columns), *zip(*columns.values(), strict=True))


def _coverage(project: Path) -> str:
    """Mean coverage of 90 % intervals on test rows, by the size of the datasets that all these methods have."""
    found = []
    for protocol in PROTOCOLS:
        study = load_study({"protocols": [protocol]}, project)
        main = plan_study(study).experiments["main"]
        chosen = replace(main, methods=tuple(one for one in main.methods if one.name in _COVERING))
        networks = [network.id for method in chosen.methods for network in method.networks]
        paths = sorted((project / "replication/results/networks").glob("*.runs.parquet"))
        tables = [pq.read_table(path, filters=[("variant", "in", networks)]).to_pandas() for path in paths]
        tuned = Tuning(of_reported_seed(pd.concat(tables, ignore_index=True))).methods(chosen, study.protocol)
        found.append(tuned[tuned["status"] == "ok"].assign(protocol=protocol))
    coverage = pd.concat(found).groupby(["protocol", "method", "dataset"], sort=False)["test_coverage_90"].mean()
    wide = coverage.unstack("dataset").dropna(axis="columns").T
    rows = [read_record(project / f"replication/results/records/{name}.json")["train_rows"] for name in wide.index]
    sizes = pd.cut(rows, _SIZE_EDGES, labels=_SIZES, right=False)
    counts, means = wide.groupby(sizes, observed=True).size(), wide.groupby(sizes, observed=True).mean()
    head = ("protocol", "method", *(f"{size} ({counts[size]} datasets)" for size in means.index))
    return markdown_table(
        head, *((*names, *(percent(share, 3) for share in of_method)) for names, of_method in means.T.iterrows())
    )


_COVERING = ("BASE", "QRC", "QRTC")
_SIZES = ("below 600 training rows", "up to 2,000", "up to 10,000", "above")
_SIZE_EDGES = (0, 600, 2001, 10_001, math.inf)  # from so many rows on


def _switches(disagreements: Mapping[str, pd.DataFrame]) -> str:
    """How many verdicts each switch changes alone, those that change most first; what cannot be told is not counted."""
    found = {protocol: table.drop_duplicates("switch").set_index("row") for protocol, table in disagreements.items()}
    changed = sum(table["verdicts_changed"] for table in found.values())
    both_run = [set(table.index[table["run"].isin(BOTH_RUN)]) for table in found.values()]
    rows: Rows = [("row", "disagreement", *(f"verdicts that change, {protocol}" for protocol in found))]
    for row in changed[changed > 0].sort_values(ascending=False, kind="stable").index:
        counts = (
            f"{table.loc[row, 'verdicts_changed']} of {table.loc[row, 'verdicts_judged']}" if row in told else "–"
            for table, told in zip(found.values(), both_run, strict=True)
        )
        topic = str(next(iter(found.values())).loc[row, "topic"])
        rows.append((str(row), topic, *counts))
    words = [markdown_table(*rows)]
    some_told = set().union(*both_run)
    without_change = set(changed[changed == 0].index)
    if without_change & some_told:
        words.append(f"No verdict changes with {_rows_in_words(without_change & some_told)}.")
    if without_change - some_told:
        words.append(f"Not tested yet: {_rows_in_words(without_change - some_told)}.")
    return "\n\n".join(words)


def _rows_in_words(rows: Collection[int]) -> str:
    return f"row{'s' if len(rows) > 1 else ''} {listed([str(row) for row in sorted(rows)])}"


def _changed(disagreements: Mapping[str, pd.DataFrame], switch: str, *metrics: str) -> str:
    """What a switch changes in the main comparison with BASE, by metric and method; what it leaves is not shown."""
    head = ("protocol", "metric", "method", "lower than BASE", "median difference", "Holm")
    rows: Rows = []
    compared = 0
    for protocol, table in disagreements.items():
        chosen = table[(table["switch"] == switch) & table["metric"].isin(metrics) & table["method"].isin(_METHODS)]
        compared += len(chosen)
        for row in chosen.to_dict("records"):
            lower = [f"{int(row[f'lower_on_{when}'])} of {int(row[f'datasets_{when}'])}" for when in _WHEN]
            median = [percent(row[f"median_relative_difference_{when}"]) for when in _WHEN]
            holm = [p_value(row[f"p_holm_{when}"]) for when in _WHEN]
            if any(before != after for before, after in (lower, median)):
                values = (f"{before} → {after}" for before, after in (lower, median, holm))
                rows.append((protocol, str(row["metric"]), str(row["method"]), *values))
    if rows:
        return markdown_table(head, *rows)
    return "None of these numbers changes." if compared else "Nothing has been run for this yet."


_WHEN = ("before", "after")
_SETTINGS = ("as released", "switch changed")
_DISTANCES = ("beyond two standard errors,", "median distance,")


def _on_datasets(tables: Mapping[str, pd.DataFrame], switch: str, *methods: str) -> str:
    """Test NLL minus that of BASE on single datasets before and after a switch is changed, and as published.

    Means over the seeds that both settings have.
    """
    rows: Rows = [("protocol", "dataset", "method", "seeds", "this protocol", "switch changed", "published")]
    for protocol, table in tables.items():
        for row in table[(table["switch"] == switch) & table["method"].isin(methods)].to_dict("records"):
            values = (with_noise(row[name], row[f"{name}_standard_error"]) for name in ("before", "after", "published"))
            rows.append((protocol, row["dataset"], row["method"], str(row["seeds"]), *values))
    return markdown_table(*rows) if len(rows) > 1 else "Nothing has been run for this yet."


def _distances(by_dataset: pd.DataFrame) -> str:
    """How far the values that a switch changes are from the published ones, before and after."""
    head = ("row", "switch", "values that change", *(f"{name} {when}" for when in _SETTINGS for name in _DISTANCES))
    rows: Rows = [head]
    for row in distances_to_published(by_dataset).to_dict("records"):
        distances = (
            value for when in _WHEN for value in (str(row[f"beyond_two_{when}"]), number(row[f"median_{when}"], 2))
        )
        rows.append((str(row["row"]), row["switch"], str(row["values"]), *distances))
    return markdown_table(*rows) if len(rows) > 1 else "Nothing has been run for this yet."


def _discrete(robustness: Mapping[str, pd.DataFrame]) -> str:
    rows: Rows = [("protocol", "targets", "datasets", "QRTC below BASE in NLL", "in CRPS", "in both")]
    for protocol, table in robustness.items():
        of_qrtc = table[(table["method"] == "QRTC") & (table["baseline"] == "BASE")]
        wide = of_qrtc.pivot(index=["dataset", "targets"], columns="metric", values="mean")[["NLL", "CRPS"]].dropna()
        for targets, means in (wide < 0).groupby("targets"):
            counts = (means["NLL"].sum(), means["CRPS"].sum(), means.all(axis=1).sum())
            rows.append((protocol, str(targets), str(len(means)), *(str(int(one)) for one in counts)))
    return markdown_table(*rows)


def _single_splits(robustness: Mapping[str, pd.DataFrame]) -> str:
    rows: Rows = [("protocol", "metric", "difference", "one split decides the sign on")]
    for protocol, table in robustness.items():
        chosen = table[(table["baseline"] == "BASE") & table["metric"].isin(["NLL", "PCE"])]
        for (metric, method), means in chosen.groupby(["metric", "method"], sort=False):
            decides = int(means["one_split_decides"].sum())
            rows.append((protocol, str(metric), f"{method} − BASE", f"{decides} of {counted(len(means), 'dataset')}"))
    return markdown_table(*rows)


def _seeds(seeds: Mapping[str, pd.DataFrame]) -> str:
    head = (
        "protocol",
        "metric",
        "difference",
        "datasets",
        "share of the seed in the variance",
        "conclusions as all seeds",
    )
    rows: Rows = [head]
    for protocol, table in seeds.items():
        chosen = table[table["metric"].isin(["NLL", "PCE"])]
        for (metric, method, baseline), of_pair in chosen.groupby(["metric", "method", "baseline"], sort=False):
            same, tested = int(of_pair["same_as_all"].sum()), int(of_pair["tested_seeds"].sum())
            share = f"median {percent(of_pair['seed_share'].median())}"
            rows.append(
                (protocol, str(metric), f"{method} − {baseline}", str(len(of_pair)), share, f"{same} of {tested}")
            )
    return markdown_table(*rows) if len(rows) > 1 else "No dataset has results of several seeds yet."


_CONDITIONAL = ("error by spread", "worst slab", "excess risk")


def _widths(tables: Mapping[str, pd.DataFrame]) -> str:
    """What F of QRTC's network is like, and what one map or two do to it, by the size of datasets."""
    rows: Rows = [("protocol", "datasets", "distribution", "12 × variance of the PITs", "90 % intervals cover")]
    for protocol, table in tables.items():
        for row in table[table["way"].str.startswith("QRTC") & (table["size"] != "all")].to_dict("records"):
            size = f"{row['size']} ({counted(row['datasets'], 'dataset')})"
            rows.append((protocol, size, row["way"], number(row["pit_variance"], 2), percent(row["coverage"], 3)))
    return markdown_table(*rows)


def _pairs(summaries: Mapping[str, pd.DataFrame], methods: Collection[str], scores: Collection[str] = ()) -> str:
    """Pairs of methods in each score of an extension, or in these, over datasets."""
    rows: Rows = [("protocol", "score", "method", "against", "lower on", "median difference", "Holm")]
    for protocol, summary in summaries.items():
        chosen = summary[summary["left"].isin(methods) & (summary["metric"].isin(scores) | (not scores))]
        for row in chosen.to_dict("records"):
            lower = f"{int(row['left_lower'])} of {counted(int(row['datasets']), 'dataset')}"
            difference = number(round(row["median_difference"], 6), 2)  # what is smaller is rounding
            values = (lower, difference, p_value(row["p_holm"]))
            rows.append((protocol, row["metric"], row["left"], row["right"], *values))
    return markdown_table(*rows) if len(rows) > 1 else "Nothing has been run for this yet."


def _times(times: pd.DataFrame) -> str:
    """What a map in training costs: time per epoch of QRTC by that of BASE, over datasets."""
    ratios = {way: time_ratios(times, way).set_index("dataset") for way in (OURS, RELEASED)}
    columns = {
        "ours: one pass, the map by a series": ratios[OURS]["ratio"],
        "as released: two passes, all pairs of points and centres": ratios[RELEASED]["ratio"],
        "published": ratios[OURS]["published_ratio"],
    }
    rows: Rows = [("QRTC / BASE, time per epoch", "datasets", "least", "median", "largest")]
    for name, of_way in columns.items():
        known = of_way.dropna()
        rows.append((name, str(len(known)), *(number(one) for one in (known.min(), known.median(), known.max()))))
    return markdown_table(*rows)
