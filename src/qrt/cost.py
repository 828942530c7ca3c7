"""What a training job costs, estimated from rows, features and networks before it runs (docs/engine.md)."""

from __future__ import annotations

from qrt.data.embedded import EMBEDDED, GeneratedDataset
from qrt.data.sheet import paper_datasets
from qrt.family import Family

UNKNOWN_SHAPE = (60_000, 100)  # of data of the user's own: rather too much than too little
_BATCH = 512
_EPOCHS = 150  # rarely more; small datasets train longer, but their epochs cost nothing
_MS_PER_STEP = {"mlp": 3.0, "resnet": 100.0}  # of one network at a full batch
_MS_PER_FEATURE = 0.01  # the first layer
_MB_PER_NETWORK = {"mlp": 8, "resnet": 200}  # parameters, gradients, optimiser, best parameters, activations
_MB_PER_FEATURE = 0.003
_START_SECONDS = 30
_SAFETY = 3


def table_shape(dataset: str) -> tuple[int, int]:
    """Training rows and features of a dataset, as published or as generated."""
    if dataset in paper_datasets():
        published = paper_datasets()[dataset].published
        return published.train_rows, published.features
    known = EMBEDDED.get(dataset)
    if isinstance(known, GeneratedDataset):
        return known.rows, known.features
    return (500, 20) if known else UNKNOWN_SHAPE


def training_seconds(dataset: str, family: Family, max_epochs: int) -> float:
    """Estimated seconds of one training job on one core."""
    rows, features = table_shape(dataset)
    steps = max(1, rows // _BATCH) * min(_EPOCHS, max_epochs)
    share = min(1.0, rows / _BATCH)  # of a full batch
    per_step = sum(_MS_PER_STEP[network.base_model] + _MS_PER_FEATURE * features for network in family.networks)
    return _START_SECONDS + steps * per_step * max(share, 0.2) / 1000


def training_minutes(dataset: str, family: Family, max_epochs: int, attempt: int) -> int:
    """Minutes to ask a cluster for; more with each attempt."""
    return int(attempt * _SAFETY * training_seconds(dataset, family, max_epochs) / 60) + 10


def training_memory(dataset: str, family: Family, attempt: int) -> int:
    """MB to ask for: PyTorch, three copies of the data, and the networks with their optimiser."""
    rows, features = table_shape(dataset)
    data = 3 * (rows / 0.65) * features * 4 / 1e6
    networks = sum(_MB_PER_NETWORK[network.base_model] + _MB_PER_FEATURE * features for network in family.networks)
    return int(attempt * (1000 + data + networks))
