"""From the rows of a fit to one model: a stack of networks is trained, one is chosen, its maps are fitted.

Training, maps, metrics and choice are those of the replication (docs/protocol.md, sections 3 to 5).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import Tensor

from qrt.engine.calibration_map import CalibrationMap, fit_map
from qrt.engine.evaluation import diverged, evaluate, post_hoc_maps
from qrt.engine.kernel import KernelWidth
from qrt.engine.predictive import PredictiveDistribution, predictive_from_outputs
from qrt.engine.registry import MapName
from qrt.engine.split import SplitData
from qrt.engine.trainer import TrainedNetwork, TrainingSettings, train_stack, training_map_rows
from qrt.estimator.unusable_input import UnusableInput
from qrt.methods import FIXED_BANDWIDTH, Method
from qrt.tuning import Candidate, choose

STEP_MAPS = ("EMP", "DCP")
_WIDTH: KernelWidth = "variance"  # the paper's
# Products of matrices with fewer rows are computed in another order, and a row alone would differ in its last digits.
_FEWEST_ROWS = 64


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A network, the maps on top of it, and the scale of the target."""

    network: TrainedNetwork
    maps: tuple[CalibrationMap, ...]
    y_mean: float
    y_scale: float

    def predictive(self, x: npt.NDArray[np.float32]) -> PredictiveDistribution:
        """The predictive distributions of standardised rows x: (n, features), in the units of the target."""
        outputs = network_outputs(self.network, x)
        if not bool(outputs.isfinite().all()):
            raise UnusableInput(
                "the network has no finite prediction for rows whose values are very far from those of the training "
                "rows; look for outliers among them"
            )
        return predictive_from_outputs(outputs, self.y_mean, self.y_scale, self.maps)


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit gives: the model, the curves of all networks, the metrics of the chosen one on validation rows."""

    model: FittedModel
    history: pd.DataFrame
    validation_metrics: dict[str, float]


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread, so that results do not depend on the number of processors."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def network_outputs(network: TrainedNetwork, x: npt.NDArray[np.float32]) -> Tensor:
    """Outputs (n, 3K) for standardised rows x: (n, features), which do not depend on the other rows."""
    missing = max(0, _FEWEST_ROWS - len(x))
    padded = np.concatenate([x, np.zeros((missing, x.shape[1]), np.float32)]) if missing else x
    return network.outputs(padded)[: len(x)]


def fit_model(
    data: SplitData,
    method: Method,
    settings: TrainingSettings,
    seed: int,
    *,
    posthoc_bandwidth: float | None,
    log: Callable[[str], None],
) -> Fit:
    """Train the networks of a method on a standardised split, and choose among them by the validation rows.

    `posthoc_bandwidth` None is the paper's: that of training, and 0.1 for networks without a map.
    """
    with one_thread():
        networks = train_stack(data, method.networks, settings, seed, log)
        trained = [_trained(_Parts(network, data, settings, seed), method, posthoc_bandwidth) for network in networks]
        chosen = trained[choose([_candidate(number, one) for number, one in enumerate(trained)]).number]
    if chosen.failure:
        raise UnusableInput(
            f"training failed: {chosen.failure}. Look for outliers in X and y (a logarithm may help), or try a smaller "
            "learning_rate"
        )
    return Fit(chosen.model, _history(networks, data.y_scale), chosen.metrics)


@dataclass(frozen=True, eq=False)
class _Trained:
    """A trained network with its maps, and why it cannot be used, if it cannot.

    `metrics` are those of the validation rows, `for_choice` those that networks are compared by; empty if diverged.
    """

    model: FittedModel
    metrics: dict[str, float]
    for_choice: dict[str, float]
    failure: str


def _trained(parts: _Parts, method: Method, posthoc_bandwidth: float | None) -> _Trained:
    network = parts.network
    if network.status != "ok":
        return _Trained(parts.model(()), {}, {}, network.reason)
    on_training_map = method.built_on == "training_map" and network.variant.alpha != 0
    base: tuple[CalibrationMap, ...] = (parts.training_map(),) if on_training_map else ()
    maps = for_choice = base
    if method.posthoc != "none":
        bandwidth = (network.variant.bandwidth or FIXED_BANDWIDTH) if posthoc_bandwidth is None else posthoc_bandwidth
        calibration, y = parts.predictive("calibration", base)
        maps = post_hoc_maps(calibration, y, method.posthoc, bandwidth, _WIDTH)
        # A step function has no NLL; among networks with one, the choice is made with the smooth map instead.
        name: MapName = "REFL" if method.posthoc in STEP_MAPS else method.posthoc
        for_choice = post_hoc_maps(calibration, y, name, bandwidth, _WIDTH)
    compared = metrics = evaluate(*parts.predictive("validation", for_choice))
    failure = f"the validation NLL is {compared['nll']:g}" if diverged(compared["nll"]) else ""
    if method.posthoc in STEP_MAPS and not failure:
        metrics = evaluate(*parts.predictive("validation", maps))
    return _Trained(parts.model(maps), metrics, compared, failure)


def _candidate(number: int, trained: _Trained) -> Candidate:
    """The network as a candidate of the choice, by the paper's metrics."""
    variant = trained.model.network.variant
    nll, pce, crps = (trained.for_choice.get(name, math.nan) for name in ("nll", "pce_levels", "crps_wis"))
    bandwidth = math.nan if variant.bandwidth is None else variant.bandwidth
    return Candidate(number, variant.alpha, bandwidth, not trained.failure, nll, pce, crps)


@dataclass(frozen=True, eq=False)
class _Parts:
    """A trained network, and its distributions on the parts of the split."""

    network: TrainedNetwork
    data: SplitData
    settings: TrainingSettings
    seed: int

    def model(self, maps: tuple[CalibrationMap, ...]) -> FittedModel:
        """The network with these maps on top."""
        return FittedModel(self.network, maps, self.data.y_mean, self.data.y_scale)

    def predictive(self, part: str, maps: tuple[CalibrationMap, ...]) -> tuple[PredictiveDistribution, Tensor]:
        """The distributions of a part's rows and their targets, in the units of the target."""
        x, y = self.data.part(part)
        return self.model(maps).predictive(x), torch.from_numpy(y).double() * self.data.y_scale + self.data.y_mean

    def training_map(self) -> CalibrationMap:
        """The map of training as validation has it: of the network's own centres, or of PITs of training rows."""
        variant, centres = self.network.variant, self.network.own_centres
        assert variant.bandwidth is not None
        if centres is None:
            x, y = self.data.part(variant.trained_on)
            rows = training_map_rows(variant, len(x), self.settings, self.seed)
            assert rows is not None
            outputs = network_outputs(self.network, x[rows.numpy()])
            centres = predictive_from_outputs(outputs).pit(torch.from_numpy(y)[rows].double())
        return fit_map("REFL", centres.double(), variant.bandwidth, _WIDTH)


def _history(networks: Sequence[TrainedNetwork], y_scale: float) -> pd.DataFrame:
    """The curves of all networks, with NLLs in the units of the target."""
    rows = [
        {"alpha": network.variant.alpha, "bandwidth": network.variant.bandwidth}
        | asdict(record)
        | {"selected_epoch": network.selected_epoch}
        for network in networks
        for record in network.curves or []
    ]
    history = pd.DataFrame(rows)
    for name in ("nll_recalibrated", "nll_base"):
        history[name] += math.log(y_scale)
    return history.rename(columns={"nll_recalibrated": "nll"}).drop(columns="alpha_entropy_pit")
