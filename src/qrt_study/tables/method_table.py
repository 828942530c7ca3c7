"""Table 1: the methods of the unified algorithm, as this study defines them, beside what the paper says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from qrt.methods import Method
from qrt_study.plan.experiments import Experiment

# Table 1 of the paper: the weight alpha, and whether the model is recalibrated on separate data.
PUBLISHED: dict[str, tuple[str, bool]] = {
    "BASE": ("0", False),
    "QRC": ("0", True),
    "QREG": ("tuned", False),
    "QREGC": ("tuned", True),
    "QRT": ("1", False),
    "QRTC": ("1", True),
}
CAPTION = (
    "The methods differ in the weight alpha of the entropy term and in C, the post-hoc map on separate calibration "
    "data (Algorithm 1); in brackets: the paper's Table 1. QREGC is trained with alpha = -lambda."
)


def method_table(experiments: Mapping[str, Experiment]) -> pd.DataFrame:
    """One row per method of the paper's Table 1, derived from the networks that the experiments train for it.

    Columns: method, alpha ("tuned" if there are several), alphas and bandwidths (the values tried), trained_on, C,
    published_alpha, published_C, status ("agrees", "differs", or "not in this study").
    """
    found: dict[str, Method] = {}
    for experiment in experiments.values():
        for method in experiment.methods:
            found.setdefault(method.name, method)
    rows = []
    for name, (alpha, recalibrated) in PUBLISHED.items():
        ours = _ours(found[name]) if name in found else {"status": "not in this study"}
        row = {"method": name} | ours | {"published_alpha": alpha, "published_C": recalibrated}
        if name in found:
            row["status"] = "agrees" if (ours["alpha"], ours["C"]) == (alpha, recalibrated) else "differs"
        rows.append(row)
    columns = ["method", "alpha", "alphas", "bandwidths", "trained_on", "C", "published_alpha", "published_C", "status"]
    return pd.DataFrame(rows, columns=columns)


def _ours(method: Method) -> dict[str, Any]:
    alphas = sorted({network.alpha for network in method.networks}, key=abs)
    bandwidths = sorted({network.bandwidth for network in method.networks if network.bandwidth is not None})
    return {
        "alpha": f"{alphas[0]:g}" if len(alphas) == 1 else "tuned",
        "alphas": ", ".join(f"{alpha:g}" for alpha in alphas),
        "bandwidths": ", ".join(f"{bandwidth:g}" for bandwidth in bandwidths),
        "trained_on": ", ".join(sorted({network.trained_on for network in method.networks})),
        "C": method.posthoc != "none",
    }


def for_people(table: pd.DataFrame) -> pd.DataFrame:
    """The table as text for people: the paper's value in brackets behind ours."""
    shown = pd.DataFrame({"Method": table["method"]})
    for column, heading in (("alpha", "alpha"), ("C", "C")):
        pairs = zip(table[column], table[f"published_{column}"], strict=True)
        shown[heading] = [f"{_text(ours)} ({_text(theirs)})" for ours, theirs in pairs]
    shown["alpha tried"] = [_text(value) for value in table["alphas"]]
    shown["b tried"] = [_text(value) for value in table["bandwidths"]]
    shown["Trained on"] = [_text(value) for value in table["trained_on"]]
    shown["Status"] = table["status"]
    return shown


def _text(value: Any) -> str:
    return "–" if pd.isna(value) or value == "" else str(value)
