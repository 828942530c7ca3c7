"""The passages of the paper that claims come from: `statement` of a claim -> what the passage is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qrt.text.words import text

TITLES = {
    "S01": "Abstract: more accurate without loss of calibration",
    "S02": "No trade-off between accuracy and calibration",
    "S03": "Post-hoc recalibration and regularisation, from earlier work",
    "S04": "Regularised networks gain less from a post-hoc step, from earlier work",
    "S05": "Conclusion",
    "S06": "Calibration of finite samples with a smooth map",
    "S07": "What the entropy term does to the network before its map",
    "S08": "Calibration on the batch",
    "S09": "Reflection at the borders lowers NLL",
    "S10": "Example of Figure 1: Yacht",
    "S11": "Example of Figure 1: NYC taxi",
    "S12": "The example holds on most datasets",
    "S13": "Map of the batch or of a larger sample",
    "S14": "The weight alpha = 1 of the entropy term",
    "S15": "Time of a training step",
    "S16": "Time overhead of larger networks",
    "S17": "Training times",
    "S18": "Size of the published study",
    "S19": "The benchmark",
    "S20": "Discrete datasets",
    "S21": "The bandwidth needs little tuning",
    "S22": "No further parameters",
    "S23": "Main comparison: NLL on single datasets",
    "S24": "Main comparison: NLL over datasets",
    "S25": "Main comparison: PCE against BASE",
    "S26": "Main comparison: PCE among post-hoc methods",
    "S27": "Main comparison: CRPS",
    "S28": "Main comparison: sharpness",
    "S29": "Main comparison: BASE",
    "S30": "Other base models: QRTC against QRC",
    "S31": "Other base models: where the gain is largest",
    "S32": "One Gaussian or a mixture, from earlier work",
    "S33": "A single Gaussian: NLL",
    "S34": "A single Gaussian: PCE and CRPS",
    "S35": "A mixture of 10: NLL and PCE",
    "S36": "A mixture of 10: CRPS",
    "S37": "A mixture of 10: sharpness",
    "S38": "ResNet",
    "S39": "Four base models compared",
    "S40": "MLP against ResNet",
    "S41": "Size of the calibration map",
    "S42": "Tuned against fixed bandwidths",
    "S43": "How truncation and reflection shape a map",
    "S44": "Kernel, truncated and reflected maps",
    "S45": "All datasets, one by one",
    "S46": "Other weights alpha",
    "S47": "NLL per epoch",
    "S48": "PCE per epoch",
    "S49": "After the selected epoch",
    "S50": "Discreteness and QRTC",
    "S51": "Discreteness and QRC",
    "S52": "All 57 datasets, rank tests",
    "S53": "Against BASE without calibration data",
    "S54": "Ablation: NLL",
    "S55": "Ablation: CRPS and PCE",
    "S56": "Ablation: sharpness",
    "S57": "Examples of predictions",
}


def passage(claim: Mapping[str, Any]) -> str:
    """Where a claim comes from, as a key: its passage, or its section where the table does not know passages."""
    return text(claim["statement"]) or f"Section {text(claim['section'])}"


def title(key: str) -> str:
    """The passage in words."""
    return TITLES.get(key, key)
