"""The metrics of the paper's figures, and the columns that hold them under a protocol."""

from __future__ import annotations

from qrt.study.protocol import Protocol


def figure_metrics(protocol: Protocol) -> dict[str, str]:
    """Label in the figures -> metric of the result tables (docs/protocol.md, rows 3 and 4). Lower is better for all."""
    return {
        "NLL": "nll",
        "PCE": f"pce_{protocol.pce}",
        "CRPS": "crps_wis",
        "SD": "sd" if protocol.sd == "consistent" else "sd_released",
    }
