"""Golden verdicts: what rules and claims come to on synthetic evidence (src/qrt_study/verdicts/golden_verdicts.csv).

`make golden` writes them anew. Claims whose golden verdicts are not those that were frozen are marked as changed after
the run (`qrt_study.verdicts.frozen`).
"""

from __future__ import annotations

import csv
import io
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from qrt_study import published
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.verdicts import frozen
from qrt_study.verdicts.claim import paper_claims
from qrt_study.verdicts.evidence import METHODS_OF_CURVES, Evidence, StudyStatistics
from qrt_study.verdicts.judge import judge
from qrt_study.verdicts.measures import MEASURES_OF_METHODS
from qrt_study.verdicts.verdict import Verdict
from support import rule_cases
from support.mock_results import PAPER_METHODS, mock_main_study, paper_names
from support.per_epoch_tables import PLAIN, TRAINED, curve_rows
from support.simulated_studies import MIRROR, dataset_table

FILE = Path(frozen.__file__).with_name(frozen.GOLDEN_VERDICTS)
NUMBERS = ("estimate", "low", "high", "p_value", "published", "smallest_detectable")
COUNTS = ("datasets", "datasets_for", "datasets_against", "splits")
COLUMNS = ("of", "case", "verdict", *NUMBERS, *COUNTS)
SPLITS = 4
# Name of a study -> size of its effects in those of the paper, protocol, datasets.
STUDIES: dict[str, tuple[float, str, tuple[str, ...]]] = {
    "effects as published": (1.0, "paper", tuple(paper_names())),
    "no effects": (0.0, "released", MIRROR),
    "effects reversed": (-1.0, "paper", MIRROR),
    "small effects, half of the datasets": (0.3, "released", tuple(paper_names()[::2])),
}
_NAMED = {
    (leaf["dataset"], leaf.get("measure")) for claim in paper_claims() for leaf in claim.conditions if "dataset" in leaf
}
WITH_CURVES = {
    dataset for dataset, measure in _NAMED if measure and MEASURES_OF_METHODS.get(measure) == METHODS_OF_CURVES
}
WITH_DENSITIES = sorted({dataset for dataset, measure in _NAMED if measure in ("peak_density", "integer_peaks")})
_READING = ["variant", "kernel_width", "posthoc_map", "posthoc_on", "posthoc_bandwidth"]
Rows = dict[tuple[str, str], dict[str, str]]  # by rule or claim, and case or study


def golden_verdicts() -> Rows:
    """What the rules and claims come to now."""
    found: Rows = {}
    for (rule, case), verdict in rule_cases.cases().items():
        found[rule, case] = as_row(rule, case, verdict)
    for number, (study, (strength, protocol, names)) in enumerate(STUDIES.items()):
        evidence = _synthetic_evidence(strength, protocol, names, seed=number)
        for row in judge(paper_claims(), StudyStatistics(evidence)).to_dict("records"):
            found[row["id"], study] = _row(row | {"of": row["id"], "case": study})
    return found


def stored_verdicts() -> Rows:
    """Those that are stored."""
    with FILE.open(encoding="utf-8", newline="") as content:
        return {(row["of"], row["case"]): row for row in csv.DictReader(content)}


def moved(stored: Rows, now: Rows) -> dict[tuple[str, str], str]:
    """The golden verdicts that are not as stored, with what differs."""
    found = {key: _difference(stored.get(key, {}), now.get(key, {})) for key in {**stored, **now}}
    return {key: reason for key, reason in found.items() if reason}


def complaint(stored: Rows, now: Rows) -> str:
    """What has moved, and what follows from it; empty if nothing has."""
    if not (found := moved(stored, now)):
        return ""
    lines = [f"this change moves the golden verdict of {of} ({case}): {reason}" for (of, case), reason in found.items()]
    return "\n".join(
        [*lines, "If it is meant, `make golden`: the claims behind it are marked as changed after the run."]
    )


def write() -> None:
    """Store what comes out now, and say what has moved."""
    now, stored = golden_verdicts(), stored_verdicts()
    print(complaint(stored, {key: row for key, row in now.items() if key in stored}))
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    # What has only been rounded otherwise stays as it is.
    writer.writerows(row if _difference(stored.get(key, {}), row) else stored[key] for key, row in now.items())
    FILE.write_text(text.getvalue(), encoding="utf-8")
    print(f"{FILE.name}: {len(now)} verdicts")


def as_row(rule: str, case: str, verdict: Verdict) -> dict[str, str]:
    """A verdict of a rule as it is stored."""
    low, high = verdict.interval or (None, None)
    return _row(vars(verdict) | {"of": rule, "case": case, "low": low, "high": high})


def _row(facts: dict[str, Any]) -> dict[str, str]:
    def as_text(value: Any) -> str:
        if value is None or pd.isna(value):
            return ""
        return value if isinstance(value, str) else f"{value:.7g}"

    return {name: as_text(facts[name]) for name in COLUMNS}


def _difference(before: dict[str, str], now: dict[str, str]) -> str:
    different = [name for name in COLUMNS if not _same(name, before.get(name), now.get(name))]
    return ", ".join(f"{name} {before.get(name)!r} is now {now.get(name)!r}" for name in different)


def _same(name: str, before: str | None, now: str | None) -> bool:
    if name in NUMBERS and before and now:
        return bool(np.isclose(float(now), float(before), rtol=1e-6, atol=1e-9))
    return before == now


def _synthetic_evidence(strength: float, protocol: str, names: tuple[str, ...], seed: int) -> Evidence:
    """A study of all experiments whose effects are those of the paper times `strength`; some runs have diverged."""
    generator = np.random.default_rng(seed)
    methods = _weakened(mock_main_study(names, splits=SPLITS, seed=seed, experiments=PAPER_METHODS), strength)
    methods.loc[generator.random(len(methods)) < 0.01, ["status", "reason"]] = ["diverged", "made up"]
    with_curves = [name for number, name in enumerate(names) if number < 12 or name in WITH_CURVES]
    methods, curves = _with_curves(methods, with_curves, strength, generator)
    return Evidence(
        methods,
        PROTOCOLS[protocol],
        names,
        dataset_table(names),
        curves=curves,
        times=_times(names, strength, generator),
        maps=_maps(strength),
        predictions=_predictions(methods, strength),
    )


def _weakened(methods: pd.DataFrame, strength: float) -> pd.DataFrame:
    """The metrics with the mean over splits of each method moved to BASE of its dataset, but for `strength`."""
    metrics = [name for name in methods if name.startswith(("test_", "val_", "train_")) and name != "train_seconds"]
    means = methods.groupby(["experiment", "method", "dataset"])[metrics].transform("mean")
    base = methods[(methods["experiment"] == "main") & (methods["method"] == "BASE")].groupby("dataset")[metrics].mean()
    toward = base.loc[methods["dataset"]].to_numpy() - means.to_numpy()
    weakened: pd.DataFrame = methods.assign(
        **dict(zip(metrics, (methods[metrics].to_numpy() + (1 - strength) * toward).T, strict=True))
    )
    return weakened


def _with_curves(
    methods: pd.DataFrame, names: list[str], strength: float, generator: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Methods whose networks have per-epoch records on these datasets, and the records."""
    variant_of = {
        ("base_train", "BASE-TRAIN"): PLAIN,
        ("main", "QRC"): PLAIN,
        ("main", "QRT"): TRAINED,
        ("main", "QRTC"): TRAINED,
    }
    selected, curves = {}, []
    for variant, width in ((PLAIN, None), (TRAINED, "variance")):
        for dataset, split in itertools.product(names, range(SPLITS)):
            length = int(generator.integers(6, 12))
            values = 2 * np.exp(-np.arange(length) / 3) + generator.normal(0, 0.1, length)
            values -= 0.3 * strength * (variant == TRAINED) - 0.02 * np.arange(length)
            epoch = selected[variant, dataset, split] = 2 * int(values.argmin() + 1)
            curves.append(curve_rows(dataset, split, variant, values, selected_epoch=epoch, kernel_width=width))
    named = zip(methods["experiment"], methods["method"], methods["variant"], strict=True)
    variants = [variant_of.get((experiment, method), variant) for experiment, method, variant in named]
    places = zip(variants, methods["dataset"], methods["split"], methods["selected_epoch"], strict=True)
    epochs = [selected.get((variant, dataset, split), epoch) for variant, dataset, split, epoch in places]
    return methods.assign(variant=variants, selected_epoch=epochs), pd.concat(curves, ignore_index=True)


def _times(names: tuple[str, ...], strength: float, generator: np.random.Generator) -> pd.DataFrame:
    table = published.table2()
    table = table[table["dataset"].isin(names)]
    parts = []
    for way, further in (("ours", 0.0), ("released", 0.5)):
        for method in ("BASE", "QREGC", "QRTC"):
            for split in range(SPLITS):
                longer = 1 + (further * strength if method == "QRTC" else 0.0) + 0.1 * generator.random(len(table))
                facts = {
                    "dataset": table["dataset"],
                    "train_seconds": table[f"training_time_{method}"] * longer,
                    "epochs": table[f"epochs_{method}"] + 30,
                    "selected_epoch": table[f"epochs_{method}"],
                }
                parts.append(pd.DataFrame(facts).assign(method=method, way=way, split=split, status="ok"))
    return pd.concat(parts, ignore_index=True)


def _maps(strength: float) -> pd.DataFrame:
    """Of PITs with density 6 z (1 - z): maps that are more or less uniform, and one with mass outside."""
    z = np.linspace(0, 1, 201)
    true = 3 * z**2 - 2 * z**3
    uniform = {"TRUE": 0.0, "EMP": 0.01, "REFL": 0.05, "TRUNC": 0.05 + 0.2 * strength, "KDE": 0.1}
    cdfs = {name: (1 - share) * true + share * z for name, share in uniform.items()}
    cdfs["KDE"] = 0.05 * strength + (1 - 0.1 * strength) * cdfs["KDE"]
    return pd.concat([pd.DataFrame({"map": name, "z": z, "cdf": cdf}) for name, cdf in cdfs.items()])


def _predictions(methods: pd.DataFrame, strength: float) -> pd.DataFrame:
    grid = np.linspace(0, 12, 121)
    smooth = np.exp(-((grid - 6.3) ** 2) / 8)
    at_integers = smooth * np.exp(-(((grid - np.round(grid)) / 0.1) ** 2))
    tuned = methods[(methods["experiment"] == "main") & (methods["split"] == 0)].set_index(["dataset", "method"])
    parts = []
    for dataset in (name for name in WITH_DENSITIES if name in set(methods["dataset"])):
        for number, method in enumerate(("BASE", "QRC", "QRTC")):
            for row in range(5):
                density = (1 + 0.1 * row * number) * smooth + number * strength * at_integers
                place = {"dataset": dataset, "split": 0, "row": row, "target": 6.0, "nll": 1.0}
                reading = tuned.loc[(dataset, method), _READING].to_dict()
                parts.append(pd.DataFrame({"y": grid, "density": density}).assign(**place | reading))
    return pd.concat(parts, ignore_index=True)
