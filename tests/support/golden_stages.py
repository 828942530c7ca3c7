"""Golden values of evaluation and preparation: what they make of made-up outputs of networks and of a made-up table."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from qrt.engine.curves import CurveRecord, curve_rows
from qrt.engine.registry import METRICS
from qrt.engine.trainer import training_map_rows
from qrt.engine.variant import Variant
from qrt_study.data.prepared_store import prepare_dataset
from qrt_study.data.raw_store import write_raw
from qrt_study.data.raw_table import RawTable
from qrt_study.data.record import file_sha256, write_record
from qrt_study.data.split_store import load_targets
from qrt_study.plan.family import Family
from qrt_study.results.evaluation_job import evaluate_family
from qrt_study.training.family_job import training_settings
from qrt_study.training.networks_file import NetworkResult, write_networks

TOLERANCE = 1e-7  # relative, of a metric
_MAPS: Any = ("none", "REFL", "KDE", "TRUNC")
_QRT: dict[str, Any] = {"alpha": 1.0, "bandwidth": 0.2}
FAMILY = Family(
    name="golden",
    networks=(
        Variant(trained_on="train+calibration"),
        Variant(),
        Variant(**_QRT),
        Variant(**_QRT, map_size=8),
        Variant(**_QRT, ablation="QRL"),
        Variant(components=1, **_QRT),
    ),
    posthoc=(("none",), _MAPS, _MAPS, ("none", "REFL"), ("none", "REFL"), ("none", "REFL")),
    curves=True,
    conditions={"kernel_width": "variance", "map_rows_outside": "map_size"},
)
_WAY = ("variant", "posthoc_map", "posthoc_on", "posthoc_bandwidth", "kernel_width")
_METRICS = [f"{part}_{name}" for part in ("val", "test", "train") for name in METRICS]


def golden_evaluation() -> dict[str, dict[str, Any]]:
    """The metrics of made-up outputs, by network and post-hoc map, with means of the predicted densities."""
    with tempfile.TemporaryDirectory() as folder:
        networks = _made_up_networks(Path(folder))
        rows = evaluate_family("golden", Path(folder), 0, FAMILY, {0: networks}, examples=True)
    examples = pd.DataFrame(rows.predictions).fillna({"posthoc_bandwidth": 0.0, "kernel_width": ""})
    means = examples.groupby([*_WAY], dropna=False)[["target", "nll", "y", "density"]].mean().to_dict("index")
    found = {}
    for row in rows.runs:
        way = tuple(row[name] or ("" if name == "kernel_width" else 0.0) for name in _WAY)
        metrics = {name: row[name] for name in _METRICS if name in row}
        metrics |= {f"example_{name}": value for name, value in means.get(way, {}).items()}
        found[" ".join(map(str, way))] = {name: float(f"{value:.12g}") for name, value in metrics.items()}
    curves = [[record[name] for name in ("epoch", "part", "pce", "selected_epoch")] for record in rows.curves]
    return found | {"curves": {"rows": len(curves), "first": curves[0], "last": curves[-1]}}


def metrics_difference(before: Mapping[str, Any], now: Mapping[str, Any], *, exactly: bool) -> str:
    """Which metrics differ; empty if none does."""
    different = [name for name in {**before, **now} if not _close(before.get(name), now.get(name))]
    return f"other values of {', '.join(different)}" if different else ""


def _close(before: Any, now: Any) -> bool:
    if isinstance(before, float) and isinstance(now, float):
        return bool(np.isclose(now, before, rtol=TOLERANCE, atol=0, equal_nan=True))
    return bool(before == now)


def golden_preparation() -> dict[str, dict[str, Any]]:
    """The record of a made-up table, which has the checksums of the numbers, under the rules of each kind of source."""
    with tempfile.TemporaryDirectory() as folder:
        return {
            rules: _prepared(Path(folder) / rules, rules, transform)
            for rules, transform in (("openml", "none"), ("uci", "none"), ("own", "log1p"))
        }


def record_difference(before: Mapping[str, Any], now: Mapping[str, Any], *, exactly: bool) -> str:
    """Which entries of a record differ; empty if none does."""
    different = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return f"another {', '.join(different)}" if different else ""


def _made_up_networks(folder: Path) -> Path:
    """Targets in `folder`, and a file of networks whose outputs nobody has trained."""
    generator = np.random.default_rng(7)
    np.save(folder / "y.npy", generator.gamma(2.0, size=240).astype(np.float32))
    record = {"dataset": "golden", "status": "available", "reason": "", "y_sha256": file_sha256(folder / "y.npy")}
    write_record(folder / "record.json", record)
    targets = load_targets(folder, 0)
    networks = []
    for variant in FAMILY.networks:
        trained_on = len(range(*targets.rows(variant.trained_on).indices(len(targets.y))))
        rows = {part: targets.sizes[part] for part in ("validation", "calibration", "test")}
        if (of_map := training_map_rows(variant, trained_on, training_settings(FAMILY, {}), 0)) is not None:
            rows["map"] = len(of_map)
        if variant == Variant():
            rows["curves"] = len(curve_rows(trained_on, 0))
        outputs = {
            part: torch.from_numpy(generator.normal(size=(count, 3 * variant.components)).astype(np.float32))
            for part, count in rows.items()
        }
        records = [CurveRecord(2 * step, "validation", 1.5, 1.5, 0.0, 0.1 / step) for step in (1, 2, 3)]
        centres = torch.from_numpy(generator.uniform(size=100).astype(np.float32))
        networks.append(
            NetworkResult(
                variant,
                "ok",
                epochs=6,
                selected_epoch=4,
                outputs=outputs,
                centres=centres if variant.ablation else None,
                curves=records if "curves" in rows else None,
            )
        )
    write_networks(folder / "networks.parquet", networks)
    return folder / "networks.parquet"


def _prepared(folder: Path, rules: Any, transform: Any) -> dict[str, Any]:
    generator = np.random.default_rng(3)
    rows = 200
    frame = pd.DataFrame(
        {
            "number": generator.normal(size=rows),
            "few values": generator.integers(4, size=rows).astype(float),
            "constant": 1.0,
            "letter": generator.choice(["a", "b", "c"], size=rows),
            "many letters": [f"level {number}" for number in generator.integers(30, size=rows)],
            "missing": np.where(generator.random(rows) < 0.5, np.nan, generator.normal(size=rows)),
            "gaps": np.where(generator.random(rows) < 0.05, np.nan, generator.normal(size=rows)),
            "target": np.round(generator.normal(scale=10, size=rows)),
        }
    )
    table = RawTable(
        frame,
        "target",
        categorical=("letter", "many letters"),
        rules=rules,
        target_transform=transform,
        provenance={"source": rules, "address": "made up"},
    )
    place = folder / "raw.parquet", folder / "raw.json"
    write_raw(table, {"dataset": "golden", "status": "available", "reason": ""}, *place)
    return prepare_dataset("golden", *place, folder / "prepared")
