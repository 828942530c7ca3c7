"""Evaluation: from what trained networks say to rows of the tables `runs`, `curves` and `predictions`.

What acts after training (docs/protocol.md, rows 1, 2 for networks without a map, 3, 4, 11 and 12) is evaluated both
ways, so that changing such a switch never trains or evaluates anything again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from qrt.engine.calibration_map import CalibrationMap, fit_map, fit_maps
from qrt.engine.curves import curve_rows
from qrt.engine.evaluation import calibration_pits, diverged, evaluate_chains, evaluate_many_rows
from qrt.engine.kernel import KernelWidth
from qrt.engine.memory import keep_freed_memory
from qrt.engine.predictive import PredictiveDistribution, predictive_from_outputs
from qrt.engine.split import SplitTargets
from qrt.engine.trainer import training_map_rows
from qrt.engine.variant import Variant
from qrt.methods import FIXED_BANDWIDTH
from qrt_study.data.split_store import load_targets
from qrt_study.plan.family import Family, network_columns
from qrt_study.training.family_job import run_seed, training_settings
from qrt_study.training.networks_file import NetworkResult, read_networks

EXAMPLE_ROWS = 5
GRID_POINTS = 200
_NO_POSTHOC: dict[str, Any] = {"posthoc_map": "none", "posthoc_on": "base", "posthoc_bandwidth": None}
_NOTES = (
    "epochs",
    "selected_epoch",
    "train_seconds",
    "job_seconds",
    "data",
    "code",
    "package_version",
    "torch_version",
    "threads",
    "cpu",
)


@dataclass
class EvaluatedFamily:
    """Rows of the tables `runs`, `curves` and `predictions`."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)
    predictions: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Way:
    """One way to take a network's distribution: its post-hoc columns, and the maps on top of the mixture."""

    columns: Mapping[str, Any]
    maps: tuple[CalibrationMap, ...]


def evaluate_family(
    dataset: str, folder: Path, seed: int, family: Family, files: Mapping[int, Path], *, examples: bool
) -> EvaluatedFamily:
    """Evaluate the networks in `files`, one for each split; `folder` has the prepared dataset.

    With `examples`, predictive densities of some test rows of split 0 are kept.
    """
    torch.set_num_threads(1)
    keep_freed_memory()
    result = EvaluatedFamily()
    for split, file in files.items():
        networks = read_networks(file, family.networks)
        targets = load_targets(folder, split) if any(network.outputs for network in networks) else None
        for network in networks:
            place = {"dataset": dataset, "split": split, "seed": seed} | network_columns(family, network.variant)
            _add_rows(result, place, network, targets, family, keep_examples=examples and split == 0)
    share = time.process_time() / (len(files) * len(family.networks))  # counted from the start of the process
    result.runs = [row | {"evaluation_seconds": share} for row in result.runs]
    return result


def _add_rows(
    result: EvaluatedFamily,
    place: dict[str, Any],
    network: NetworkResult,
    targets: SplitTargets | None,
    family: Family,
    *,
    keep_examples: bool,
) -> None:
    result.curves += [place | asdict(one) | {"selected_epoch": network.selected_epoch} for one in network.curves or []]
    outcome = {name: getattr(network, name) for name in _NOTES}
    if network.status != "ok" or targets is None:
        status = {"status": network.status, "reason": network.reason}
        result.runs.append(place | _NO_POSTHOC | outcome | status)
        return
    parts = _Parts(network, targets, run_seed(place["split"], place["seed"]), family)
    ways = list(_ways(parts, family))
    for way, values in zip(ways, parts.metrics([way.maps for way in ways]), strict=True):
        result.runs.append(place | dict(way.columns) | outcome | values)
        if keep_examples and _is_example(network.variant):
            densities = _examples(*parts.predictive("test", way.maps))
            result.predictions += [place | dict(way.columns) | row for row in densities]


class _Parts:
    """A network's distributions on the parts of a split, with maps on top, on the original scale of the targets."""

    def __init__(self, network: NetworkResult, targets: SplitTargets, seed: int, family: Family) -> None:
        self.network, self.targets = network, targets
        parts = ("validation", "calibration", "test")
        self.y = {part: torch.from_numpy(targets.y[targets.rows(part)]) for part in parts}
        trained_on = torch.from_numpy(targets.y[targets.rows(network.variant.trained_on)])
        if "curves" in network.outputs:
            self.y["curves"] = trained_on[curve_rows(len(trained_on), seed)]
        if "map" in network.outputs:
            settings = training_settings(family, {})
            rows = training_map_rows(network.variant, len(trained_on), settings, seed)
            assert rows is not None
            self.y["map"] = trained_on[rows]

    def predictive(self, part: str, maps: tuple[CalibrationMap, ...]) -> tuple[PredictiveDistribution, Tensor]:
        """The predictive distributions of a part's rows and their targets."""
        scale, mean = self.targets.y_scale, self.targets.y_mean
        predictive = predictive_from_outputs(self.network.outputs[part], mean, scale, maps)
        return predictive, self.y[part].double() * scale + mean

    def training_map(self, width: KernelWidth, bandwidth: float) -> CalibrationMap:
        """The map of training as validation has it: of the network's own centres, or of PITs of training rows."""
        centres = self.network.centres
        if centres is None:
            centres = predictive_from_outputs(self.network.outputs["map"]).pit(self.y["map"].double())
        return fit_map("REFL", centres.double(), bandwidth, width)

    def metrics(self, chains: Sequence[tuple[CalibrationMap, ...]]) -> list[dict[str, Any]]:
        """Every metric of the network under each of these chains of maps, and whether it diverged."""
        values: list[dict[str, Any]] = [{} for _ in chains]
        for prefix, part, evaluated in (
            ("val", "validation", evaluate_chains),
            ("test", "test", evaluate_chains),
            ("train", "curves", evaluate_many_rows),
        ):
            if part in self.y:
                predictive, y = self.predictive(part, ())
                for row, metrics in zip(values, evaluated(predictive.mixture, chains, y), strict=True):
                    row |= {f"{prefix}_{name}": value for name, value in metrics.items()}
        return [row | _status(row) for row in values]


def _status(values: Mapping[str, float]) -> dict[str, str]:
    """Whether a run with these metrics counts as diverged, and which of them are not finite."""
    if diverged(values["test_nll"]):
        return {"status": "diverged", "reason": f"test NLL is {values['test_nll']:g}"}
    problems = [f"{name} is {value:g}" for name, value in values.items() if not np.isfinite(value)]
    return {"status": "ok", "reason": "; ".join(problems)}


def _ways(network: _Parts, family: Family) -> Iterator[Way]:
    """Every way to take the distribution of a trained network: without and with its map, and post-hoc maps on both."""
    variant = network.network.variant
    bases: dict[str, tuple[CalibrationMap, ...]] = {"base": ()}
    widths: list[KernelWidth] = ["variance", "scale"]
    if variant.bandwidth is not None:
        widths = [cast(KernelWidth, family.conditions["kernel_width"])]
        bases["training_map"] = (network.training_map(widths[0], variant.bandwidth),)
    bandwidths = sorted({FIXED_BANDWIDTH, variant.bandwidth or FIXED_BANDWIDTH})
    for on, maps in bases.items():
        yield Way(_NO_POSTHOC | {"posthoc_on": on}, maps)
        if variant.trained_on == "train+calibration":
            continue  # no rows are left to calibrate on
        pits = calibration_pits(*network.predictive("calibration", maps))
        names = [name for name in family.posthoc[family.networks.index(variant)] if name != "none"]
        kinds = list(product(bandwidths, widths))
        fitted = {kind: fit_maps(names, pits, *kind) for kind in kinds}
        for name, (bandwidth, width) in product(names, kinds):
            columns = {"posthoc_map": name, "posthoc_on": on, "posthoc_bandwidth": bandwidth, "kernel_width": width}
            yield Way(columns, (*maps, fitted[bandwidth, width][name]))


def _is_example(network: Variant) -> bool:
    """Whether the figures of single predictions show this network: BASE, QRC or QRTC of the main base model."""
    objective = (network.alpha in (0, 1), network.map_size, network.ablation)
    return (network.base_model, network.components) == ("mlp", 3) and objective == (True, None, None)


def _examples(distribution: PredictiveDistribution, targets: Tensor) -> Iterator[dict[str, Any]]:
    """Densities of the first test rows on a grid that covers the central mass and the realised target."""
    y = targets[:EXAMPLE_ROWS]
    mixture = type(distribution.mixture)(*(tensor[: len(y)] for tensor in distribution.mixture))
    nll = -PredictiveDistribution(mixture, distribution.maps).log_density_and_pit(y)[0]
    low, high = PredictiveDistribution(mixture).quantile(torch.tensor([0.005, 0.995], dtype=torch.float64)).T
    low, high = torch.minimum(low, y), torch.maximum(high, y)
    steps = torch.linspace(-0.05, 1.05, GRID_POINTS, dtype=torch.float64)
    points = (low[:, None] + steps * (high - low)[:, None]).flatten()
    repeated = type(mixture)(*(tensor.repeat_interleave(GRID_POINTS, dim=0) for tensor in mixture))
    densities = PredictiveDistribution(repeated, distribution.maps).log_density_and_pit(points)[0].exp()
    for number, (point, density) in enumerate(zip(points.tolist(), densities.tolist(), strict=True)):
        row = number // GRID_POINTS
        yield {"row": row, "target": float(y[row]), "nll": float(nll[row]), "y": point, "density": density}
