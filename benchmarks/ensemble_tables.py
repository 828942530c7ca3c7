"""The small tables of docs/ensembles.md: times, folds (`cv=5`), and a row far from the training rows.

`python benchmarks/ensembles.py --table times` (or `folds`, `far`) measures one of them and prints it.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from comparison import prepared_dataset
from qrt import QRTRegressor
from qrt.engine.split import SplitData
from qrt.estimator.diagnosis import Diagnosis
from qrt_study.data.split_store import load_split
from qrt_study.documents.written_block import markdown_table

FloatArray = npt.NDArray[np.float64]
Rows = tuple[FloatArray, FloatArray]

TIMED: dict[str, dict[str, Any]] = {
    "one network of QRT, b = 0.1": {"method": "QRTC", "bandwidth": 0.1},
    "default (2 networks)": {},
    "`members=3`": {"members": 3},
    "the paper's QRTC (4 bandwidths)": {"method": "QRTC"},
}
TIMED_ROWS = (5_000, 50_000)
TIMED_SEEDS = (0, 1)
FEATURES = 10

FOLD_DATASETS = (
    *("CPU", "tecator", "Yacht", "MPG", "boston", "Energy", "Fish"),
    *("Concrete", "MIP-2016-regression", "house_prices_nominal", "socmob"),
)
_ONE_MAP: dict[str, Any] = {"posthoc_bandwidth": 0.1}
_MAP_IN_TRAINING: dict[str, Any] = {"method": "QRTC", "bandwidth": 0.5} | _ONE_MAP
_NO_MAP: dict[str, Any] = {"method": "QRC"} | _ONE_MAP
FOLDS: dict[str, dict[str, Any]] = {
    "split, no map in training": _NO_MAP | {"members": 4},
    "cv=5, no map in training": _NO_MAP | {"members": 5, "cv": 5},
    "cv=5, no map in training ": _NO_MAP | {"members": 10, "cv": 5},
    "split, b = 0.5": _MAP_IN_TRAINING | {"members": 4},
    "cv=5, b = 0.5": _MAP_IN_TRAINING | {"members": 5, "cv": 5},
    "cv=5, b = 0.5 ": _MAP_IN_TRAINING | {"members": 10, "cv": 5},
}
FEW_ROWS = 600

FAR_TRAINED, FAR_OTHERS = 5_000, 4_000


def times_table(rows: Sequence[int] = TIMED_ROWS, settings: Mapping[str, Any] | None = None) -> str:
    """Processor seconds of fits, and how many times those of one network each takes."""
    seconds = {
        (name, count): [_fit_seconds(count, seed, parameters | dict(settings or {})) for seed in TIMED_SEEDS]
        for count in rows
        for name, parameters in TIMED.items()
    }
    one = next(iter(TIMED))
    lines: list[tuple[str, ...]] = [("", *(f"{count:,} rows" for count in rows))]
    for name in TIMED:
        cells = []
        for count in rows:
            ratio = np.mean(seconds[name, count]) / np.mean(seconds[one, count])
            cells.append(", ".join(f"{value:.1f}" for value in seconds[name, count]) + f" ({ratio:.1f} times)")
        lines.append((name, *cells))
    return markdown_table(*lines)


def _fit_seconds(rows: int, seed: int, parameters: Mapping[str, Any]) -> float:
    x, y = generated_rows(rows, seed)
    start = time.process_time()
    QRTRegressor(random_state=seed, **parameters).fit(x, y)
    return time.process_time() - start


def generated_rows(rows: int, seed: int) -> Rows:
    """x: (rows, 10), of which three matter, and y: (rows,) of a mean and a width that depend on x."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(rows, FEATURES))
    mean, width = np.sin(2 * x[:, 0]) + 0.5 * x[:, 1], 0.3 * np.exp(0.5 * x[:, 2])
    return x, generator.normal(mean, width)


def folds_table(datasets: Sequence[str] = FOLD_DATASETS, settings: Mapping[str, Any] | None = None) -> str:
    """Every row trains, or a split, on split 0: against QRC on the split, means over datasets."""
    found: dict[str, list[Diagnosis]] = {name: [] for name in FOLDS}
    qrc: list[Diagnosis] = []
    is_small = []
    with tempfile.TemporaryDirectory() as folder:
        for dataset in datasets:
            data = load_split(prepared_dataset(dataset, Path(folder)), 0, "unit")
            is_small.append(data.sizes["train"] < FEW_ROWS)
            qrc.append(_diagnosed(data, _NO_MAP | dict(settings or {})))
            for name, parameters in FOLDS.items():
                found[name].append(_diagnosed(data, parameters | dict(settings or {})))
    head = ("", "networks", "NLL, mean", "CRPS", "PCE", f"90 % covers, below {FEW_ROWS} rows", f"from {FEW_ROWS} rows")
    lines: list[tuple[str, ...]] = [head]
    for name, parameters in FOLDS.items():
        nll = np.mean([one.nll - base.nll for one, base in zip(found[name], qrc, strict=True)])
        crps = np.mean([one.crps / base.crps for one, base in zip(found[name], qrc, strict=True)])
        pce = np.mean([one.pce for one in found[name]])
        covers = [_coverage(found[name], [small == asked for small in is_small]) for asked in (True, False)]
        networks = str(parameters["members"])
        lines.append((name.strip(), networks, f"{nll:+.2f}", f"{crps:.2f}", f"{pce:.3f}", *covers))
    return markdown_table(*lines)


def _diagnosed(data: SplitData, parameters: Mapping[str, Any]) -> Diagnosis:
    """The diagnosis on the test rows of a model of the others, each in its part or, with folds, all together."""
    model = QRTRegressor(random_state=0, **parameters)
    parts = {part: _in_units(data, part) for part in ("train", "validation", "calibration", "test")}
    if model.cv is None:
        model.fit(*parts["train"], validation=parts["validation"], calibration=parts["calibration"])
    else:
        each = [parts[part] for part in ("train", "validation", "calibration")]
        model.fit(np.concatenate([x for x, _ in each]), np.concatenate([y for _, y in each]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*far outside", category=UserWarning)
        return model.diagnose(*parts["test"])


def _in_units(data: SplitData, part: str) -> Rows:
    x, y = data.part(part)
    return x.astype(np.float64), y.astype(np.float64) * data.y_scale + data.y_mean


def _coverage(diagnoses: Sequence[Diagnosis], chosen: Sequence[bool]) -> str:
    shares = [one.metrics["coverage_90"] for one, counts in zip(diagnoses, chosen, strict=True) if counts]
    return f"{100 * np.mean(shares):.1f}" if shares else "none"


def far_table(trained: int = FAR_TRAINED, others: int = FAR_OTHERS, settings: Mapping[str, Any] | None = None) -> str:
    """diamonds with a typing error in one of the rows to predict: that row, the other rows outside, and all."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepared_dataset("diamonds", Path(folder))
        x, y = np.load(prepared / "x.npy"), np.load(prepared / "y.npy")
    typo = int(x[:, -1].argmax())  # z is the last column
    order = np.random.default_rng(0).permutation(np.delete(np.arange(len(y)), typo))
    train, new = order[:trained], np.append(order[trained : trained + others], typo)
    low, high = x[train].min(axis=0), x[train].max(axis=0)
    outside = ((x[new[:-1]] < low) | (x[new[:-1]] > high)).any(axis=1)
    models: dict[str, dict[str, Any]] = {
        "one network of QRT, b = 0.1, as it is": {"method": "QRTC", "bandwidth": 0.1},
        "default, not drawn back": {},
        "default": {},
    }
    lines = [
        (
            "",
            "90 % interval of the row",
            "its log score",
            f"NLL of the {outside.sum()} other rows outside",
            "NLL of all",
        )
    ]
    for name, parameters in models.items():
        model = QRTRegressor(random_state=0, **parameters, **dict(settings or {})).fit(x[train], y[train])
        if name.endswith("not drawn back"):
            model.model_ = replace(model.model_, squashes=False)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*far outside", category=UserWarning)
            distribution = model.predict_distribution(x[new])
        scores, (lower, upper) = distribution.log_score(y[new]), distribution[-1].interval(0.9)[0]
        rest = f"{scores[:-1][outside].mean():.1f}" if outside.any() else "none"
        lines.append((name, f"{lower:.2f} to {upper:.2f}", f"{scores[-1]:.1f}", rest, f"{scores.mean():.3f}"))
    return (
        f"diamonds, {trained:,} training rows (largest z {high[-1]:.2f}) and {len(new):,} others, among them the one "
        f"with z = {x[typo, -1]:.1f}, whose target is {y[typo]:.2f}.\n\n{markdown_table(*lines)}"
    )


TABLES: dict[str, Callable[[], str]] = {"times": times_table, "folds": folds_table, "far": far_table}
