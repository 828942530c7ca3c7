"""What a training job costs, estimated from rows, features and networks before it runs (docs/costs.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from qrt_study.data.embedded import EMBEDDED, GeneratedDataset
from qrt_study.data.sheet import paper_datasets
from qrt_study.plan.family import Family
from qrt_study.published import table2

if TYPE_CHECKING:
    from qrt.engine.variant import Variant
    from qrt_study.plan.own_dataset import OwnDataset

Shape = tuple[int, int]  # training rows, features
UNKNOWN_SHAPE: Shape = (60_000, 100)  # of a file whose size cannot be told: rather too much than too little
_TRAIN_SHARE, _MOST_ROWS = 0.65, 53_164
_BATCH = 512
_SMALLEST_SHARE = 0.4  # of a full batch: a small one costs more than its share
USUAL_EPOCHS = 150.0  # of data that the paper does not have
_EPOCHS_OF_PATIENCE = 30  # trained after the best one: 15 validations, one every second epoch
_SHARE_OF_EPOCHS = {"mlp": 1.0, "resnet": 0.7}  # that a base model trains, of those of the MLP
_MS_PER_STEP = {"mlp": 2.8, "resnet": 115.0}  # of one network in a stack at a full batch, its validations included
_RELEASED_RESNET = 1.4  # times as much for that form
_MS_PER_MAP = 0.4  # more for a network with a map in training
_SECOND_PASS = {"mlp": 1.25, "resnet": 2.0}  # times as much with centres from a pass of their own
_MS_PER_MAP_ROW = 0.0045  # a map of M training rows
_MS_PER_FEATURE = 0.008  # the first layer
_MS_PER_CURVE_ROW, _CURVE_ROWS = 0.0015, 8192  # per-epoch records of a network with a map, in an epoch
# A step of each network of Table 2, trained alone: BASE, QREGC, QRTC, and QRTC with the map of the released code.
_MS_PER_TIMED_STEP, _MS_PER_TIMED_FEATURE = 33.0, 0.16
# Memory to ask for: 1.2 to 1.7 times what was measured (docs/costs.md), and what a cluster counts besides.
FETCHING_MB, PREPARING_MB = 4000, 8000  # for the largest tables, read from text
MB_OF_SNAKEMAKE = 400  # two of them for a job, 190 MB each
_MB_TO_START = 500  # Python and PyTorch
_COPIES_OF_THE_DATA = 2.5
_MB_PER_NETWORK = {"mlp": 3, "resnet": 100}  # parameters, gradients, optimiser, best parameters, activations
_MB_PER_FEATURE = {"mlp": 0.0027, "resnet": 0.008}  # the first layer of each network
START_SECONDS = 3  # of Python and PyTorch, on a busy machine
_SLOW_START_SECONDS = 26  # on a busy file system
_GROUPED_SECONDS = {"train_seconds": 60.0, "train_minutes": 300.0}
_SAFETY = 3
# Evaluation of a network on one split in one reading: with a post-hoc map or none, on or without its own map, ...
_READING_SECONDS, _READING_SECONDS_PER_ROW = 0.025, 2.2e-5  # the second for each training row, with three components
_READINGS_OF_A_MAP = {"with": 3.0, "without": 1.3}  # for each post-hoc map: networks with and without one of their own
_SPLITS, _EVALUATION_MB = 5, 300  # all splits in a job


def table_shape(dataset: str, own: Mapping[str, OwnDataset] | None = None) -> Shape:
    """Training rows and features of a dataset: as published, as generated, or by the size of the user's `own` file."""
    if dataset in paper_datasets():
        published = paper_datasets()[dataset].published
        return published.train_rows, published.features
    known = EMBEDDED.get(dataset)
    if isinstance(known, GeneratedDataset):
        return known.rows, known.features
    if known:
        return 500, 20
    rows, features = own[dataset].shape if own else (0, 0)
    return (min(round(_TRAIN_SHARE * rows), _MOST_ROWS), features) if rows else UNKNOWN_SHAPE


def usual_epochs(dataset: str) -> float:
    """Epochs that an MLP trains on a dataset: as published in Table 2, on which size has little influence."""
    return _published_epochs().get(dataset, USUAL_EPOCHS)


@cache
def _published_epochs() -> dict[str, float]:
    table = table2().set_index("dataset")
    selected = table[[f"epochs_{method}" for method in ("BASE", "QREGC", "QRTC")]].mean(axis=1)
    return {str(dataset): float(epochs) + _EPOCHS_OF_PATIENCE for dataset, epochs in selected.items()}


def timing_seconds(shape: Shape, epochs: float) -> float:
    """Estimated seconds on one core for the times of Table 2 on one split, of networks that train so many epochs."""
    rows, features = shape
    return START_SECONDS + epochs * _steps(rows) * (_MS_PER_TIMED_STEP + _MS_PER_TIMED_FEATURE * features) / 1000


def _steps(rows: int) -> float:
    """Steps of an epoch, in those with a full batch."""
    return max(1, rows // _BATCH) * min(1.0, max(_SMALLEST_SHARE, rows / _BATCH))


@dataclass(frozen=True)
class TrainingJob:
    """A training job before it runs: shape of the data, networks, and the epochs that they may and usually do train."""

    shape: Shape
    family: Family
    max_epochs: int
    usual_epochs: float = USUAL_EPOCHS  # of an MLP on this dataset

    @cached_property
    def seconds(self) -> float:
        """Estimated seconds on one core."""
        rows, _ = self.shape
        steps, milliseconds = _steps(rows), 0.0
        for network in self.family.networks:
            records = _MS_PER_CURVE_ROW * min(rows, _CURVE_ROWS) if self.family.curves and network.alpha else 0.0
            milliseconds += self.epochs_of(network) * (steps * self._step_of(network) + records)
        return START_SECONDS + milliseconds / 1000

    def epochs_of(self, network: Variant) -> float:
        """Epochs that a network is expected to train."""
        return min(_SHARE_OF_EPOCHS[network.base_model] * self.usual_epochs, self.max_epochs)

    def _step_of(self, network: Variant) -> float:
        """Milliseconds of a step of a network at a full batch."""
        rows, features = self.shape
        milliseconds = _MS_PER_STEP[network.base_model] + _MS_PER_FEATURE * features
        if self.family.condition("resnet", network) == "layernorm_reglu":
            milliseconds *= _RELEASED_RESNET
        if network.alpha:
            milliseconds += _MS_PER_MAP
        if self.family.condition("map_centres", network) == "second_pass":
            milliseconds *= _SECOND_PASS[network.base_model]
        return milliseconds + _MS_PER_MAP_ROW * min(network.map_size or 0, rows)

    @property
    def group(self) -> str | None:
        """The group in which a cluster runs it with others of its length; None if it is long enough."""
        seconds = self.seconds - START_SECONDS
        return next((group for group, limit in _GROUPED_SECONDS.items() if seconds < limit), None)

    def minutes(self, attempt: int) -> int:
        """Minutes to ask a cluster for; more with each attempt."""
        return int(attempt * _SAFETY * (self.seconds + _SLOW_START_SECONDS) / 60) + 2

    def memory(self, attempt: int) -> int:
        """MB to ask for: Snakemake, PyTorch, the data, the networks with their optimiser; more with each attempt."""
        rows, features = self.shape
        data = _COPIES_OF_THE_DATA * (rows / _TRAIN_SHARE) * features * 4 / 1e6
        networks = sum(
            _MB_PER_NETWORK[network.base_model] + _MB_PER_FEATURE[network.base_model] * features
            for network in self.family.networks
        )
        return int(attempt * (MB_OF_SNAKEMAKE + _MB_TO_START + data + networks))

    @property
    def evaluation_seconds(self) -> float:
        """Estimated seconds on one core for the evaluation of its networks and of those of the other splits."""
        rows, _ = self.shape
        seconds = 0.0
        for network, maps in zip(self.family.networks, self.family.posthoc, strict=True):
            readings = len(maps) * _READINGS_OF_A_MAP["with" if network.alpha else "without"]
            seconds += readings * (_READING_SECONDS + _READING_SECONDS_PER_ROW * rows * network.components / 3)
        return START_SECONDS + _SPLITS * seconds

    def evaluation_minutes(self, attempt: int) -> int:
        """Minutes to ask a cluster for that evaluation; more with each attempt."""
        return int(attempt * _SAFETY * (self.evaluation_seconds + _SLOW_START_SECONDS) / 60) + 2

    def evaluation_memory(self, attempt: int) -> int:
        """MB to ask for that evaluation: Snakemake, PyTorch, and what the networks of one split say."""
        outputs = sum(12 * network.components * self.shape[0] / 1e6 for network in self.family.networks)
        return int(attempt * (MB_OF_SNAKEMAKE + _MB_TO_START + _EVALUATION_MB + 2 * outputs))
