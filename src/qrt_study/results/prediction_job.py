"""From the outputs of the main comparison's networks to the file of predictions on a dataset."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from qrt.engine.evaluation import evaluate
from qrt.engine.registry import METRICS
from qrt.engine.split import split_rows
from qrt.engine.trainer import training_map_rows
from qrt.errors import UserError
from qrt_study.data.record import data_checksum, read_record
from qrt_study.data.split_store import load_targets
from qrt_study.plan.config import StudyConfig
from qrt_study.plan.family import Family
from qrt_study.results.predicted_methods import predicted_families, predicted_methods, prediction_files
from qrt_study.results.predicted_network import PredictedNetwork
from qrt_study.results.prediction_file import MOST, PARTS, PRECISIONS, Array, Precision, SplitPart, write_predictions
from qrt_study.training.family_job import run_seed, training_settings
from qrt_study.training.networks_file import NetworkResult, read_networks

OF_METHOD = (
    *("protocol", "method", "network", "bandwidth", "kernel_width"),
    *("posthoc_on", "posthoc_map", "posthoc_bandwidth"),
)
OF_METRIC = ["protocol", "method", "metric"]
SAME = 1e-5  # relative difference of a published metric, which is rounded to float32, where networks are the same
_NOTES = ("status", "selected_epoch", "code", "torch_version", "cpu")
Files = Mapping[str, Mapping[int, Path]]  # family -> split -> outputs of its networks


def predict(dataset: str, *, study: StudyConfig, data: Path, out: Path) -> None:
    """Write the predictions of the main comparison on one dataset, for everybody, and say what rounding changes."""
    files = {
        family: {split: Path(path) for split, path in by_split.items()}
        for family, by_split in prediction_files(study, dataset).items()
    }
    job = DatasetPredictions(data, predicted_families(study, dataset), files, predicted_methods(study, dataset))
    checks, precisions = job.checked()
    job.write(out, checks, precisions)
    print(
        f"{dataset}: {', '.join(one.name for one in precisions.values())}, {out.stat().st_size / 1e6:.2f} MB; rounding "
        f"moves a metric by {checks['rounding'].max():.3f} standard errors at most"
    )


class DatasetPredictions:
    """The main comparison's networks on one dataset. `methods` are the rows of `predicted_methods`."""

    def __init__(self, folder: Path, families: Mapping[str, Family], files: Files, methods: pd.DataFrame) -> None:
        torch.set_num_threads(1)
        methods = methods.assign(network=methods["family"] + "/" + methods["variant"])
        self.record = read_record(folder / "record.json")
        self.methods = methods[methods["network"].notna()]
        self.splits = [int(split) for split in sorted(methods["split"].unique())]
        self.targets = {split: load_targets(folder, split) for split in self.splits}
        self.results: dict[str, dict[int, NetworkResult]] = {name: {} for name in methods["network"].unique()}
        for family, by_split in files.items():
            for split, path in by_split.items():
                for one in read_networks(path, families[family].networks):
                    if (name := f"{family}/{one.variant.id}") in self.results:
                        self.results[name][split] = one
        self.rows = {split: split_rows(self.record["rows"], split) for split in self.splits}
        if missing := [name for name, found in self.results.items() if set(found) != set(self.splits)]:
            raise UserError(
                f"{self.record['dataset']}: the files of networks lack {', '.join(missing)}; delete them and run again"
            )
        self.networks: dict[tuple[str, int], PredictedNetwork] = {}
        for name, found in self.results.items():
            of_family = families[name.partition("/")[0]]
            for split, one in found.items():
                if one.status == "ok":
                    y = self._y(one, split, of_family)
                    self.networks[name, split] = PredictedNetwork.of_outputs(one, y, *self._scale(split))

    def _scale(self, split: int) -> tuple[float, float]:
        return self.targets[split].y_mean, self.targets[split].y_scale

    def _y(self, network: NetworkResult, split: int, family: Family) -> dict[str, Array]:
        """The standardised targets of each part, and of the rows behind the training-time map."""
        targets = self.targets[split]
        y = {part: targets.y[targets.rows(part)] for part in ("calibration", "test")}
        train = targets.y[targets.rows("train")]
        rows = training_map_rows(network.variant, len(train), training_settings(family, {}), run_seed(split, 0))
        return y if rows is None else y | {"map": train[rows.numpy()]}

    def checked(self) -> tuple[pd.DataFrame, dict[str, Precision]]:
        """Metrics of every method as published, by the outputs and after rounding, and the precision of each network.

        `rounding` is how far rounding moves the mean over splits, in standard errors of that mean.
        """
        precisions, tables = {}, []
        for name, methods in self.methods.groupby("network", sort=False):
            exact = self._metrics(methods, None)
            for precision in PRECISIONS:
                rounded = self._metrics(methods, precision)
                by_metric = exact.assign(change=rounded["value"] - exact["value"]).groupby(OF_METRIC)
                rounding = by_metric["change"].transform("mean").abs() / by_metric["value"].transform("sem")
                if len(rounded) == len(exact) and not (rounding > MOST).any():
                    break
            precisions[str(name)] = precision
            tables.append(exact.assign(rounded=rounded["value"], rounding=rounding))
        return pd.concat(tables, ignore_index=True), precisions

    def _metrics(self, methods: pd.DataFrame, precision: Precision | None) -> pd.DataFrame:
        """Every metric of some methods of a network on each split; None: by its outputs."""
        found = []
        for row in methods.to_dict("records"):
            network = self.networks.get((row["network"], row["split"]))
            if network is not None and precision is not None:
                network = network.rounded(precision)
            if network is None:
                continue
            values = evaluate(*network.predictive({name: plain(row[name]) for name in OF_METHOD}))
            place = {name: row[name] for name in ("protocol", "method", "network", "split")}
            found += [
                place | {"metric": metric, "published": row[f"test_{metric}"], "value": values[metric]}
                for metric in METRICS
            ]
        return pd.DataFrame(found, columns=["split", "network", *OF_METRIC, "published", "value"])

    def write(self, path: Path, checks: pd.DataFrame, precisions: Mapping[str, Precision]) -> None:
        """Write the file."""
        parts = []
        for split in self.splits:
            for part in PARTS:
                columns: dict[str, Array] = {}
                for (name, of_split), network in self.networks.items():
                    if of_split == split:
                        columns |= network.columns(name, part, precisions[name])
                targets, rows = self.targets[split], None if part == "map" else getattr(self.rows[split], part)
                y = None if part == "map" else targets.y[targets.rows(part)]
                if columns:
                    parts.append(SplitPart(split, part, rows, y, columns))
        write_predictions(path, parts, self._described(checks, precisions))

    def _described(self, checks: pd.DataFrame, precisions: Mapping[str, Precision]) -> dict[str, Any]:
        first = self.methods.drop_duplicates(["protocol", "method"])
        off = (checks["value"] - checks["published"]).abs() > SAME * (1 + checks["published"].abs())
        other = set(checks[off & (checks["metric"] == "nll")].set_index(["network", "split"]).index)
        networks = {}
        for name, found in self.results.items():
            any_ok = next((one for (of, _), one in self.networks.items() if of == name), None)
            networks[name] = {
                "precision": precisions[name].name,
                "parts": list(any_ok.parts) if any_ok else [],
                "has_map": any_ok is not None and any_ok.pits is not None,
                "splits": {
                    str(split): {note: getattr(one, note) for note in _NOTES}
                    | {"as_published": (name, split) not in other}
                    for split, one in found.items()
                },
            }
        return {
            "dataset": self.record["dataset"],
            "data": data_checksum(self.record),
            "rounding": {
                metric: _finite(value) for metric, value in checks.groupby("metric")["rounding"].max().items()
            },
            "splits": {str(split): list(self._scale(split)) for split in self.splits},
            "methods": [{name: plain(row[name]) for name in OF_METHOD} for row in first.to_dict("records")],
            "networks": networks,
        }


def plain(value: Any) -> Any:
    """A value of a data frame as JSON has it: None where it is missing."""
    return None if pd.isna(value) else value


def _finite(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None
