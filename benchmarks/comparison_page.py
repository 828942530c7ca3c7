"""docs/comparison.md, from benchmarks/comparison.csv and the words in benchmarks/comparison_template.md."""

from __future__ import annotations

from pathlib import Path
from string import Template

import pandas as pd
from scipy import stats

TABLE = Path(__file__).with_name("comparison.csv")
# Small and medium, with a continuous target, chosen before anything was measured; with their training rows.
DATASETS = {"Fish": 590, "Concrete": 669, "Airfoil": 976, "space_ga": 2019, "Kin8nm": 5324, "Power": 6219}

_TEMPLATE = Path(__file__).with_name("comparison_template.md")
_SMALLEST_TEST_SET = 92  # Fish
_NOISE_OF_ONE = """One split only, so that no standard errors can be given: differences of a few per cent may be noise.
  `python benchmarks/comparison.py --splits 3` measures further splits and keeps what there is."""
_NOISE_OF_SEVERAL = """$count splits are few, and ± is their standard error, itself uncertain: the 95 % interval of a
  mean reaches $factor of them to either side (Student's t), and since splits of the same data overlap, the true errors
  are larger still. Trust what is large beside ±, and the same in every split and on most datasets."""
_TUNED = "QRT"  # has a choice that nobody else has


def page(table: pd.DataFrame) -> str:
    """The whole page, for rows of dataset, split and method with their scores."""
    splits = table["split"].nunique()
    repeated = splits > 1
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        splits=f"splits 0 {'and' if splits == 2 else 'to'} {splits - 1} of the study, as means"
        if repeated
        else "split 0 of the study",
        noise=_noise(splits) if repeated else _NOISE_OF_ONE,
        error=f"{100 * (0.9 * 0.1 / (_SMALLEST_TEST_SET * splits)) ** 0.5:.1f}",
        summary=_summary(table),
        nll=_by_dataset(table, "nll", 3, with_error=repeated, mark=True),
        crps=_by_dataset(table, "crps", 4, with_error=repeated, mark=True),
        pce=_by_dataset(table, "pce", 3, mark=True),
        coverage_90=_by_dataset(table, "coverage_90", 3),
        length_90=_by_dataset(table, "length_90", 3),
        fit_cpu_seconds=_by_dataset(table, "fit_cpu_seconds", 1),
        settings=_settings(table).rstrip("\n"),
    )


def _noise(splits: int) -> str:
    return Template(_NOISE_OF_SEVERAL).substitute(count=splits, factor=f"{stats.t.ppf(0.975, splits - 1):.1f}")


def _summary(table: pd.DataFrame) -> str:
    means = table.groupby(["method", "dataset"], sort=False)[["nll", "crps", "pce", "coverage_90"]].mean()
    ratio = means["crps"] / means.groupby("dataset")["crps"].transform("min")
    lines = []
    for method in table["method"].unique():
        of_method = means.loc[method]
        coverage = of_method["coverage_90"]
        has_cdf = of_method["crps"].notna().all()
        lines.append(
            [
                method,
                wins(table, method, "nll"),
                wins(table, method, "crps"),
                f"{ratio.loc[method].mean():.2f}" if has_cdf else "",
                f"{of_method['pce'].mean():.3f}" if has_cdf else "",
                f"{coverage.mean():.3f} ({coverage.min():.3f} to {coverage.max():.3f})",
            ]
        )
    counts = [f"{name}: best on (in every split)" for name in ("NLL", "CRPS")]
    return _markdown(["", *counts, "CRPS / the best", "PCE", "coverage (lowest to highest dataset)"], lines)


def wins(table: pd.DataFrame, method: str, score: str) -> str:
    """On how many datasets a method is better than every rival, by the mean over splits and in each split.

    The two rows of QRT are no rivals of each other, and that which is tuned is nobody's.
    """
    wide = table.pivot(index=["dataset", "split"], columns="method", values=score)
    if wide[method].isna().any():
        return ""
    ours = [name for name in wide if name.startswith(_TUNED)]
    rivals = wide.drop(columns=ours if method in ours else [method, _TUNED])
    by_mean = wide[method].groupby("dataset").mean() < rivals.groupby("dataset").mean().min(axis=1)
    in_each = (wide[method] < rivals.min(axis=1)).groupby("dataset").all()
    return f"{int(by_mean.sum())} ({int(in_each.sum())})"


def _by_dataset(table: pd.DataFrame, column: str, digits: int, *, with_error: bool = False, mark: bool = False) -> str:
    """Methods by datasets: means over splits; the lowest of a dataset is bold if `mark`."""
    groups = table.groupby(["method", "dataset"])[column]
    mean, error = (values.unstack().reindex(columns=list(DATASETS)) for values in (groups.mean(), groups.sem()))

    def cell(method: str, dataset: str) -> str:
        value = mean.at[method, dataset]
        if pd.isna(value):
            return ""
        shown = f"{value:.{digits}f}"
        if mark and value == mean[dataset].min():
            shown = f"**{shown}**"
        return f"{shown} ± {error.at[method, dataset]:.{digits}f}" if with_error else shown

    lines = [[method, *(cell(method, dataset) for dataset in DATASETS)] for method in table["method"].unique()]
    lines = [line for line in lines if any(line[1:])]
    return _markdown(["", *(f"{name} ({rows} rows)" for name, rows in DATASETS.items())], lines)


def _settings(table: pd.DataFrame) -> str:
    used = table.drop_duplicates("method")
    lines = [
        [row["method"], f"{row['package']} {row['version']}", row["settings"]] for row in used.to_dict(orient="records")
    ]
    return _markdown(["", "package", "settings; all others are the package's defaults"], lines)


def _markdown(head: list[str], lines: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *lines))
