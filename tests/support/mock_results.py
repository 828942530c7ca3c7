"""Hand-made tables of methods, for the tests of statistics, figures and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from qrt.engine.registry import METRICS
from qrt_study.data.sheet import paper_datasets
from qrt_study.results.tables import METHODS

# A method's effect on its metrics, in standard deviations of a run: one for all, or one for each metric (suffix).
Effect = float | Mapping[str, float]

_ALPHAS = (-5, -1, -0.5, -0.1, -0.05, -0.01, 0, 0.1, 0.5, 1, 2, 5)
_BANDWIDTHS = (0.02, 0.05, 0.1, 0.2, 0.5, 1)
_MAIN = ("BASE", "QRC", "QRT", "QRTC", "QRT-F")
_REGULARISED = ("QREGC", "QREG")
PAPER_METHODS: dict[str, tuple[str, ...]] = {
    "main": _MAIN,
    "regularised": _REGULARISED,
    "base_train": ("BASE-TRAIN",),
    "ablation": ("QRIC", "QRGC", "QRLC"),
    "map_size": tuple(f"QRTC-{size}" for size in (8, 32, 128, 512, 2048)),
    "bandwidth": ("QRTC tuned", *(f"QRTC b={bandwidth:g}" for bandwidth in _BANDWIDTHS)),
    "alpha": tuple(f"alpha={alpha:g}" for alpha in _ALPHAS),
    "posthoc_map": ("QRTC-KDE", "QRTC-TRUNC"),
    **{f"main_{model}": _MAIN for model in ("mlp_1", "mlp_10", "resnet_3")},
    **{f"regularised_{model}": _REGULARISED for model in ("mlp_1", "mlp_10", "resnet_3")},
}
EXTENSIONS: dict[str, tuple[str, ...]] = {"stopping": ("QRC-STOP",)}  # experiments of our own

# As the paper finds them: recalibrated methods below BASE, QRTC lowest, F of QRT highest; the others near QRTC.
_PAPER_EFFECTS = {
    "BASE": 0.0,
    "BASE-TRAIN": 0.2,
    "QRC": -0.5,
    "QREGC": -0.6,
    "QREG": 0.1,
    "QRT": -0.8,
    "QRTC": -1.5,
    "QRT-F": 1.0,
}


def paper_names(n: int = 57) -> list[str]:
    """The first n datasets of the paper."""
    return list(paper_datasets())[:n]


def mock_discreteness(datasets: Sequence[str]) -> dict[str, float]:
    """The published top-10 share of datasets of the paper; 0.1 for all others."""
    published = paper_datasets()
    return {name: published[name].published.top10 if name in published else 0.1 for name in datasets}


def mock_methods(
    datasets: Sequence[str], methods: Mapping[tuple[str, str], Effect], splits: int = 5, seed: int = 0
) -> pd.DataFrame:
    """A table of methods, all runs ok: (experiment, method) -> effect, in standard deviations of a run.

    A metric's level and scale belong to the dataset; half of a run's variance is the split's, common to all methods.
    An effect below zero makes all metrics but the coverage lower, which is better.
    """
    generator = np.random.default_rng(seed)
    names = list(METRICS)
    # (method, dataset, split, metric)
    effects = np.array([_effects(effect, names) for effect in methods.values()]).reshape(-1, 1, 1, len(names))
    common = generator.standard_normal((1, len(datasets), splits, len(names)))
    unit = 10.0 ** generator.uniform(-2, 4, (1, len(datasets), 1))  # of the dataset's target
    scale = generator.uniform(0.02, 0.1, (len(names), *unit.shape))
    metrics = {}
    for part in ("test", "val", "train"):
        own = generator.standard_normal((len(methods), len(datasets), splits, len(names)))
        shift = (common + own) / np.sqrt(2) + effects
        for number, name in enumerate(names):
            metrics[f"{part}_{name}"] = _plausible(name, shift[..., number], unit, scale[number]).ravel()
    keys = pd.MultiIndex.from_product([range(len(methods)), datasets, range(splits)]).to_frame(index=False)
    keys.columns = pd.Index(["number", "dataset", "split"])
    facts = pd.DataFrame([_facts(experiment, method) for experiment, method in methods])
    frame = pd.concat([facts.loc[keys.pop("number")].reset_index(drop=True), keys], axis=1).assign(**metrics)
    frame["variant"] = frame["experiment"] + "." + frame["method"]
    # By way of Arrow, so that the types are those of a table that was read from a file.
    schema = pa.schema([(name, kind) for name, (kind, _) in METHODS.items()])
    return pa.Table.from_pandas(frame.reindex(columns=list(METHODS)), schema=schema, preserve_index=False).to_pandas()


def mock_main_study(
    datasets: Sequence[str],
    effects: Mapping[tuple[str, str], Effect] | None = None,
    splits: int = 5,
    seed: int = 0,
    experiments: Mapping[str, Sequence[str]] = PAPER_METHODS | EXTENSIONS,
) -> pd.DataFrame:
    """All experiments and methods; `effects` replaces single effects, the others are as in the paper."""
    methods: dict[tuple[str, str], Effect] = {
        (experiment, method): _PAPER_EFFECTS.get(method, -1.0)
        for experiment, names in experiments.items()
        for method in names
    }
    return mock_methods(datasets, methods | dict(effects or {}), splits, seed)


def _effects(effect: Effect, names: Sequence[str]) -> list[float]:
    return [effect.get(name, 0.0) if isinstance(effect, Mapping) else effect for name in names]


def _plausible(metric: str, shift: np.ndarray, unit: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Values of a metric from standardised ones; `unit` and `scale` belong to the datasets."""
    if metric == "nll":
        return 1 + np.log(unit) + 2 * scale * shift
    if metric == "coverage_90":
        return 0.9 + 0.03 * np.tanh(shift)
    level = 0.04 if metric.startswith("pce") else 1 / 12 if metric == "pit_variance" else unit
    return level * np.exp(scale * shift)


def _facts(experiment: str, method: str) -> dict[str, object]:
    """The columns of METHODS that do not depend on dataset and split."""
    with_map = method not in ("BASE", "BASE-TRAIN", "QRC", "alpha=0")
    regularised = method.startswith("QREG")
    resnet = "resnet" in experiment
    alpha = float(method.removeprefix("alpha=")) if method.startswith("alpha=") else -0.05 if regularised else 1.0
    posthoc = "none" if method in ("BASE", "BASE-TRAIN", "QRT", "QRT-F", "QREG") else "REFL"
    return {
        "experiment": experiment,
        "method": method,
        "chosen_bandwidth": 0.1 if with_map else np.nan,
        "chosen_lambda": 0.05 if regularised else np.nan,
        "family": "mock",
        "base_model": "resnet" if resnet else "mlp",
        "components": 10 if "mlp_10" in experiment else 1 if "mlp_1" in experiment else 3,
        "trained_on": "train+calibration" if method == "BASE" else "train",
        "alpha": alpha if with_map else 0.0,
        "bandwidth": 0.1 if with_map else np.nan,
        "map_size": int(method.removeprefix("QRTC-")) if experiment == "map_size" else None,
        "ablation": method.removesuffix("C") if experiment == "ablation" else None,
        "kernel_width": "variance" if with_map else None,
        "resnet_form": "paper" if resnet else None,
        "posthoc_map": {"QRTC-KDE": "KDE", "QRTC-TRUNC": "TRUNC"}.get(method, posthoc),
        "posthoc_on": "base",
        "posthoc_bandwidth": np.nan if posthoc == "none" else 0.1,
        "status": "ok",
        "reason": "",
        "epochs": 100,
        "selected_epoch": 70,
        "train_seconds": 10.0,
    }
