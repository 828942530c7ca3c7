"""What the outputs of the networks take on disk, computed from the plan of a study."""

from __future__ import annotations

from qrt.engine.curves import CURVE_ROWS
from qrt.engine.split import MAX_ROWS, part_sizes
from qrt.engine.validation import MAP_ROWS
from qrt.engine.variant import Variant
from qrt.methods import BASE_MODELS, MAIN_MODEL
from qrt_study.data.sheet import paper_datasets
from qrt_study.plan.experiments import Plan
from qrt_study.plan.family import Family

BYTES_PER_NUMBER = 4
NUMBERS_PER_COMPONENT = 3
_WITH_CENTRES_OF_ITS_OWN = ("initial", "learned")


_TRAIN_SHARE = 0.65  # of the rows of a table


def bytes_of_study(plan: Plan, splits: int) -> int:
    """Bytes of all networks of a study on the datasets of the paper, by the published numbers of training rows."""
    tables = [min(round(row.published.train_rows / _TRAIN_SHARE), MAX_ROWS) for row in paper_datasets().values()]
    return splits * sum(bytes_of_family(family, rows) for family in plan.families.values() for rows in tables)


def bytes_of_family(family: Family, table_rows: int) -> int:
    """Bytes of the outputs of one training job on a dataset with so many rows."""
    return sum(
        BYTES_PER_NUMBER * NUMBERS_PER_COMPONENT * network.components * _rows(network, family.curves, table_rows)
        for network in family.networks
    )


def _rows(network: Variant, curves: bool, table_rows: int) -> int:
    """The rows on which the outputs of a network are kept (qrt_study.training.networks_file.PARTS)."""
    train, validation, calibration, test = part_sizes(table_rows)
    trained_on = train if network.trained_on == "train" else train + calibration
    rows = validation + calibration + test
    if network.map_source is not None and network.map_source not in _WITH_CENTRES_OF_ITS_OWN:
        rows += min(MAP_ROWS, trained_on)
    is_main = (network.base_model, network.components) == BASE_MODELS[MAIN_MODEL]
    if curves and is_main and network.trained_on == "train":
        rows += min(CURVE_ROWS, trained_on)
    return rows
