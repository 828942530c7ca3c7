"""Tuning: from all runs to one row per named method, dataset, split and seed (docs/protocol.md, section 5)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from qrt.results.tables import METHODS
from qrt.study.experiments import Experiment, Method
from qrt.study.family import CONDITIONS
from qrt.study.protocol import FIXED_BANDWIDTH, Protocol

_PLACE = ["dataset", "seed"]
CRPS_LIMIT = 1.1  # lambda may cost at most this factor of the validation CRPS of lambda = 0


def tuned_methods(runs: pd.DataFrame, experiment: Experiment, protocol: Protocol) -> pd.DataFrame:
    """One row per method of the experiment, dataset, split and seed, with the columns of METHODS.

    Datasets for which some network of a method was never trained are left out. A choice is made per dataset and seed
    over all splits: each seed is a study of its own. Candidates with a run that is not ok are not chosen while there is
    another; ties go to the smaller bandwidth and the smaller lambda.
    """
    return Tuning(runs).methods(experiment, protocol)


class Tuning:
    """The tuning of methods on the same runs, under one protocol after the other: nothing is chosen twice."""

    def __init__(self, runs: pd.DataFrame) -> None:
        self._runs = runs
        self._rows_of_network = runs.groupby("variant", sort=False).indices
        told = runs[list(CONDITIONS)].notna().groupby(runs["variant"], sort=False).any()
        self._conditions = {str(name): told.columns[row] for name, row in zip(told.index, told.to_numpy(), strict=True)}
        self._tuned: dict[Hashable, pd.DataFrame] = {}

    def methods(self, experiment: Experiment, protocol: Protocol) -> pd.DataFrame:
        """The tuned methods of an experiment, as `tuned_methods` has them."""
        columns = list(METHODS)
        parts = []
        for method in experiment.methods:
            tuned = self._method(method, protocol)
            parts.append(tuned.assign(experiment=experiment.name, method=method.name)[columns])
        found = [part for part in parts if len(part)]
        return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=columns)

    def _method(self, method: Method, protocol: Protocol) -> pd.DataFrame:
        names = [network.id for network in method.networks if network.id in self._rows_of_network]
        key = self._decisive(method, protocol, names)
        if key not in self._tuned:
            of_networks = np.concatenate([np.array([], dtype=int), *(self._rows_of_network[name] for name in names)])
            self._tuned[key] = _tuned(self._runs.iloc[np.sort(of_networks)], method, protocol)
        return self._tuned[key]

    def _decisive(self, method: Method, protocol: Protocol, names: Iterable[str]) -> Hashable:
        """What the tuning of a method depends on: its networks, what is built on them, the switches that matter."""
        switches = {"posthoc_on", "posthoc_bandwidth"}.union(*(self._conditions[name] for name in names))
        if len(method.networks) > 1:
            switches |= {"metric_rows", "pce", "regularisation_choice"}
        settings = tuple((name, getattr(protocol, name)) for name in sorted(switches))
        return method.networks, method.posthoc, method.built_on, settings


def _tuned(of_method: pd.DataFrame, method: Method, protocol: Protocol) -> pd.DataFrame:
    """The rows of the network that is chosen on each dataset and seed, from all rows of the method's networks."""
    rows = _as_the_protocol_has_it(of_method, method, protocol)
    place_of_row = rows.groupby(_PLACE, sort=False).ngroup().to_numpy()
    wanted = {network.id for network in method.networks}
    chosen = [
        _choose(candidates, protocol) if wanted == {one.variant for one in candidates} else None
        for candidates in _candidates(rows, protocol)
    ]  # a choice among part of the grid would be another method
    variants = np.array([choice.variant if choice else "" for choice in chosen], dtype=object)[place_of_row]
    order = np.lexsort((rows["split"].to_numpy(), place_of_row))
    order = order[(rows["variant"].to_numpy(dtype=object) == variants)[order]]
    ours = [choice for choice in (chosen[place] for place in place_of_row[order]) if choice]
    several_lambdas = len({network.alpha for network in method.networks}) > 1
    return rows.iloc[order].assign(
        chosen_bandwidth=np.array([choice.bandwidth for choice in ours], dtype=float),
        chosen_lambda=np.array([abs(choice.alpha) if several_lambdas else np.nan for choice in ours], dtype=float),
    )


def _as_the_protocol_has_it(of_method: pd.DataFrame, method: Method, protocol: Protocol) -> pd.DataFrame:
    """The rows as the protocol has them: trained, built on, post-hoc map and its bandwidth."""
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


class _Candidate(NamedTuple):
    """A network that may be chosen on one dataset: whether all its runs are ok, and its metrics over the splits."""

    variant: str
    alpha: float
    bandwidth: float
    complete: bool
    nll: float
    pce: float
    crps: float


def _candidates(rows: pd.DataFrame, protocol: Protocol) -> list[list[_Candidate]]:
    """The candidates of each dataset and seed, in the order in which the rows have them."""
    batched = "_batched" if protocol.metric_rows == "batches" else ""  # row 12
    metrics = [f"{name}{batched}" for name in ("val_nll", f"val_pce_{protocol.pce}", "val_crps_wis")]
    keys = [*_PLACE, "variant"]
    grouped = rows[[*keys, "alpha", "bandwidth", *metrics]].assign(ok=rows["status"] == "ok").groupby(keys, sort=False)
    first, means, complete = grouped[["alpha", "bandwidth"]].first(), grouped[metrics].mean(), grouped["ok"].all()
    by_place: dict[Hashable, list[_Candidate]] = {}
    for (*place, variant), *values in zip(
        first.index, first["alpha"], first["bandwidth"], complete, *(means[name] for name in metrics), strict=True
    ):
        by_place.setdefault(tuple(place), []).append(_Candidate(variant, *values))
    return list(by_place.values())


def _choose(candidates: Sequence[_Candidate], protocol: Protocol) -> _Candidate:
    """The chosen network of one dataset: the best bandwidth of the weight with the lowest PCE within the limit."""
    usable = [one for one in candidates if one.complete] or candidates
    by_bandwidth = sorted(usable, key=lambda one: (*_low(one.nll), *_low(one.bandwidth)))
    best: dict[float, _Candidate] = {}  # of each weight
    for one in by_bandwidth:
        best.setdefault(one.alpha, one)
    among = best.values() if protocol.regularisation_choice == "bandwidth_first" else by_bandwidth  # row 17
    limit = CRPS_LIMIT * best[0.0].crps if 0.0 in best else np.nan  # of the CRPS of lambda = 0
    allowed = [one for one in among if one.crps <= limit] if np.isfinite(limit) and len(best) > 1 else among
    return best[min(allowed, key=lambda one: (*_low(one.pce), abs(one.alpha))).alpha]


def _low(value: float) -> tuple[bool, float]:
    """What to sort by so that the lowest value comes first and a missing one last."""
    return (True, 0.0) if np.isnan(value) else (False, value)


def left_out(methods: pd.DataFrame) -> Sequence[str]:
    """One line per dataset and reason for which a method has no result."""
    failed = methods[methods["status"] != "ok"]
    counts = failed.groupby(["experiment", "method", "dataset", "status", "reason"], sort=False, dropna=False).size()
    return [
        f"{experiment} {method} on {dataset}: {status} in {count} split(s): {reason}"
        for (experiment, method, dataset, status, reason), count in counts.items()
    ]
