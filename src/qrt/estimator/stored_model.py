"""A fitted regressor as facts and arrays for a model file, and back, with everything checked on the way back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import qrt
from qrt.engine.calibration_map import CalibrationMap, KernelMap, StepMap, kernel_map, reflected_map
from qrt.engine.network import Network
from qrt.engine.registry import MAP_NAMES
from qrt.engine.trainer import TrainedNetwork, TrainingSettings, build_network
from qrt.engine.variant import Variant
from qrt.errors import UserError
from qrt.estimator.chosen_method import STEP_MAPS
from qrt.estimator.columns import TableColumns
from qrt.estimator.fitted_model import FittedModel
from qrt.estimator.model_file import read_model_file, refused, write_model_file
from qrt.estimator.training_range import TrainingRange

_MOST_COMPONENTS = 10_000
_NARROWEST_KERNEL, _WIDEST_KERNEL = 1e-9, 1e9
_LARGEST = 1e300  # of means and scales: with more, or less than its inverse, predictions leave the floats


@dataclass(frozen=True, eq=False)
class StoredModel:
    """What a model file holds of a regressor.

    `parameters` are those of its constructor, `feature_names` the names of the columns if X was a pandas table with
    names that are texts, `validation_metrics` those of the fit.
    """

    parameters: dict[str, Any]
    feature_names: tuple[str, ...] | None
    seed: int
    columns: TableColumns
    model: FittedModel
    validation_metrics: dict[str, float]


def save_model(path: Path, stored: StoredModel) -> None:
    """Write a model file."""
    model = stored.model
    facts = {
        "package_version": qrt.__version__,
        "parameters": stored.parameters,
        "feature_names": stored.feature_names,
        "seed": stored.seed,
        "columns": {
            "labels": stored.columns.labels,
            "categories": stored.columns.categories,
            "missing": stored.columns.missing,
        },
        "target": {"mean": model.y_mean, "scale": model.y_scale},
        "squashes": model.squashes,
        "networks": [
            {
                "variant": asdict(network.variant),
                "epochs": network.epochs,
                "selected_epoch": network.selected_epoch,
                "best_value": network.best_value,
                "train_seconds": network.train_seconds,
            }
            for network in model.networks
        ],
        "maps": [_map_facts(one) for one in model.maps],
        "validation_metrics": {
            name: value if math.isfinite(value) else str(value) for name, value in stored.validation_metrics.items()
        },
    }
    arrays: dict[str, npt.NDArray[Any]] = {"x.means": stored.columns.means, "x.scales": stored.columns.scales}
    if model.training_range is not None:
        arrays |= {"x.lows": model.training_range.lows, "x.highs": model.training_range.highs}
    for number, network in enumerate(model.networks):
        arrays |= {f"network{number}.{name}": network.parameters[name].numpy() for name in _shapes(network.network)}
    for number, one in enumerate(model.maps):
        centres, weights = _centres(one)
        arrays[f"map{number}.centres"] = centres.numpy()
        if weights is not None:
            arrays[f"map{number}.weights"] = weights.numpy()
    write_model_file(path, facts, arrays)


def load_model(path: Path) -> StoredModel:
    """Read a model file; whatever is not as `save_model` has it is refused."""
    facts, arrays = read_model_file(path)
    try:
        return _stored_model(facts, _Taken(arrays))
    except _Wrong as wrong:
        raise refused(path, str(wrong)) from wrong
    except UserError as error:
        raise refused(path, str(error)) from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise refused(path, f"{type(error).__name__}: {error}") from error


class _Wrong(Exception):
    """What is not as saved."""


class _Taken:
    """The arrays of a file. Each is taken once, with the shape that it must have."""

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self.left = dict(arrays)

    def take(self, name: str, kind: str, shape: tuple[int | None, ...]) -> npt.NDArray[Any]:
        """The array with this name; None in `shape` is any size."""
        array = self.left.pop(name, None)
        if array is None:
            raise _Wrong(f"the array {name!r} is missing")
        fits = array.ndim == len(shape) and all(
            want in (None, have) for want, have in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype.str != kind:
            raise _Wrong(f"the array {name!r} has the type {array.dtype} and the shape {array.shape}")
        if not np.isfinite(array).all():
            raise _Wrong(f"the array {name!r} has values that are not finite")
        return array


def _stored_model(facts: Mapping[str, Any], arrays: _Taken) -> StoredModel:
    columns = _columns(facts["columns"], arrays)
    target = facts["target"]
    y_mean, y_scale = _number(target["mean"], "mean"), _number(target["scale"], "scale")
    _check_scaling("the target", y_mean, y_scale)
    networks = _networks(facts, len(columns.features), arrays)
    maps = tuple(_map(one, arrays, number) for number, one in enumerate(_sequence(facts["maps"], "maps")))
    training_range = _training_range(len(columns.features), arrays)
    names = facts["feature_names"]
    if names is not None and (tuple(names) != columns.labels):
        raise _Wrong("the names of its columns do not agree")
    metrics = {str(name): float(value) for name, value in facts["validation_metrics"].items()}
    parameters = facts["parameters"]
    if not isinstance(parameters, dict):
        raise _Wrong("it has no parameters")
    if arrays.left:
        raise _Wrong(f"it has an array {next(iter(arrays.left))!r} that no model has")
    return StoredModel(
        parameters=parameters,
        feature_names=None if names is None else tuple(names),
        seed=_whole_number(facts["seed"], "seed"),
        columns=columns,
        model=FittedModel(networks, maps, y_mean, y_scale, training_range, facts.get("squashes") is True),
        validation_metrics=metrics,
    )


def _columns(facts: Mapping[str, Any], arrays: _Taken) -> TableColumns:
    labels = tuple(_text(label) for label in _sequence(facts["labels"], "labels"))
    categories = tuple(
        None if found is None else tuple(_text(one) for one in _sequence(found, "categories"))
        for found in _sequence(facts["categories"], "categories")
    )
    # Files from before missing values were taken do not say which columns have them: none.
    missing = tuple(_truth(one) for one in _sequence(facts.get("missing", []), "missing values"))
    if not labels or len(labels) != len(categories) or len(missing) not in (0, len(labels)):
        raise _Wrong("its columns do not agree")
    features = (len(TableColumns(labels, categories, missing=missing).features),)
    means, scales = arrays.take("x.means", "<f8", features), arrays.take("x.scales", "<f8", features)
    _check_scaling("a column", means, scales)
    return TableColumns(labels, categories, means, scales, missing)


def _training_range(features: int, arrays: _Taken) -> TrainingRange | None:
    """The range of the training rows, which files of format 1 do not have."""
    if "x.lows" not in arrays.left:
        return None
    lows, highs = (arrays.take(name, "<f4", (features,)) for name in ("x.lows", "x.highs"))
    if (lows > highs).any():
        raise _Wrong("the range of its training rows is empty")
    return TrainingRange(lows, highs)


def _networks(facts: Mapping[str, Any], features: int, arrays: _Taken) -> tuple[TrainedNetwork, ...]:
    """The networks of a model; a file of format 1 has one, without a number."""
    if "network" in facts:
        return (_network(facts["network"], features, arrays, "network"),)
    listed = _sequence(facts["networks"], "networks")
    networks = tuple(_network(one, features, arrays, f"network{number}") for number, one in enumerate(listed))
    if len({network.variant for network in networks}) != 1:
        raise _Wrong("its networks are not of one kind")
    return networks


def _network(facts: Mapping[str, Any], features: int, arrays: _Taken, prefix: str) -> TrainedNetwork:
    entries = facts["variant"]
    if set(entries) != {field.name for field in fields(Variant)}:
        raise _Wrong("its network is of an unknown kind")
    variant = Variant(**entries)
    if variant.components > _MOST_COMPONENTS:
        raise _Wrong(f"its network has {variant.components} components")
    network = build_network(variant, features, TrainingSettings())
    return TrainedNetwork(
        variant=variant,
        status="ok",
        reason="",
        epochs=_whole_number(facts["epochs"], "epochs"),
        selected_epoch=_whole_number(facts["selected_epoch"], "selected_epoch"),
        best_value=_number(facts["best_value"], "best_value"),
        train_seconds=_number(facts["train_seconds"], "train_seconds"),
        parameters={
            name: torch.from_numpy(arrays.take(f"{prefix}.{name}", "<f4", shape))
            for name, shape in _shapes(network).items()
        },
        curves=None,
        network=network,
    )


def _shapes(network: Network) -> dict[str, tuple[int, ...]]:
    """The shapes of what a network needs to predict."""
    return network.parameter_shapes | network.statistic_shapes


def _centres(calibration_map: CalibrationMap) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The centres of a map and their weights."""
    assert isinstance(calibration_map, KernelMap | StepMap)
    return calibration_map.centres, calibration_map.weights


def _map_facts(calibration_map: CalibrationMap) -> dict[str, Any]:
    """Everything about a map but its centres."""
    assert isinstance(calibration_map, KernelMap | StepMap)
    names = ("name", "divisor") if isinstance(calibration_map, StepMap) else ("name", "scale", "offset", "total")
    return {name: getattr(calibration_map, name) for name in names}


def _map(facts: Mapping[str, Any], arrays: _Taken, number: int) -> CalibrationMap:
    name = facts["name"]
    if name not in MAP_NAMES:
        raise _Wrong(f"it has an unknown calibration map {name!r}")
    centres = torch.from_numpy(arrays.take(f"map{number}.centres", "<f8", (None,)))
    reflected = name == "REFL"
    low, high = (-1, 2) if reflected else (0, 1)
    if not len(centres) or (centres.diff() < 0).any() or centres[0] < low or centres[-1] > high:
        raise _Wrong("the centres of a calibration map are not sorted PITs")
    weights, rows = None, float(len(centres))
    if f"map{number}.weights" in arrays.left:
        weights = torch.from_numpy(arrays.take(f"map{number}.weights", "<f8", centres.shape))
        rows = float(weights.cumsum(0)[-1])
        if not (weights > 0).all() or not math.isfinite(rows):
            raise _Wrong("a weight of a calibration map is not above 0")
    if name in STEP_MAPS:
        divisor = _number(facts["divisor"], "divisor")
        if divisor not in (rows, rows + 1):
            raise _Wrong("a calibration map does not fit its centres")
        return StepMap(name, centres, int(divisor) if weights is None else divisor, weights)
    scale, offset, total = (_number(facts[key], key) for key in ("scale", "offset", "total"))
    if not _NARROWEST_KERNEL <= scale <= _WIDEST_KERNEL:
        raise _Wrong("the kernel of a calibration map is not as fitted")
    expected, is_fitted = (rows / 3, rows / 3), True
    if reflected:
        third = len(centres) // 3
        is_fitted = reflected_map(centres[third : 2 * third], scale).centres.equal(centres)
    else:
        fitted = kernel_map(name, centres, scale, weights)
        expected = (fitted.offset, fitted.total)
    if not (is_fitted and np.allclose((offset, total), expected, rtol=1e-9, atol=1e-12)):
        raise _Wrong("a calibration map does not fit its centres")
    return KernelMap(name, centres, scale, offset, total, weights)


def _check_scaling(what: str, means: float | npt.NDArray[Any], scales: float | npt.NDArray[Any]) -> None:
    if np.any(np.abs(means) > _LARGEST) or np.any(scales < 1 / _LARGEST) or np.any(scales > _LARGEST):
        raise _Wrong(f"the mean or the scale of {what} is not as fitted")


def _sequence(value: object, what: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise _Wrong(f"its {what} are no list")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Wrong(f"{value!r} is no text")
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Wrong(f"{value!r} is no truth value")
    return value


def _number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _Wrong(f"its {what} is {value!r}, no finite number")
    return float(value)


def _whole_number(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _Wrong(f"its {what} is {value!r}, no whole number")
    return value
