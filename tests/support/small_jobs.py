"""Training and evaluation jobs of seconds, on an embedded dataset."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from qrt.engine.variant import Variant
from qrt_study.plan.family import Family
from qrt_study.results.evaluation_job import EvaluatedFamily, evaluate_family
from qrt_study.training.family_job import train_family
from qrt_study.training.networks_file import write_networks
from support.data_folders import fetch_into, prepare_in

TRAINING = {"max_epochs": 4, "patience": 2}
BASE, PLAIN = Variant(trained_on="train+calibration"), Variant()
QRT = Variant(alpha=1.0, bandwidth=0.2)
FAMILY = Family(
    name="all",
    networks=(BASE, PLAIN, QRT),
    posthoc=(("none",), ("none", "REFL"), ("none", "REFL", "KDE")),
    curves=True,
    conditions={"kernel_width": "scale", "map_centres": "same_pass"},
)


def prepared_dataset(folder: Path, name: str) -> Path:
    """The folder of a prepared embedded dataset."""
    fetch_into(folder, name)
    prepare_in(folder, name)
    return folder / "prepared" / name


def train_into(file: Path, data: Path, split: int, family: Family = FAMILY) -> Path:
    """Train a family as the command does; the file of its networks."""
    write_networks(file, train_family(data, split, 0, family, TRAINING, log=lambda line: None))
    return file


def evaluated(files: Mapping[int, Path], data: Path, family: Family = FAMILY, *, examples: bool) -> EvaluatedFamily:
    """The rows of trained networks of the dataset whose prepared data is in `data`."""
    return evaluate_family(data.name, data, 0, family, files, examples=examples)
