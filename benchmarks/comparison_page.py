"""docs/comparison.md and docs/comparison_datasets.md, from benchmarks/comparison.csv and the words in the template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template

import pandas as pd

from contenders import CONTENDERS, COVERAGES
from qrt.text.words import counted, listed
from qrt_study.documents.written_block import markdown_table
from qrt_study.statistics.rank_tests import rank_tables

TABLE = Path(__file__).with_name("comparison.csv")
WHOLE = Path(__file__).with_name("whole.csv")  # our own methods on all rows of the larger datasets
# Datasets of the paper with continuous targets (at most half of them among the ten most frequent values) and up to 60
# features, with their training rows; the smallest first. Of more rows than MOST_ROWS only so many are used.
DATASETS = {
    "CPU": 135,
    "Yacht": 200,
    "MPG": 254,
    "boston": 328,
    "Energy": 499,
    "Fish": 590,
    "Concrete": 669,
    "socmob": 751,
    "Moneyball": 800,
    "Airfoil": 976,
    "space_ga": 2019,
    "colleges": 4351,
    "Kin8nm": 5324,
    "Power": 6219,
    "sulfur": 6552,
    "Brazilian_houses": 6949,
    "MiamiHousing2016": 9069,
    "Bike_Sharing_Demand": 11482,
    "california": 13765,
    "house_sales": 14446,
    "Protein": 31328,
    "diamonds": 37075,
}
MOST_ROWS = {"train": 2000, "validation": 300, "calibration": 450, "test": 2000}

_TEMPLATE = Path(__file__).with_name("comparison_template.md")
_LEVELS = [f"{100 * coverage:g}" for coverage in COVERAGES]
_PER_DATASET = {
    "nll": ("NLL", 3),
    "crps": ("CRPS, in the units of the target", 4),
    "pce": ("PCE", 3),
    **{f"coverage_{level}": (f"Coverage of {level} % intervals", 3) for level in _LEVELS},
    **{f"length_{level}": (f"Length of {level} % intervals, in the units of the target", 3) for level in _LEVELS},
    "fit_seconds": ("Processor seconds of the fit", 1),
    "predict_seconds": ("Processor seconds of predicting the test rows", 2),
}
_SIZES = (("below 600", 0, 599), ("up to 2,000", 599, 2000), ("up to 10,000", 2000, 10_000), ("above", 10_000, 10**9))
OURS, OLD, PLAIN = OWN = ("QRT", "QRTC", "QRC")


def pages(table: pd.DataFrame, whole: pd.DataFrame) -> dict[str, str]:
    """The pages by their file names; `whole` has our own methods on all rows of the larger datasets."""
    rows = complete(table)
    small = table[table["dataset"].map(DATASETS) <= MOST_ROWS["train"]]
    own = pd.concat([small, whole], ignore_index=True)
    return {"comparison.md": page(rows, own), "comparison_datasets.md": page_of_datasets(rows)}


def complete(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of those splits on which every contender was measured that has no limit of rows."""
    unlimited = {one.name for one in CONTENDERS if one.most_rows == float("inf")}
    known = table.groupby(["dataset", "split"])["method"].transform(lambda methods: unlimited <= set(methods))
    return table[known].reset_index(drop=True)


def means_by_dataset(rows: pd.DataFrame, score: str) -> pd.DataFrame:
    """Means over splits: a row for each dataset, a column for each method that has the score on all of them."""
    means = rows.groupby(["dataset", "method"], sort=False)[score].mean().unstack("method")
    order = [one.name for one in CONTENDERS if one.name in means]
    return means.reindex(index=[name for name in DATASETS if name in means.index], columns=order).dropna(axis="columns")


def page(rows: pd.DataFrame, own: pd.DataFrame) -> str:
    """The page with what holds over datasets, from the complete `rows`; `own` are our methods on whole datasets."""
    datasets = [name for name in DATASETS if name in set(rows["dataset"])]
    splits = rows.drop_duplicates(["dataset", "split"]).groupby("dataset").size()
    counts = ", ".join(f"{(splits == number).sum()} with {number}" for number in sorted(set(splits), reverse=True))
    left = [name for name in DATASETS if name not in datasets]
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        datasets=len(datasets),
        planned=len(DATASETS),
        splits=counts,
        left_out=f"Not measured yet: {listed(left)}." if left else "All of them were measured.",
        ranks=_ranks(rows),
        calibration=_calibration(rows),
        own=_own(own),
        seconds=_seconds(rows),
        goals=_goals(rows, own),
        settings=_settings(rows),
    )


def page_of_datasets(rows: pd.DataFrame) -> str:
    """The page with every dataset."""
    parts = ["# Beside other packages, dataset by dataset\n"]
    parts.append("Means over the splits that were measured; see [comparison.md](comparison.md).\n")
    sizes = rows.drop_duplicates(["dataset", "split"]).groupby("dataset").size()
    datasets = [name for name in DATASETS if name in sizes.index]
    for score, (title, digits) in _PER_DATASET.items():
        means = rows.groupby(["dataset", "method"])[score].mean().unstack("method").reindex(datasets)
        methods = [one.name for one in CONTENDERS if one.name in means and means[one.name].notna().any()]
        lines = [("dataset", "training rows", "splits", *methods)]
        for name in datasets:
            values = ("" if pd.isna(value) else f"{value:.{digits}f}" for value in means.loc[name, methods])
            lines.append((name, str(min(DATASETS[name], MOST_ROWS["train"])), str(sizes[name]), *values))
        parts.append(f"## {title}\n\n{markdown_table(*lines)}\n")
    return "\n".join(parts)


def _ranks(rows: pd.DataFrame) -> str:
    tables = {score: rank_tables(means_by_dataset(rows, score)) for score in ("nll", "crps")}
    lines: list[tuple[str, ...]] = [
        ("", "mean rank in NLL", "differs from QRT (Holm)", "mean rank in CRPS", "differs from QRT (Holm)")
    ]
    for one in CONTENDERS:
        cells = [cell for found in tables.values() for cell in _rank_cells(found, one.name)]
        if any(cells):
            lines.append((one.name, *cells))
    return markdown_table(*lines)


def _rank_cells(tables: dict[str, pd.DataFrame], method: str) -> tuple[str, str]:
    if not tables:
        return "", ""
    ranks = tables["ranks"].set_index("method")["mean_rank"]
    if method not in ranks:
        return "", ""
    pairs = tables["pairs"]
    pair = pairs[
        ((pairs["left"] == method) & (pairs["right"] == OURS)) | ((pairs["left"] == OURS) & (pairs["right"] == method))
    ]
    differs = "" if pair.empty else f"p = {pair['p_holm'].iloc[0]:.2g}"
    return f"{ranks[method]:.2f} of {len(ranks)}", differs


def _calibration(rows: pd.DataFrame) -> str:
    lines: list[tuple[str, ...]] = [
        ("", "PCE", *(f"{level} % covers" for level in _LEVELS), "length of 90 %, by QRT's")
    ]
    lengths = means_by_dataset(rows, "length_90")
    for one in CONTENDERS:
        of_method = rows[rows["method"] == one.name]
        by_dataset = of_method.groupby("dataset")
        if one.name not in lengths:
            continue
        covers = [by_dataset[f"coverage_{level}"].mean().mean() for level in _LEVELS]
        pce = by_dataset["pce"].mean().mean()
        length = (lengths[one.name] / lengths[OURS]).mean()
        cells = ("" if pd.isna(pce) else f"{pce:.3f}", *("" if pd.isna(x) else f"{100 * x:.1f}" for x in covers))
        lines.append((one.name, *cells, f"{length:.2f}"))
    return markdown_table(*lines)


def _own_by_size(own: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Means over splits that have the default and the paper's two methods, dataset by dataset, for each size."""
    ours = own[own["method"].isin(OWN)]
    ours = ours[ours.groupby(["dataset", "split"])["method"].transform("nunique") == 3]
    sizes = ours["dataset"].map(DATASETS)
    for words, low, high in _SIZES:
        of_size = ours[(sizes > low) & (sizes <= high)]
        if len(of_size):
            splits, datasets = len(of_size.drop_duplicates(["dataset", "split"])), of_size["dataset"].nunique()
            size = f"{words} ({counted(datasets, 'dataset')}, {counted(splits, 'split')})"
            yield size, of_size.groupby(["dataset", "method"]).mean(numeric_only=True)


def _own(own: pd.DataFrame) -> str:
    """The default beside the paper's methods, by size of the dataset."""
    head = ("training rows", "", *(f"{level} % covers" for level in _LEVELS), "PCE at most QRC's")
    lines: list[tuple[str, ...]] = [head]
    for size, means in _own_by_size(own):
        for method in OWN:
            covers = (f"{mean:.1f} ± {error:.1f}" for mean, error in _coverages(means, method))
            lines.append((size if method == OURS else "", method, *covers, _pce_wins(means, method)[1]))
    return markdown_table(*lines)


def _coverages(means: pd.DataFrame, method: str) -> list[tuple[float, float]]:
    """The mean over datasets in percent and its standard error, for each level."""
    found = 100 * means.xs(method, level="method")[[f"coverage_{level}" for level in _LEVELS]]
    return list(zip(found.mean(), found.sem(), strict=True))


def _pce_wins(means: pd.DataFrame, method: str) -> tuple[bool, str]:
    """Whether the PCE of a method is at most QRC's on half of the datasets, and on how many it is."""
    at_most = means.xs(method, level="method")["pce"] <= means.xs(PLAIN, level="method")["pce"]
    return bool(2 * at_most.sum() >= len(at_most)), f"{at_most.sum()} of {len(at_most)}"


def _pce_less(means: pd.DataFrame) -> str:
    """The mean difference of the default's PCE and QRC's over datasets, and its standard error."""
    less = means.xs(OURS, level="method")["pce"] - means.xs(PLAIN, level="method")["pce"]
    return f"; PCE less QRC's {less.mean():+.4f} ± {less.sem():.4f}"


def _seconds(rows: pd.DataFrame) -> str:
    lines = [("", "fit, median", "fit, largest", "predicting the test rows, median")]
    for one in CONTENDERS:
        of_method = rows[rows["method"] == one.name].groupby("dataset")[["fit_seconds", "predict_seconds"]].mean()
        if len(of_method):
            fit, predict = of_method["fit_seconds"], of_method["predict_seconds"]
            lines.append((one.name, f"{fit.median():.1f}", f"{fit.max():.1f}", f"{predict.median():.2f}"))
    return markdown_table(*lines)


def _goals(rows: pd.DataFrame, own: pd.DataFrame) -> str:
    """The goals, and what came out."""
    ranks = {score: means_by_dataset(rows, score).rank(axis=1).mean() for score in ("nll", "crps")}
    others = ranks["nll"].drop([name for name in ranks["nll"].index if name.startswith(OURS) and name != OURS])
    best = others.idxmin()
    nll = f"{_of(ranks['nll'], OURS)}; lowest {_of(ranks['nll'], best)}"
    lines: list[tuple[str, ...]] = [("goal", "result", ""), ("lowest mean rank in NLL", _verdict(best == OURS), nll)]
    for rival, slack in (("NGBoost", 0.0), ("crepes", 0.0), ("CatBoost quantiles", 0.5)):
        if rival in ranks["crps"]:
            lines.append(_ahead(ranks["crps"], rival, slack))
    by_size = list(_own_by_size(own))
    for size, means in by_size:
        covers = zip(_coverages(means, OURS), _LEVELS, strict=True)
        misses = [(mean - float(level), error, level) for (mean, error), level in covers]
        words = ", ".join(f"{miss:+.1f} ± {error:.1f} at {level} %" for miss, error, level in misses)
        met = all(abs(miss) <= 1 for miss, _, _ in misses)
        lines.append((f"mean coverage within one point at each level, {size}", _verdict(met), words))
    for size, means in [*by_size, ("all", pd.concat([means for _, means in by_size]))]:
        met, words = _pce_wins(means, OURS)
        lines.append((f"PCE at most QRC's on half of the datasets, {size}", _verdict(met), words + _pce_less(means)))
    return markdown_table(*lines)


def _ahead(ranks: pd.Series, rival: str, slack: float) -> tuple[str, str, str]:
    goal = f"mean rank in CRPS {'level with (half a rank)' if slack else 'ahead of'} {rival}"
    return goal, _verdict(ranks[OURS] <= ranks[rival] + slack), f"{_of(ranks, OURS)}; {_of(ranks, rival)}"


def _of(ranks: pd.Series, method: str) -> str:
    return f"{method} {ranks[method]:.2f}"


def _verdict(met: bool) -> str:
    return "met" if met else "missed"


def _settings(rows: pd.DataFrame) -> str:
    versions = rows.drop_duplicates("method").set_index("method")["version"]
    lines: list[Sequence[str]] = [("", "package", "settings; all others are the package's defaults")]
    lines += [
        (one.name, f"{one.package} {versions[one.name]}", one.settings) for one in CONTENDERS if one.name in versions
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], ["---"] * 3, *lines[1:]))


def diagrams(rows: pd.DataFrame, path: Path) -> None:
    """Critical-difference diagrams of NLL and CRPS, as a picture."""
    from matplotlib.figure import Figure

    from qrt_study.figures.critical_difference import draw_critical_difference, panel_rows, rank_limits

    found = {title: rank_tables(means_by_dataset(rows, score)) for score, title in (("nll", "NLL"), ("crps", "CRPS"))}
    in_a_panel = {name for tables in found.values() for name in tables["ranks"]["method"]}
    ranked = [one.name for one in CONTENDERS if one.name in in_a_panel]  # one colour in both panels
    heights = [panel_rows(tables["ranks"], tables["groups"]) for tables in found.values()]
    figure = Figure(figsize=(7, 0.27 * sum(heights) + 1.2), layout="constrained")
    panels = figure.subplots(len(found), 1, height_ratios=heights)
    for axes, (title, tables), height in zip(panels, found.items(), heights, strict=True):
        limits = rank_limits(tables["ranks"])
        draw_critical_difference(axes, tables["ranks"], tables["groups"], ranked, limits=limits, rows=height)
        axes.set_title(f"{title}, {int(tables['friedman']['datasets'].iloc[0])} datasets", fontsize=9)
    figure.savefig(path, dpi=150, metadata={"Software": None})
