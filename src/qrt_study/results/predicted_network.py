"""A network of the main comparison on one split as its predictions: mixtures, and every map that goes on top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from qrt.engine import mixture as gaussian
from qrt.engine.calibration_map import CalibrationMap, fit_map
from qrt.engine.kernel import KernelWidth
from qrt.engine.mixture import GaussianMixture
from qrt.engine.predictive import PredictiveDistribution
from qrt.engine.registry import PostHoc
from qrt.methods import FIXED_BANDWIDTH
from qrt_study.results.prediction_file import PARAMETERS, PIT, Array, Precision, PredictionFile, rounded_pits
from qrt_study.training.networks_file import NetworkResult

Part = tuple[GaussianMixture, Tensor]  # mixtures of N standardised targets, and these, (N,)


@dataclass(frozen=True)
class PredictedNetwork:
    """Mixtures of the parts on standardised targets, the PITs of its training rows, and the scale of the targets."""

    parts: Mapping[str, Part]  # test, and calibration where the network was not trained on it
    pits: Tensor | None  # behind the training-time map
    y_mean: float
    y_scale: float

    @classmethod
    def of_file(cls, file: PredictionFile, network: str, split: int) -> PredictedNetwork:
        """The network as published."""
        described = file.described
        own = described["networks"][network]
        parts = {}
        for part in own["parts"]:
            means, scales, log_weights = map(torch.from_numpy, file.parameters(network, split, part))
            mixture = GaussianMixture(means, scales, torch.log_softmax(log_weights, dim=-1))
            parts[part] = (mixture, torch.from_numpy(file.rows(split, part)[1]).double())
        pits = torch.from_numpy(file.pits(network, split)) if own["has_map"] else None
        return cls(parts, pits, *described["splits"][str(split)])

    @classmethod
    def of_outputs(
        cls, network: NetworkResult, y: Mapping[str, Array], y_mean: float, y_scale: float
    ) -> PredictedNetwork:
        """The network by its outputs; `y` has the standardised targets of each part, and of the `map` rows."""
        names = ("calibration", "test") if network.variant.trained_on == "train" else ("test",)
        parts = {
            part: (gaussian.from_outputs(network.outputs[part].double()), torch.from_numpy(y[part]).double())
            for part in (*names, "map")
            if part in network.outputs
        }
        pits = gaussian.cdf(*parts.pop("map")) if "map" in parts else None
        return cls(parts, pits, y_mean, y_scale)

    def rounded(self, precision: Precision) -> PredictedNetwork | None:
        """The network as it comes back from a file of this precision; None if it does not hold its parameters."""
        parts = {}
        for part, (mixture, y) in self.parts.items():
            stored = precision.rounded(*(values.numpy() for values in mixture))
            if not all(np.isfinite(values).all() for values in stored):
                return None
            means, scales, log_weights = (torch.from_numpy(values.astype(np.float64)) for values in stored)
            parts[part] = (GaussianMixture(means, scales, torch.log_softmax(log_weights, dim=-1)), y)
        pits = None if self.pits is None else torch.from_numpy(rounded_pits(self.pits.numpy()))
        return PredictedNetwork(parts, pits, self.y_mean, self.y_scale)

    def columns(self, name: str, part: str, precision: Precision) -> dict[str, Array]:
        """The columns of a part in a file."""
        if part == "map":
            return {} if self.pits is None else {f"{name} {PIT}": rounded_pits(self.pits.numpy()).astype(np.float32)}
        if part not in self.parts:
            return {}
        stored = precision.rounded(*(values.numpy() for values in self.parts[part][0]))
        return {
            f"{name} {parameter}{number + 1}": values[:, number]
            for parameter, values in zip(PARAMETERS, stored, strict=True)
            for number in range(values.shape[1])
        }

    def part(self, name: str) -> Part:
        """Mixtures and targets of a part, in the units of the target."""
        mixture, y = self.parts[name]
        return gaussian.affine(mixture, self.y_mean, self.y_scale), y * self.y_scale + self.y_mean

    def chain(
        self, method: Mapping[str, Any], built_on: str = "", posthoc: PostHoc | None = None
    ) -> tuple[CalibrationMap, ...]:
        """The maps of a method, or with another post-hoc map (`none`: without), on `base` (F) or `training_map`."""
        built_on, posthoc = built_on or method["posthoc_on"], posthoc or method["posthoc_map"]
        width = cast(KernelWidth, method["kernel_width"])
        base: tuple[CalibrationMap, ...] = ()
        if built_on == "training_map":
            assert self.pits is not None
            base = (fit_map("REFL", self.pits, method["bandwidth"], width),)
        if posthoc == "none":
            return base
        mixture, y = self.parts["calibration"]
        pits = PredictiveDistribution(mixture, base).pit(y)
        return (*base, fit_map(posthoc, pits, method["posthoc_bandwidth"] or FIXED_BANDWIDTH, width))

    def predictive(self, method: Mapping[str, Any]) -> tuple[PredictiveDistribution, Tensor]:
        """The distributions of a method on test rows, and their targets."""
        mixture, y = self.part("test")
        return PredictiveDistribution(mixture, self.chain(method)), y
