"""Tuning: from all runs to one row per named method, dataset, split and seed (docs/protocol.md, section 5)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from qrt.methods import FIXED_BANDWIDTH, Method
from qrt.tuning import Candidate, choose
from qrt_study.plan.experiments import Experiment
from qrt_study.plan.family import CONDITIONS
from qrt_study.plan.protocol import Protocol
from qrt_study.results.tables import METHODS

Rows = npt.NDArray[np.intp]  # positions in the table of runs


def tuned_methods(runs: pd.DataFrame, experiment: Experiment, protocol: Protocol) -> pd.DataFrame:
    """One row per method of the experiment, dataset, split and seed, with the columns of METHODS.

    Datasets for which some network of a method was never trained are left out. A choice is made per dataset and seed
    over all splits: each seed is a study of its own. Candidates with a run that is not ok are not chosen while there is
    another; ties go to the smaller bandwidth and the smaller lambda.
    """
    return Tuning(runs).methods(experiment, protocol)


def tuned(runs: pd.DataFrame, experiments: Sequence[Experiment], protocol: Protocol) -> pd.DataFrame:
    """The tuned methods of several experiments, one after the other."""
    tuning = Tuning(runs)
    found = [tuning.methods(one, protocol) for one in experiments]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=list(METHODS))


class Tuning:
    """The tuning of methods on the same runs, under one protocol after the other: nothing is chosen twice."""

    def __init__(self, runs: pd.DataFrame) -> None:
        self._runs = runs
        networks = runs.groupby("variant", sort=False)
        self._rows_of_network = networks.indices
        self._network = networks.ngroup().to_numpy()
        self._place = runs.groupby(["dataset", "seed"], sort=False).ngroup().to_numpy()
        self._ok = (runs["status"] == "ok").to_numpy(dtype=bool)
        self._failed = runs["test_nll"].isna().to_numpy() & ~self._ok
        self._without_condition = {name: runs[name].isna().to_numpy() for name in CONDITIONS}
        self._texts = {name: _Texts.of(runs[name]) for name in (*CONDITIONS, "posthoc_on", "posthoc_map")}
        numbers = ["alpha", "bandwidth", "posthoc_bandwidth", *(name for name in runs if name.startswith("val_"))]
        self._numbers = {name: runs[name].to_numpy(float) for name in numbers}
        self._split = runs["split"].to_numpy()
        self._chosen: dict[Hashable, _Chosen] = {}

    def methods(self, experiment: Experiment, protocol: Protocol) -> pd.DataFrame:
        """The tuned methods of an experiment, as `tuned_methods` has them."""
        columns = list(METHODS)
        chosen = [self._choice(method, protocol) for method in experiment.methods]
        names = [method.name for method, part in zip(experiment.methods, chosen, strict=True) for _ in part.rows]
        if not names:
            return pd.DataFrame(columns=columns)
        rows = self._runs.iloc[np.concatenate([part.rows for part in chosen])]
        tuned = rows.assign(
            experiment=experiment.name,
            method=names,
            chosen_bandwidth=np.concatenate([part.bandwidth for part in chosen]),
            chosen_lambda=np.concatenate([part.strength for part in chosen]),
        )
        return tuned[columns].reset_index(drop=True)

    def _choice(self, method: Method, protocol: Protocol) -> _Chosen:
        found = [self._rows_of_network.get(network.id, np.array([], dtype=int)) for network in method.networks]
        rows = np.sort(np.concatenate(found))
        key = self._decisive(method, protocol, rows)
        if key not in self._chosen:
            self._chosen[key] = self._choose_from(rows, method, protocol)
        return self._chosen[key]

    def _decisive(self, method: Method, protocol: Protocol, rows: Rows) -> Hashable:
        """What the choices depend on: the networks, what is built on them, and the switches that matter."""
        switches = ["posthoc_on", "posthoc_bandwidth"]
        switches += [name for name, missing in self._without_condition.items() if not missing[rows].all()]
        if len(method.networks) > 1:
            switches += ["metric_rows", "pce", "regularisation_choice"]
        settings = tuple((name, getattr(protocol, name)) for name in switches)
        return method.networks, method.posthoc, method.built_on, settings

    def _choose_from(self, rows: Rows, method: Method, protocol: Protocol) -> _Chosen:
        """The choice on each dataset and seed, from all rows of the method's networks."""
        rows = rows[self._as_the_protocol_has_it(rows, method, protocol)]
        several_lambdas = len({network.alpha for network in method.networks}) > 1
        parts = []
        for place, candidates in self._candidates(rows, protocol).items():
            if len(candidates) < len(set(method.networks)):
                continue  # a choice among part of the grid would be another method
            choice = choose(candidates, lambda_over_pairs=protocol.regularisation_choice == "pairs")
            ours = rows[(self._place[rows] == place) & (self._network[rows] == choice.number)]
            ours = ours[np.argsort(self._split[ours], kind="stable")]
            strength = abs(choice.alpha) if several_lambdas else np.nan
            parts.append(_Chosen(ours, np.full(len(ours), choice.bandwidth), np.full(len(ours), strength)))
        nothing = _Chosen(np.array([], dtype=int), np.array([]), np.array([]))
        return _Chosen(*map(np.concatenate, zip(nothing, *parts, strict=True)))

    def _as_the_protocol_has_it(self, rows: Rows, method: Method, protocol: Protocol) -> npt.NDArray[np.bool_]:
        """Which rows are as the protocol has them: trained, built on, post-hoc map and its bandwidth."""
        right_conditions = np.ones(len(rows), dtype=bool)
        for switch, missing in self._without_condition.items():
            right_conditions &= missing[rows] | self._texts[switch].equal(rows, getattr(protocol, switch))
        built_on = protocol.posthoc_on if method.built_on == "protocol" else method.built_on
        without_map = self._numbers["alpha"][rows] == 0
        on = self._texts["posthoc_on"]
        right_base = np.where(without_map, on.equal(rows, "base"), on.equal(rows, built_on))
        right_map = self._texts["posthoc_map"].equal(rows, method.posthoc)
        if method.posthoc != "none":
            own = self._numbers["bandwidth"][rows]
            fixed = np.isnan(own) | (protocol.posthoc_bandwidth == "fixed")
            tuned = np.where(fixed, FIXED_BANDWIDTH, own)
            right_map &= np.isclose(self._numbers["posthoc_bandwidth"][rows], tuned)
        return right_conditions & (self._failed[rows] | (right_base & right_map))

    def _candidates(self, rows: Rows, protocol: Protocol) -> dict[int, list[Candidate]]:
        """The candidates of each dataset and seed, in the order in which the rows have them."""
        batched = "_batched" if protocol.metric_rows == "batches" else ""  # row 12
        metrics = [f"{name}{batched}" for name in ("val_nll", f"val_pce_{protocol.pce}", "val_crps_wis")]
        codes = self._place[rows] * len(self._rows_of_network) + self._network[rows]
        values = {"code": codes, "ok": self._ok[rows]} | {name: self._numbers[name][rows] for name in metrics}
        means = pd.DataFrame(values).groupby("code", sort=False).mean()
        _, first = np.unique(codes, return_index=True)
        candidates: dict[int, list[Candidate]] = {}
        for row, (ok, nll, pce, crps) in zip(rows[np.sort(first)], means.to_numpy(), strict=True):
            alpha, bandwidth = self._numbers["alpha"][row], self._numbers["bandwidth"][row]
            candidate = Candidate(self._network[row], alpha, bandwidth, ok == 1, nll, pce, crps)
            candidates.setdefault(self._place[row], []).append(candidate)
        return candidates


class _Texts(NamedTuple):
    """A column of texts as numbers, which are compared much faster."""

    codes: npt.NDArray[np.intp]
    code_of: dict[str, int]

    @classmethod
    def of(cls, column: pd.Series) -> _Texts:
        codes, texts = pd.factorize(column)
        return cls(codes, {text: code for code, text in enumerate(texts)})

    def equal(self, rows: Rows, text: str) -> npt.NDArray[np.bool_]:
        """Which of these rows have this text."""
        equal: npt.NDArray[np.bool_] = self.codes[rows] == self.code_of.get(text, -2)
        return equal


class _Chosen(NamedTuple):
    """The chosen rows of a method, with the chosen bandwidth and lambda of each (NaN where there was no choice)."""

    rows: Rows
    bandwidth: npt.NDArray[np.float64]
    strength: npt.NDArray[np.float64]


def left_out(methods: pd.DataFrame) -> Sequence[str]:
    """One line per dataset and reason for which a method has no result."""
    failed = methods[methods["status"] != "ok"]
    counts = failed.groupby(["experiment", "method", "dataset", "status", "reason"], sort=False, dropna=False).size()
    return [
        f"{experiment} {method} on {dataset}: {status} in {count} split(s): {reason}"
        for (experiment, method, dataset, status, reason), count in counts.items()
    ]
