"""What docs/results.md says the outputs of networks take on disk, against a file that a training job wrote."""

from __future__ import annotations

from pathlib import Path

from qrt.engine.variant import Variant
from qrt_study.data.fetch import fetch
from qrt_study.data.prepared_store import prepare_dataset
from qrt_study.data.record import read_record
from qrt_study.documents.outputs_on_disk import bytes_of_family
from qrt_study.parquet_file import read_tables
from qrt_study.plan.family import Family
from qrt_study.training.family_job import train_family
from qrt_study.training.networks_file import NETWORKS, PARTS, write_networks

NETWORKS_OF_ALL_KINDS = (
    Variant(trained_on="train+calibration"),
    Variant(),
    Variant(alpha=1.0, bandwidth=0.1),
    Variant(alpha=1.0, bandwidth=0.1, ablation="QRI"),
    Variant(components=1, alpha=-1.0, bandwidth=0.1),
)


def test_outputs_take_as_much_as_the_formula_says(tmp_path: Path) -> None:
    table, record, prepared = tmp_path / "raw.parquet", tmp_path / "raw.json", tmp_path / "prepared"
    place = {"cache": tmp_path / "cache", "lock": tmp_path / "lock.json"}
    fetch("skewed", table, record, sources=[], mirror=None, own=None, **place)
    prepare_dataset("skewed", table, record, prepared)
    family = Family("all", NETWORKS_OF_ALL_KINDS, (), True, {"kernel_width": "variance"})
    networks = train_family(prepared, 0, 0, family, {"max_epochs": 2, "patience": 1}, log=lambda line: None)
    write_networks(tmp_path / "all.networks.parquet", networks)
    rows = read_tables([tmp_path / "all.networks.parquet"], NETWORKS).to_pylist()
    stored = sum(len(row[part] or b"") for row in rows for part in PARTS)
    assert stored == bytes_of_family(family, read_record(prepared / "record.json")["rows"])
