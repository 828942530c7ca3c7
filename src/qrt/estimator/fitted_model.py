"""From the rows of a fit to one model: a stack of networks is trained, pools are chosen among, maps are fitted.

Training, maps, metrics and choice are those of the replication (docs/protocol.md, sections 3 to 5).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import Tensor

from qrt.engine.calibration_map import CalibrationMap, fit_map
from qrt.engine.evaluation import diverged, evaluate, post_hoc_maps
from qrt.engine.kernel import KernelWidth
from qrt.engine.mixture import GaussianMixture, pooled
from qrt.engine.predictive import PredictiveDistribution, predictive_from_outputs
from qrt.engine.random_streams import member_seeds, sample_rows, stream
from qrt.engine.registry import MapName
from qrt.engine.split import MAX_CALIBRATION_ROWS, SplitData
from qrt.engine.trainer import CurveRecord, TrainedNetwork, TrainingSettings, Variant, train_stack, training_map_rows
from qrt.estimator.chosen_method import STEP_MAPS, ChosenMethod
from qrt.estimator.fit_sets import cross_fitting_splits
from qrt.estimator.threads import one_thread
from qrt.estimator.training_range import TrainingRange
from qrt.estimator.unusable_input import UnusableInput
from qrt.estimator.weights import effective_rows
from qrt.methods import FIXED_BANDWIDTH
from qrt.tuning import Candidate, choose

_WIDTH: KernelWidth = "variance"  # the paper's
# Products of matrices with fewer rows are computed in another order, and a row alone would differ in its last digits.
_FEWEST_ROWS = 64


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Networks of one kind, whose distributions are pooled, the maps on the pool, and the scale of the target.

    `training_range` is that of their training rows, into which values may be `squashed`; None in models from before it
    was kept.
    """

    networks: tuple[TrainedNetwork, ...]
    maps: tuple[CalibrationMap, ...]
    y_mean: float
    y_scale: float
    training_range: TrainingRange | None = None
    squashes: bool = False

    @property
    def variant(self) -> Variant:
        """What the networks have in common."""
        return self.networks[0].variant

    @property
    def longest(self) -> TrainedNetwork:
        """The network that trained longest."""
        return max(self.networks, key=lambda network: network.epochs)

    def predictive(self, x: npt.NDArray[np.float32]) -> PredictiveDistribution:
        """The predictive distributions of standardised rows x: (n, features), in the units of the target."""
        if self.training_range is not None and self.squashes:
            x = self.training_range.squashed(x)
        outputs = [network_outputs(network, x) for network in self.networks]
        if not all(bool(of_network.isfinite().all()) for of_network in outputs):
            raise UnusableInput(
                "the network has no finite prediction for rows whose values are very far from those of the training "
                "rows; look for outliers among them"
            )
        mixtures = [predictive_from_outputs(one, self.y_mean, self.y_scale).mixture for one in outputs]
        return PredictiveDistribution(pooled(mixtures), self.maps)


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit gives: the model, all networks' curves if recorded, the chosen one's metrics on validation rows."""

    model: FittedModel
    history: pd.DataFrame | None
    validation_metrics: dict[str, float]


def network_outputs(network: TrainedNetwork, x: npt.NDArray[np.float32]) -> Tensor:
    """Outputs (n, 3K) for standardised rows x: (n, features), which do not depend on the other rows."""
    missing = max(0, _FEWEST_ROWS - len(x))
    padded = np.concatenate([x, np.zeros((missing, x.shape[1]), np.float32)]) if missing else x
    return network.outputs(padded)[: len(x)]


def fit_model(
    data: SplitData,
    chosen: ChosenMethod,
    settings: TrainingSettings,
    seed: int,
    *,
    cv: int | None = None,
    log: Callable[[str], None],
    stop: Callable[[], bool] = lambda: False,
) -> Fit:
    """Train the networks of a method on a standardised split, and choose among them by the validation rows.

    Of a method with several members, all networks of one kind are a pool, and pools are chosen among. With `cv`, the
    split has training rows alone, of which each fold has its own networks: those rows that they do not see tell them
    when to stop, and validate and calibrate their predictions.
    """
    splits = [data] if cv is None else cross_fitting_splits(data, cv, seed)
    kinds, members = chosen.method.networks, math.ceil(chosen.members_for(data.sizes["train"]) / len(splits))
    seeds = member_seeds(seed, members * len(splits))
    variants = [kind for kind in kinds for _ in range(members)]
    folds: list[list[_Fold]] = [[] for _ in kinds]
    with one_thread():
        for number, split in enumerate(splits):
            of_fold = seeds[number * members : (number + 1) * members] * len(kinds)
            networks = train_stack(split, variants, settings, seed, log, seeds=of_fold, stop=stop)
            for kind, of_kind in enumerate(folds):
                of_kind.append(_Fold(networks[kind * members : (kind + 1) * members], split))
            if stop():
                break
        held_out = cv is not None
        trained = [_trained(_Parts(of_kind, settings, seed, chosen.squashes, held_out), chosen) for of_kind in folds]
        best = trained[choose([_candidate(number, one) for number, one in enumerate(trained)]).number]
    if best.failure:
        raise UnusableInput(
            f"training failed: {best.failure}. Look for outliers in X and y (a logarithm may help), or try a smaller "
            "learning_rate"
        )
    pools = [[network for fold in of_kind for network in fold.pool] for of_kind in folds]
    history = _history(pools, data.y_scale) if settings.record_curves else None
    return Fit(best.model, history, best.metrics)


@dataclass(frozen=True, eq=False)
class _Trained:
    """A trained pool with its maps, and why it cannot be used, if it cannot.

    `metrics` are those of the validation rows, `for_choice` those that pools are compared by; empty if diverged.
    """

    model: FittedModel
    metrics: dict[str, float]
    for_choice: dict[str, float]
    failure: str


def _trained(parts: _Parts, chosen: ChosenMethod) -> _Trained:
    if lost := next((fold.pool[0].reason for fold in parts.folds if not fold.networks), None):
        return _Trained(parts.model(()), {}, {}, lost)
    method, variant = chosen.method, parts.variant
    on_training_map = method.built_on == "training_map" and variant.alpha != 0
    base: tuple[CalibrationMap, ...] = (parts.training_map(),) if on_training_map else ()
    maps = for_choice = base
    if method.posthoc != "none":
        for bandwidth in chosen.posthoc_bandwidths or (variant.bandwidth or FIXED_BANDWIDTH,):
            maps = parts.recalibrated(maps, method.posthoc, bandwidth)
            # A step function has no NLL; among networks with one, the choice is made with the smooth map instead.
            name: MapName = "REFL" if method.posthoc in STEP_MAPS else method.posthoc
            for_choice = parts.recalibrated(for_choice, name, bandwidth)
    in_validation = parts.weights("validation")
    compared = metrics = evaluate(*parts.predictive("validation", for_choice), in_validation)
    failure = f"the validation NLL is {compared['nll']:g}" if diverged(compared["nll"]) else ""
    if method.posthoc in STEP_MAPS and not failure:
        metrics = evaluate(*parts.predictive("validation", maps), in_validation)
    return _Trained(parts.model(maps), metrics, compared, failure)


def _candidate(number: int, trained: _Trained) -> Candidate:
    """The pool as a candidate of the choice, by the paper's metrics."""
    variant = trained.model.variant
    nll, pce, crps = (trained.for_choice.get(name, math.nan) for name in ("nll", "pce_levels", "crps_wis"))
    bandwidth = math.nan if variant.bandwidth is None else variant.bandwidth
    return Candidate(number, variant.alpha, bandwidth, not trained.failure, nll, pce, crps)


@dataclass(frozen=True, eq=False)
class _Fold:
    """Networks of one kind, and the split that they were trained on."""

    pool: Sequence[TrainedNetwork]
    data: SplitData

    @property
    def networks(self) -> tuple[TrainedNetwork, ...]:
        """Those that have not diverged."""
        return tuple(network for network in self.pool if network.status == "ok")

    def model(self, maps: tuple[CalibrationMap, ...], *, squashes: bool) -> FittedModel:
        """The networks with these maps on top."""
        seen = TrainingRange.of(self.data.part(self.pool[0].variant.trained_on)[0])
        networks = self.networks or tuple(self.pool)
        return FittedModel(networks, maps, self.data.y_mean, self.data.y_scale, seen, squashes)


@dataclass(frozen=True, eq=False)
class _Parts:
    """A pool of trained networks, and its distributions on the parts of the split.

    With several folds, `held_out`, both parts are rows that each fold's networks have not seen, 2048 at most.
    """

    folds: Sequence[_Fold]
    settings: TrainingSettings
    seed: int
    squashes: bool
    held_out: bool

    @property
    def variant(self) -> Variant:
        """What the networks have in common."""
        return self.folds[0].pool[0].variant

    def model(self, maps: tuple[CalibrationMap, ...]) -> FittedModel:
        """The pool with these maps on top."""
        of_folds = [fold.model(maps, squashes=self.squashes) for fold in self.folds]
        networks = tuple(network for one in of_folds for network in one.networks)
        limits = [one.training_range for one in of_folds if one.training_range is not None]
        return replace(of_folds[0], networks=networks, training_range=TrainingRange.around(limits))

    def recalibrated(
        self, maps: tuple[CalibrationMap, ...], name: MapName, bandwidth: float
    ) -> tuple[CalibrationMap, ...]:
        """These maps, and one more on top, fitted to the calibration rows."""
        weights = self.weights("calibration")
        if weights is not None:  # that add up to the rows that these weights are worth
            weights = weights * (effective_rows(weights.numpy()) / weights.sum())
        return post_hoc_maps(*self.predictive("calibration", maps), name, bandwidth, _WIDTH, weights=weights)

    def predictive(self, part: str, maps: tuple[CalibrationMap, ...]) -> tuple[PredictiveDistribution, Tensor]:
        """The distributions of a part's rows and their targets, in the units of the target."""
        if self.held_out:
            mixture, y, _ = self._held_out_rows
        else:
            mixture, y = self._mixture_and_targets(self.folds[0], part)
        return PredictiveDistribution(mixture, maps), y

    def weights(self, part: str) -> Tensor | None:
        """The weights of a part's rows, if there are any."""
        if self.held_out:
            return self._held_out_rows[2]
        weights = self.folds[0].data.part_weights(part)
        return None if weights is None else torch.from_numpy(weights)

    def _mixture_and_targets(self, fold: _Fold, part: str) -> tuple[GaussianMixture, Tensor]:
        x, y = fold.data.part(part)
        mixture = fold.model((), squashes=self.squashes).predictive(x).mixture
        return mixture, torch.from_numpy(y).double() * fold.data.y_scale + fold.data.y_mean

    @cached_property
    def _held_out_rows(self) -> tuple[GaussianMixture, Tensor, Tensor | None]:
        """Rows that each fold's networks have not seen: mixtures, targets and weights."""
        mixtures, targets = zip(*(self._mixture_and_targets(fold, "validation") for fold in self.folds), strict=True)
        # A fold of which a network has diverged takes its others again, so that all mixtures have as many components.
        most = max(mixture.means.shape[1] for mixture in mixtures)
        places = [torch.arange(most) % mixture.means.shape[1] for mixture in mixtures]
        columns = [
            torch.cat([values[:, place] for values, place in zip(of_folds, places, strict=True)])
            for of_folds in zip(*mixtures, strict=True)
        ]
        columns[2] = columns[2].log_softmax(dim=1)
        found = [one for fold in self.folds if (one := fold.data.part_weights("validation")) is not None]
        y = torch.cat(targets)
        rows = sample_rows(len(y), MAX_CALIBRATION_ROWS, stream(self.seed, "held-out rows"))
        weights = torch.from_numpy(np.concatenate(found))[rows] if found else None
        return GaussianMixture(*(values[rows] for values in columns)), y[rows], weights

    def training_map(self) -> CalibrationMap:
        """The map of training as validation has it, of PITs of training rows under the pool."""
        (fold,), variant = self.folds, self.variant
        assert variant.bandwidth is not None
        x, y = fold.data.part(variant.trained_on)
        rows = training_map_rows(variant, len(x), self.settings, self.seed, self.weights(variant.trained_on))
        assert rows is not None
        standardised = FittedModel(fold.networks, (), 0.0, 1.0)  # within the range, as training rows are
        centres = standardised.predictive(x[rows.numpy()]).pit(torch.from_numpy(y)[rows].double())
        return fit_map("REFL", centres, variant.bandwidth, _WIDTH)


def _history(pools: Sequence[Sequence[TrainedNetwork]], y_scale: float) -> pd.DataFrame:
    """The curves of all networks, with NLLs in the units of the target."""
    rows = [
        {"alpha": network.variant.alpha, "bandwidth": network.variant.bandwidth, "member": member}
        | asdict(record)
        | {"selected_epoch": network.selected_epoch}
        for pool in pools
        for member, network in enumerate(pool)
        for record in network.curves or []
    ]
    columns = ["alpha", "bandwidth", "member", *(field.name for field in fields(CurveRecord)), "selected_epoch"]
    history = pd.DataFrame(rows, columns=columns)  # without rows if all diverge before the first validation
    for name in ("nll_recalibrated", "nll_base"):
        history[name] += math.log(y_scale)
    return history.rename(columns={"nll_recalibrated": "nll"}).drop(columns="alpha_entropy_pit")
