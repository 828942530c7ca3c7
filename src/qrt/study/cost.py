"""What a training job costs, estimated from rows, features and networks before it runs (docs/cluster.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qrt.data.embedded import EMBEDDED, GeneratedDataset
from qrt.data.sheet import paper_datasets
from qrt.study.family import Family

if TYPE_CHECKING:
    from qrt.study.config import OwnDataset

Shape = tuple[int, int]  # training rows, features
UNKNOWN_SHAPE: Shape = (60_000, 100)  # of a file whose size cannot be told: rather too much than too little
_TRAIN_SHARE, _MOST_ROWS = 0.65, 53_164
_BATCH = 512
_SMALLEST_SHARE = 0.4  # of a full batch: a small one costs more than its share
_EPOCHS = {"mlp": 150, "resnet": 100}  # rarely more; small datasets train longer, but their epochs cost nothing
_MS_PER_STEP = {"mlp": 3.5, "resnet": 140.0}  # of one network with a mixture of 1 or 3 at a full batch
_LARGE_MIXTURE = 2.0  # times as much for a mixture of 10
_MS_PER_FEATURE = 0.01  # the first layer
_MS_PER_CURVE_ROW, _CURVE_ROWS = 0.012, 8192  # per-epoch records of a network with a map
# Memory to ask for: 1.2 to 1.7 times what was measured (docs/cluster.md), and what a cluster counts besides.
FETCHING_MB, PREPARING_MB = 4000, 8000  # for the largest tables, read from text
MB_OF_SNAKEMAKE = 400  # two of them for a job, 190 MB each
_MB_TO_START = 500  # Python and PyTorch
_COPIES_OF_THE_DATA = 2.5
_MB_PER_NETWORK = {"mlp": 3, "resnet": 100}  # parameters, gradients, optimiser, best parameters, activations
_MB_PER_FEATURE = {"mlp": 0.0027, "resnet": 0.008}  # the first layer of each network
START_SECONDS = 4  # of Python and PyTorch
_SLOW_START_SECONDS = 26  # on a busy file system
_GROUPED_SECONDS = {"train_seconds": 60.0, "train_minutes": 300.0}
_SAFETY = 3
# Evaluation of one network with all its maps, per training row of the dataset; 5 splits in a job.
_EVALUATION_SECONDS_PER_ROW, _SPLITS, _EVALUATION_MB = 3e-4, 5, 300


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


@dataclass(frozen=True)
class TrainingJob:
    """A training job before it runs: shape of the data, networks, and the most epochs they may train."""

    shape: Shape
    family: Family
    max_epochs: int

    @property
    def seconds(self) -> float:
        """Estimated seconds on one core."""
        rows, features = self.shape
        steps = max(1, rows // _BATCH) * min(1.0, max(_SMALLEST_SHARE, rows / _BATCH))
        milliseconds = 0.0
        for network in self.family.networks:
            per_step = _MS_PER_STEP[network.base_model] * (_LARGE_MIXTURE if network.components > 3 else 1)
            records = _MS_PER_CURVE_ROW * min(rows, _CURVE_ROWS) if self.family.curves and network.alpha else 0.0
            per_epoch = steps * (per_step + _MS_PER_FEATURE * features) + records
            milliseconds += min(_EPOCHS[network.base_model], self.max_epochs) * per_epoch
        return START_SECONDS + milliseconds / 1000

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

    def evaluation_minutes(self, attempt: int) -> int:
        """Minutes to ask a cluster for the evaluation of its networks and of those of the other splits."""
        seconds = _SPLITS * len(self.family.networks) * _EVALUATION_SECONDS_PER_ROW * self.shape[0]
        return int(attempt * _SAFETY * (seconds + _SLOW_START_SECONDS) / 60) + 2

    def evaluation_memory(self, attempt: int) -> int:
        """MB to ask for that evaluation: Snakemake, PyTorch, and what the networks of one split say."""
        outputs = sum(12 * network.components * self.shape[0] / 1e6 for network in self.family.networks)
        return int(attempt * (MB_OF_SNAKEMAKE + _MB_TO_START + _EVALUATION_MB + 2 * outputs))
