"""One training job: a family of networks on one dataset and split, trained as a stack and evaluated in every reading.

What acts after training (spec, section 8, rows 1, 2 for networks without a map, and 11) is evaluated both ways, so that
turning such a switch never trains anything again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

import qrt
from qrt.data.prepared_store import load_split
from qrt.data.split import SplitData
from qrt.engine.calibration_map import CalibrationMap, KernelWidth, fit_map
from qrt.engine.curves import curve_rows
from qrt.engine.evaluation import diverged, evaluate, post_hoc_maps
from qrt.engine.predictive import PredictiveDistribution, predictive_from_outputs
from qrt.engine.scores import pce_levels, pce_sorted
from qrt.engine.trainer import TrainedNetwork, TrainingSettings, map_rows, train_stack
from qrt.engine.variant import Variant
from qrt.study.family import FIXED_BANDWIDTH, Family, network_columns
from qrt.training.machine import processor

EXAMPLE_ROWS = 5
GRID_POINTS = 200


@dataclass
class JobResult:
    """Rows of the tables `runs`, `curves` and `predictions`."""

    runs: list[dict[str, Any]]
    curves: list[dict[str, Any]]
    predictions: list[dict[str, Any]]


def train_family(
    dataset: str,
    folder: Path,
    split: int,
    family: Family,
    training: dict[str, int],
    *,
    examples: bool,
    log: Callable[[str], None],
) -> JobResult:
    """Train and evaluate a family on the prepared dataset in `folder`; the seed is the number of the split."""
    torch.set_num_threads(1)
    data = load_split(folder, split)
    settings = TrainingSettings(
        max_epochs=training["max_epochs"],
        patience=training["patience"],
        kernel_width=family.kernel_width or "variance",
        resnet_form=family.resnet_form or "paper",
        record_curves=family.curves,
    )
    result = JobResult([], [], [])
    for network in _trained(data, family, settings, split, log):
        place = {"dataset": dataset, "split": split} | network_columns(family, network.variant)
        outcome = {
            "epochs": network.epochs,
            "selected_epoch": network.selected_epoch,
            "train_seconds": network.train_seconds,
        }
        for curve in network.curves or []:
            result.curves.append(place | asdict(curve) | {"selected_epoch": network.selected_epoch})
        for reading, predictive in _readings(network, data, family, split):
            row = place | reading | outcome | _fingerprint()
            if network.status != "ok":
                row |= {"status": network.status, "reason": network.reason}
            else:
                row |= _metrics(predictive)
            result.runs.append(row)
            if examples and network.status == "ok" and _is_example(network.variant):
                result.predictions += [place | reading | example for example in _examples(predictive("test"))]
        log(f"{network.variant.id}: {network.status} after {network.epochs} epochs, best {network.best_value:.4f}")
    return result


def _trained(
    data: SplitData, family: Family, settings: TrainingSettings, seed: int, log: Callable[[str], None]
) -> Iterator[TrainedNetwork]:
    """The networks of a family, trained as one stack for each base model and set of rows."""
    stacks: dict[tuple[str, int, str], list[Variant]] = {}
    for network in family.networks:
        stacks.setdefault((network.base_model, network.components, network.trained_on), []).append(network)
    for (model, components, rows), networks in stacks.items():
        log(f"{model} with {components} component(s) on {rows} rows: {len(networks)} network(s)")
        # Per-epoch records are of the main base model on training rows (spec, section 5).
        curves = settings.record_curves and (model, components, rows) == ("mlp", 3, "train")
        yield from train_stack(data, networks, replace(settings, record_curves=curves), seed, log)


class _Predictive:
    """The predictive distributions of one network and reading on the parts of a split, on the original scale.

    `parts` has the network's outputs (N, 3K) and the standardised targets (N,) of each part.
    """

    def __init__(
        self, parts: dict[str, tuple[Tensor, Tensor]], data: SplitData, maps: tuple[CalibrationMap, ...]
    ) -> None:
        self.parts, self.data, self.maps = parts, data, maps

    def __call__(self, part: str) -> tuple[PredictiveDistribution, Tensor]:
        outputs, y = self.parts[part]
        predictive = predictive_from_outputs(outputs, self.data.y_mean, self.data.y_scale, self.maps)
        return predictive, y.double() * self.data.y_scale + self.data.y_mean


def _readings(
    network: TrainedNetwork, data: SplitData, family: Family, seed: int
) -> Iterator[tuple[dict[str, Any], _Predictive]]:
    """Every reading of a trained network: its post-hoc columns, and its predictive distributions."""
    none = {"posthoc_map": "none", "posthoc_on": "base", "posthoc_bandwidth": None}
    if network.status != "ok":
        yield none, _Predictive({}, data, ())
        return
    variant = network.variant
    parts = {
        part: (network.outputs(x), torch.from_numpy(y))
        for part, (x, y) in _evaluated_parts(network, data, seed).items()
    }
    bases: dict[str, tuple[CalibrationMap, ...]] = {"base": ()}
    widths: list[KernelWidth] = ["variance", "scale"]
    if family.kernel_width is not None and variant.bandwidth is not None:
        widths = [family.kernel_width]
        bases["training_map"] = (_training_map(network, data, family.kernel_width, variant.bandwidth, seed),)
    bandwidths = sorted({FIXED_BANDWIDTH, variant.bandwidth or FIXED_BANDWIDTH})
    for on, maps in bases.items():
        yield none | {"posthoc_on": on}, _Predictive(parts, data, maps)
        calibration, y = _Predictive(parts, data, maps)("calibration")
        if variant.trained_on == "train+calibration":
            continue  # no rows are left to calibrate on
        for name in family.posthoc[family.networks.index(variant)]:
            if name == "none":
                continue
            for bandwidth in bandwidths:
                for width in widths:
                    columns = {"posthoc_map": name, "posthoc_on": on, "posthoc_bandwidth": bandwidth}
                    chain = post_hoc_maps(calibration, y, name, bandwidth, width)
                    yield columns | {"kernel_width": width}, _Predictive(parts, data, chain)


def _evaluated_parts(
    network: TrainedNetwork, data: SplitData, seed: int
) -> dict[str, tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]]:
    """x and y of the parts on which a network is read; of the training rows those of its curves, if it has any."""
    parts = {part: data.part(part) for part in ("validation", "test", "calibration")}
    if network.curves is not None:
        x, y = data.part("train")
        rows = curve_rows(len(x), seed).numpy()
        parts["train"] = x[rows], y[rows]
    return parts


def _training_map(
    network: TrainedNetwork, data: SplitData, width: KernelWidth, bandwidth: float, seed: int
) -> CalibrationMap:
    """The map of min(2048, n) training rows that the released code puts under the post-hoc map (row 1)."""
    x, y = data.part(network.variant.trained_on)
    rows = map_rows(len(x), seed).numpy()
    predictive = predictive_from_outputs(network.outputs(x[rows]))
    return fit_map("REFL", predictive.pit(torch.from_numpy(y[rows]).double()), bandwidth, width)


def _metrics(predictive: _Predictive) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for prefix, part in (("val", "validation"), ("test", "test")):
        values |= {f"{prefix}_{name}": value for name, value in evaluate(*predictive(part)).items()}
    if "train" in predictive.parts:
        on_training_rows, y = predictive("train")
        log_density, pit = on_training_rows.log_density_and_pit(y)
        values |= {
            "train_nll": float(-log_density.mean()),
            "train_pce_levels": float(pce_levels(pit)),
            "train_pce_sorted": float(pce_sorted(pit)),
        }
    if diverged(values["test_nll"]):
        return values | {"status": "diverged", "reason": f"test NLL is {values['test_nll']:g}"}
    problems = [f"{name} is {value:g}" for name, value in values.items() if not np.isfinite(value)]
    return values | {"status": "ok", "reason": "; ".join(problems)}


def _is_example(network: Variant) -> bool:
    """Whether the figures of single predictions show this network: BASE, QRC or QRTC of the main base model."""
    objective = (network.alpha in (0, 1), network.map_size, network.ablation)
    return (network.base_model, network.components) == ("mlp", 3) and objective == (True, None, None)


def _examples(predictive: tuple[PredictiveDistribution, Tensor]) -> Iterator[dict[str, Any]]:
    """Densities of the first test rows on a grid that covers the central mass and the realised target."""
    distribution, targets = predictive
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


def _fingerprint() -> dict[str, Any]:
    return {
        "package_version": qrt.__version__,
        "torch_version": torch.__version__,
        "threads": torch.get_num_threads(),
        "cpu": processor(),
    }
