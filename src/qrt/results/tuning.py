"""Tuning: from all runs to one row per named method, dataset and split (spec, section 5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from qrt.results.tables import METHODS
from qrt.study.experiments import Experiment, Method
from qrt.study.family import FIXED_BANDWIDTH, RESNET_FORMS
from qrt.study.protocol import Protocol

CRPS_LIMIT = 1.1  # lambda may cost at most this factor of the validation CRPS of lambda = 0


def tuned_methods(runs: pd.DataFrame, experiment: Experiment, protocol: Protocol) -> pd.DataFrame:
    """One row per method of the experiment, dataset and split, with the columns of METHODS.

    A choice is made per dataset over all its splits. Candidates with a run that is not ok are not chosen while there is
    another; ties go to the smaller bandwidth and the smaller lambda.
    """
    parts = []
    for method in experiment.methods:
        read = _reading(runs, method, protocol)
        candidates = _candidates(read, protocol)
        for dataset, of_dataset in read.groupby("dataset", sort=False):
            chosen = _choose(candidates.loc[dataset], method)
            rows = of_dataset[of_dataset["variant"] == chosen["variant"]].sort_values("split", kind="stable")
            parts.append(rows.assign(experiment=experiment.name, method=method.name, **chosen))
    columns = list(METHODS)
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def _reading(runs: pd.DataFrame, method: Method, protocol: Protocol) -> pd.DataFrame:
    """The rows of the method's networks in the protocol's reading: post-hoc map, what it stands on, its bandwidth."""
    of_method = runs[runs["variant"].isin([network.id for network in method.networks])]
    failed = of_method["test_nll"].isna() & (of_method["status"] != "ok")
    without_map = of_method["alpha"] == 0
    stands_on = "base" if method.reading == "base" else protocol.posthoc_on
    right_base = np.where(without_map, "base", stands_on) == of_method["posthoc_on"]
    right_form = of_method["resnet_form"].isna() | (of_method["resnet_form"] == RESNET_FORMS[protocol.resnet])
    right_width = of_method["kernel_width"].isna() | (of_method["kernel_width"] == protocol.kernel_width)
    right_map = of_method["posthoc_map"] == method.posthoc
    if method.posthoc != "none":
        tuned = (
            FIXED_BANDWIDTH if protocol.posthoc_bandwidth == "fixed" else of_method["bandwidth"].fillna(FIXED_BANDWIDTH)
        )
        right_map &= np.isclose(of_method["posthoc_bandwidth"], tuned)
    return of_method[right_form & right_width & (failed | (right_base & right_map))]


def _candidates(runs: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    """One row per dataset and network: what it is, whether all its runs are ok, its metrics over splits."""
    metrics = {"nll": "val_nll", "pce": f"val_pce_{protocol.pce}", "crps": "val_crps_wis"}
    return (
        runs.assign(ok=runs["status"] == "ok")
        .groupby(["dataset", "variant"], sort=False)
        .agg(
            alpha=("alpha", "first"),
            bandwidth=("bandwidth", "first"),
            complete=("ok", "all"),
            **{name: (column, "mean") for name, column in metrics.items()},
        )
    )


def _choose(candidates: pd.DataFrame, method: Method) -> dict[str, object]:
    """The chosen network of one dataset: its id, bandwidth and lambda (NaN where there was nothing to choose)."""
    usable = candidates[candidates["complete"]] if candidates["complete"].any() else candidates
    by_bandwidth = usable.sort_values(["nll", "bandwidth"], na_position="last", kind="stable")
    best = by_bandwidth.reset_index().groupby("alpha", sort=False).head(1).set_index("alpha")
    alpha = _chosen_alpha(best)
    several_lambdas = len({network.alpha for network in method.networks}) > 1
    return {
        "variant": best.loc[alpha, "variant"],
        "chosen_bandwidth": best.loc[alpha, "bandwidth"],
        "chosen_lambda": abs(alpha) if several_lambdas else np.nan,
    }


def _chosen_alpha(best: pd.DataFrame) -> float:
    """The weight with the lowest validation PCE among those within the CRPS limit of lambda = 0."""
    if len(best) == 1:
        return float(best.index[0])
    allowed = best
    if 0.0 in best.index and np.isfinite(best.loc[0.0, "crps"]):
        allowed = best[best["crps"] <= CRPS_LIMIT * best.loc[0.0, "crps"]]
    ordered = allowed.assign(strength=np.abs(allowed.index)).sort_values(["pce", "strength"], kind="stable")
    return float(ordered.index[0])


def left_out(methods: pd.DataFrame) -> Sequence[str]:
    """One line per dataset and reason for which a method has no result."""
    failed = methods[methods["status"] != "ok"]
    counts = failed.groupby(["experiment", "method", "dataset", "status", "reason"], sort=False, dropna=False).size()
    return [
        f"{experiment} {method} on {dataset}: {status} in {count} split(s): {reason}"
        for (experiment, method, dataset, status, reason), count in counts.items()
    ]
