"""What gain it is, and for whom it is calibrated: the scores of predictions as runs that methods are compared by.

Extensions of the replication: the paper has no such numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from qrt_study.plan.protocol import Protocol
from qrt_study.statistics.columns import INTERVALS, WAYS
from qrt_study.statistics.metrics import figure_metrics

EXPERIMENT = "main"  # under which all methods are compared
ORDER = ("BASE", "BASE-TRAIN", "QRC", "QREGC", "QRT", "QRTC")
NOMINAL = 0.9
SIZES = ((0, "below 600 rows"), (600, "600 to 10,000 rows"), (10_000, "above 10,000 rows"))
# Label -> column of the scores without `test_`; lower is better. A metric is the sum of its refined part and of its
# miscalibration.
GAIN_METRICS = {
    "NLL": "nll",
    "refined NLL": "nll_refined",
    "NLL to calibrate": "nll_map_gain",
    "CRPS": "crps",
    "refined CRPS": "crps_refined",
    "CRPS to calibrate": "crps_miscalibration",
}
COVERAGE_METRICS = {
    "coverage error": "coverage_error",
    "interval score": "interval_score_90",
    "error by spread": "coverage_gap",
    "worst slab": "slab_shortfall",
    "excess risk": "excess_risk",
    "PCE": "pce",
}
_WAYS = {
    ("BASE", "base", "none"): "BASE: F",
    ("QRC", "base", "none"): "QRC's network: F",
    ("QRC", "base", "REFL"): "QRC's network: post-hoc map on F",
    ("QRTC", "base", "none"): "QRTC's network: F",
    ("QRTC", "base", "REFL"): "QRTC's network: post-hoc map on F (paper)",
    ("QRTC", "training_map", "none"): "QRTC's network: training-time map on F",
    ("QRTC", "training_map", "REFL"): "QRTC's network: post-hoc map on the training-time map (released)",
}


def runs_of_scores(scores: pd.DataFrame, conditional: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    """The scores of the tuned methods as a table that `compare` takes, with what is to be compared besides."""
    tuned = scores[scores["as_tuned"] == 1].drop(columns=["posthoc_on", "posthoc_map"])
    place = ["dataset", "split", "method"]
    runs = tuned.merge(conditional.drop(columns=["seed", "status"]), on=place, how="left", validate="one_to_one")
    return runs.assign(experiment=EXPERIMENT, reason="", **_derived(runs, protocol))


def _derived(runs: pd.DataFrame, protocol: Protocol) -> dict[str, pd.Series]:
    pce = figure_metrics(protocol)["PCE"]
    return {
        "test_crps_refined": runs["test_crps"] - runs["test_crps_miscalibration"],
        "test_coverage_error": (runs["test_coverage_90"] - NOMINAL).abs(),
        "test_slab_shortfall": NOMINAL - runs["test_worst_slab"],
        "test_pce": runs[f"test_{pce}"],
        # The batches of row 12 make no difference to what is expected below 512 rows, and little above.
        "pce_calibrated": runs[f"{pce.removesuffix('_batched')}_calibrated"],
    }


def intervals_table(runs: pd.DataFrame, baseline: str, rows_of: Mapping[str, float]) -> pd.DataFrame:
    """INTERVALS: coverage and length of the methods' intervals, and what a calibrated model would show."""
    plain = {
        "coverage": "test_coverage_90",
        **{name: f"test_{name}" for name in INTERVALS if f"test_{name}" in runs},
        "pce_calibrated": "pce_calibrated",
    }
    means = _means(runs[runs["status"] == "ok"], ["method"], ["test_length_90", *plain.values()])
    lengths = means["test_length_90"].unstack("method")
    relative = np.log(lengths.div(lengths[baseline], axis=0)).stack() if baseline in lengths else pd.Series(dtype=float)
    means["relative_length"] = relative.reindex(means.index)
    found = []
    for size, chosen in _by_size(means, rows_of):
        for method in (name for name in ORDER if name in chosen.index.get_level_values("method")):
            of_method = chosen.xs(method, level="method")
            values = {name: of_method[column].mean() for name, column in plain.items()}
            values["relative_length"] = float(np.exp(of_method["relative_length"].mean()))
            found.append({"size": size, "method": method, "datasets": len(of_method)} | values)
    return pd.DataFrame(found, columns=list(INTERVALS))


def ways_table(scores: pd.DataFrame, protocol: Protocol, rows_of: Mapping[str, float]) -> pd.DataFrame:
    """WAYS: what F is like, and what one map or two do to it."""
    metrics = figure_metrics(protocol)
    columns = {
        "pit_variance": "test_pit_variance",
        "coverage": "test_coverage_90",
        "pce": f"test_{metrics['PCE']}",
        "nll": f"test_{metrics['NLL']}",
    }
    keys = list(zip(scores["method"], scores["posthoc_on"], scores["posthoc_map"], strict=True))
    named = scores.assign(way=[_WAYS.get(key, "") for key in keys])
    named = named[(named["way"] != "") & (named["status"] == "ok")]
    means = _means(named, ["way"], list(columns.values()))
    means["test_pit_variance"] *= 12
    found = []
    for size, chosen in _by_size(means, rows_of):
        averages = chosen.groupby("way", sort=False)[list(columns.values())].mean()
        counts = chosen.groupby("way", sort=False).size()
        for way in (way for way in _WAYS.values() if way in counts.index):
            values = {name: averages.loc[way, column] for name, column in columns.items()}
            found.append({"size": size, "way": way, "datasets": int(counts[way])} | values)
    return pd.DataFrame(found, columns=list(WAYS))


def _means(rows: pd.DataFrame, by: list[str], columns: list[str]) -> pd.DataFrame:
    """Means over splits, of the datasets that have all of them: by dataset and `by`."""
    means = rows.groupby(["dataset", *by], sort=False)[columns].mean()
    counts = means.groupby("dataset", sort=False).size()
    whole = counts[counts == counts.max()].index
    return means[means.index.get_level_values("dataset").isin(whole)]


def _by_size(means: pd.DataFrame, rows_of: Mapping[str, float]) -> list[tuple[str, pd.DataFrame]]:
    """The rows of all datasets, then of those of each size that there is."""
    rows = means.index.get_level_values("dataset").map(lambda dataset: rows_of.get(dataset, np.nan)).to_numpy(float)
    ends = [low for low, _ in SIZES[1:]] + [np.inf]
    parts = [("all", means)]
    parts += [(name, means[(rows >= low) & (rows < end)]) for (low, name), end in zip(SIZES, ends, strict=True)]
    return [(name, part) for name, part in parts if len(part)]
