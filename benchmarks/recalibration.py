"""A map against one temperature, for four kinds of models: measures the table of docs/cookbook.md and writes it.

Each model is fitted to the training rows of splits of the study, and used as it is, with one temperature, or with
`QuantileRecalibrator()`; the latter two learn from the calibration rows. Measures what benchmarks/recalibration.csv
does not have yet. Data come from the folder QRT_MIRROR, or from OpenML and UCI, and are kept nowhere; `--page` only
writes. CatBoost is in the environment of `make comparison` (pyproject.toml, extra `comparison`).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from scipy import stats
from scipy.optimize import minimize_scalar
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from qrt import QuantileRecalibrator, distribution_from_quantiles, distribution_from_samples
from qrt.atomic import write_text
from qrt.engine.calibration_error import pce_levels
from qrt.engine.split import SplitData
from qrt.estimator.any_distribution import AnyDistribution
from qrt.estimator.recalibrated import RecalibratedDistribution
from qrt_study.data.fetch import fetch
from qrt_study.data.prepared_store import prepare_dataset
from qrt_study.data.split_store import load_split
from qrt_study.documents.written_block import markdown_table, with_block

PROJECT = Path(__file__).resolve().parent.parent
TABLE = PROJECT / "benchmarks/recalibration.csv"
PAGE = PROJECT / "docs/cookbook.md"
# Continuous targets, from small to medium, chosen before anything was measured.
DATASETS = ("Energy", "Fish", "Concrete", "Airfoil", "space_ga", "Kin8nm", "Power", "sulfur", "Brazilian_houses")
LEVELS = (0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)
WAYS = ("as it is", "one temperature", "a map")

FloatArray = npt.NDArray[np.float64]
Rows = tuple[FloatArray, FloatArray]
Predictor = Callable[[FloatArray], RecalibratedDistribution]


class Tempered:
    """N distributions, stretched by `temperature` around their medians: (N,)."""

    def __init__(self, base: RecalibratedDistribution, median: FloatArray, temperature: float) -> None:
        self.base, self.median, self.temperature = base, median, temperature

    def _untempered(self, y: FloatArray) -> FloatArray:
        return self.median + (y - self.median) / self.temperature

    def cdf(self, y: FloatArray) -> FloatArray:
        return self.base.cdf(self._untempered(y))

    def log_score(self, y: FloatArray) -> FloatArray:
        return self.base.log_score(self._untempered(y)) + np.log(self.temperature)

    def crps(self, y: FloatArray) -> FloatArray:
        return self.temperature * self.base.crps(self._untempered(y))


def tempered(base: RecalibratedDistribution, y: FloatArray) -> float:
    """The temperature with the lowest negative log-likelihood of y."""
    median = base.median()
    found = minimize_scalar(
        lambda log: Tempered(base, median, float(np.exp(log))).log_score(y).mean(), bounds=(-4, 4), method="bounded"
    )
    return float(np.exp(found.x))


def _quantile_boosting(train: Rows) -> Predictor:
    models = [
        HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=0).fit(*train) for level in LEVELS
    ]
    return lambda x: distribution_from_quantiles(LEVELS, np.column_stack([model.predict(x) for model in models]))


def _forest(train: Rows) -> Predictor:
    forest = RandomForestRegressor(100, min_samples_leaf=5, random_state=0).fit(*train)
    return lambda x: _plain(
        distribution_from_samples(np.column_stack([tree.predict(x) for tree in forest.estimators_]))
    )


def _mean_and_deviation(train: Rows) -> Predictor:
    model = HistGradientBoostingRegressor(random_state=0).fit(*train)
    deviation = float(np.std(train[1] - model.predict(train[0])))
    return lambda x: _plain(stats.norm(model.predict(x), deviation))


def _catboost(train: Rows) -> Predictor:
    from catboost import CatBoostRegressor

    loss = f"MultiQuantile:alpha={','.join(map(str, LEVELS))}"
    model = CatBoostRegressor(
        loss_function=loss, random_seed=0, verbose=False, allow_writing_files=False, thread_count=1
    ).fit(*train)
    return lambda x: distribution_from_quantiles(LEVELS, model.predict(x))


MODELS: dict[str, Callable[[Rows], Predictor]] = {
    "HistGradientBoosting, quantiles": _quantile_boosting,
    "CatBoost, quantiles": _catboost,
    "random forest, trees as samples": _forest,
    "HistGradientBoosting, mean and SD of the training errors": _mean_and_deviation,
}


def _plain(distribution: Any) -> RecalibratedDistribution:
    return RecalibratedDistribution(AnyDistribution(distribution), ())


def measured(name: str, split: int, data: SplitData, models: Iterable[str]) -> Iterator[dict[str, object]]:
    """A row for each of these models and each way."""
    rows = {part: _in_units(data, part) for part in ("train", "calibration", "test")}
    x, y = rows["test"]
    x_calibration, y_calibration = rows["calibration"]
    for model in models:
        predict = MODELS[model](rows["train"])
        calibration, base = predict(x_calibration), predict(x)
        temperature = tempered(calibration, y_calibration)
        found: dict[str, Any] = {
            "as it is": base,
            "one temperature": Tempered(base, base.median(), temperature),
            "a map": QuantileRecalibrator().fit_distribution(calibration, y_calibration).transform(base),
        }
        for way, distribution in found.items():
            pits = distribution.cdf(y)
            yield {
                "dataset": name,
                "split": split,
                "model": model,
                "way": way,
                "nll": float(distribution.log_score(y).mean()),
                "crps": float(distribution.crps(y).mean()),
                "pce": float(pce_levels(torch.from_numpy(pits))),
                "coverage_90": float(((pits >= 0.05) & (pits <= 0.95)).mean()),
            }


def _in_units(data: SplitData, part: str) -> Rows:
    x, y = data.part(part)
    return x.astype(np.float64), y.astype(np.float64) * data.y_scale + data.y_mean


def split_data(name: str, split: int, folder: Path) -> SplitData:
    """The dataset's split, fetched and prepared by the study's own code into `folder`."""
    if not (folder / name).is_dir():
        mirror = os.environ.get("QRT_MIRROR")
        table, record = folder / f"{name}.parquet", folder / f"{name}.json"
        places: dict[str, Any] = {"mirror": Path(mirror) if mirror else None, "own": None}
        places |= {"sources": ["mirror", "openml", "uci"], "cache": folder / "cache", "lock": folder / "lock.json"}
        fetch(name, table, record, **places)
        prepare_dataset(name, table, record, folder / name)
    return load_split(folder / name, split)


def block(table: pd.DataFrame) -> str:
    """The table of the page: means over datasets of the means over splits."""
    means = table.groupby(["model", "dataset", "way"], sort=False)[["nll", "crps", "pce", "coverage_90"]].mean()
    lines = [("", "", "NLL, less that as it is", "CRPS / as it is", "PCE", "90 % intervals cover", "lowest NLL on")]
    for model in MODELS:
        of_model = means.loc[model].unstack()
        plain = of_model.xs(WAYS[0], axis=1, level="way")
        best = of_model["nll"].idxmin(axis=1)
        for way in WAYS:
            found = of_model.xs(way, axis=1, level="way")
            cover = 100 * found["coverage_90"]
            lines.append(
                (
                    model if way == WAYS[0] else "",
                    way,
                    f"{(found['nll'] - plain['nll']).mean():.2f}",
                    f"{np.exp(np.log(found['crps'] / plain['crps']).mean()):.3f}",
                    f"{found['pce'].mean():.3f}",
                    f"{cover.mean():.1f} % ({cover.min():.1f} to {cover.max():.1f})",
                    f"{(best == way).sum()} of {len(best)}",
                )
            )
    splits, datasets = table["split"].nunique(), ", ".join(table["dataset"].unique())
    basis = (
        f"Test rows of {splits} splits of the study on {datasets}: means over datasets of the means over splits (of "
        "CRPS the geometric one), and the lowest to the highest coverage of a dataset."
    )
    return f"{basis}\n\n{markdown_table(*lines)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    options = parser.parse_args()
    table = pd.read_csv(TABLE) if TABLE.exists() else pd.DataFrame(columns=["dataset", "split", "model"])
    with tempfile.TemporaryDirectory() as folder:
        for name in () if options.page else DATASETS:
            for split in range(options.splits):
                known = set(table.loc[(table["dataset"] == name) & (table["split"] == split), "model"])
                if not (missing := [model for model in MODELS if model not in known]):
                    continue
                print(f"{name}, split {split}: {', '.join(missing)}", file=sys.stderr, flush=True)
                rows = pd.DataFrame(measured(name, split, split_data(name, split, Path(folder)), missing))
                table = pd.concat([table, rows], ignore_index=True) if len(table) else rows
                write_text(TABLE, table.to_csv(index=False, float_format="%.6g"))
    write_text(PAGE, with_block(PAGE.read_text(encoding="utf-8"), "recalibration", block(pd.read_csv(TABLE))))


if __name__ == "__main__":
    main()
