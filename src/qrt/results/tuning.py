"""Tuning: from all runs to one row per named method, dataset, split and seed (docs/protocol.md, section 5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from qrt.results.tables import METHODS
from qrt.study.experiments import Experiment, Method
from qrt.study.family import CONDITIONS
from qrt.study.protocol import FIXED_BANDWIDTH, Protocol

CRPS_LIMIT = 1.1  # lambda may cost at most this factor of the validation CRPS of lambda = 0


def tuned_methods(runs: pd.DataFrame, experiment: Experiment, protocol: Protocol) -> pd.DataFrame:
    """One row per method of the experiment, dataset, split and seed, with the columns of METHODS.

    Datasets for which some network of a method was never trained are left out. A choice is made per dataset and seed
    over all splits: each seed is a study of its own. Candidates with a run that is not ok are not chosen while there is
    another; ties go to the smaller bandwidth and the smaller lambda.
    """
    parts = []
    for method in experiment.methods:
        rows = _rows_of(runs, method, protocol)
        candidates = dict(list(_candidates(rows, protocol).groupby(["dataset", "seed"], sort=False)))
        wanted = {network.id for network in method.networks}
        for place, here in rows.groupby(["dataset", "seed"], sort=False):
            if not wanted <= set(here["variant"]):
                continue  # a choice among part of the grid would be another method
            chosen = _choose(candidates[place], method, protocol)
            of_chosen = here[here["variant"] == chosen["variant"]].sort_values("split", kind="stable")
            parts.append(of_chosen.assign(experiment=experiment.name, method=method.name, **chosen))
    columns = list(METHODS)
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def _rows_of(runs: pd.DataFrame, method: Method, protocol: Protocol) -> pd.DataFrame:
    """The rows of the method's networks as the protocol has them: trained, built on, post-hoc map and its bandwidth."""
    of_method = runs[runs["variant"].isin([network.id for network in method.networks])]
    failed = of_method["test_nll"].isna() & (of_method["status"] != "ok")
    without_map = of_method["alpha"] == 0
    built_on = protocol.posthoc_on if method.built_on == "protocol" else method.built_on
    right_base = np.where(without_map, "base", built_on) == of_method["posthoc_on"]
    right_conditions = np.ones(len(of_method), dtype=bool)
    for switch in CONDITIONS:
        right_conditions &= of_method[switch].isna() | (of_method[switch] == getattr(protocol, switch))
    right_map = of_method["posthoc_map"] == method.posthoc
    if method.posthoc != "none":
        tuned = (
            FIXED_BANDWIDTH if protocol.posthoc_bandwidth == "fixed" else of_method["bandwidth"].fillna(FIXED_BANDWIDTH)
        )
        right_map &= np.isclose(of_method["posthoc_bandwidth"], tuned)
    return of_method[right_conditions & (failed | (right_base & right_map))]


def _candidates(runs: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    """One row per dataset, seed and network: what it is, whether all its runs are ok, its metrics over splits."""
    batched = "_batched" if protocol.metric_rows == "batches" else ""  # row 12
    metrics = {"nll": "val_nll", "pce": f"val_pce_{protocol.pce}", "crps": "val_crps_wis"}
    return (
        runs.assign(ok=runs["status"] == "ok")
        .groupby(["dataset", "seed", "variant"], sort=False)
        .agg(
            alpha=("alpha", "first"),
            bandwidth=("bandwidth", "first"),
            complete=("ok", "all"),
            **{name: (column + batched, "mean") for name, column in metrics.items()},
        )
    )


def _choose(candidates: pd.DataFrame, method: Method, protocol: Protocol) -> dict[str, object]:
    """The chosen network of one dataset: its id, bandwidth and lambda (NaN where there was nothing to choose)."""
    usable = candidates[candidates["complete"]] if candidates["complete"].any() else candidates
    by_bandwidth = usable.sort_values(["nll", "bandwidth"], na_position="last", kind="stable").reset_index()
    best = by_bandwidth.groupby("alpha", sort=False).head(1).set_index("alpha")
    among = best if protocol.regularisation_choice == "bandwidth_first" else by_bandwidth.set_index("alpha")  # row 17
    alpha = _chosen_alpha(among, float(best["crps"].get(0.0, np.nan)))
    several_lambdas = len({network.alpha for network in method.networks}) > 1
    return {
        "variant": best.loc[alpha, "variant"],
        "chosen_bandwidth": best.loc[alpha, "bandwidth"],
        "chosen_lambda": abs(alpha) if several_lambdas else np.nan,
    }


def _chosen_alpha(candidates: pd.DataFrame, reference: float) -> float:
    """The weight with the lowest validation PCE among those within the limit of `reference`, the CRPS of lambda = 0."""
    if candidates.index.nunique() == 1:
        return float(candidates.index[0])
    allowed = candidates[candidates["crps"] <= CRPS_LIMIT * reference] if np.isfinite(reference) else candidates
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
