"""The metrics of the paper's figures, and the columns that hold them under a protocol."""

from __future__ import annotations

from qrt_study.plan.protocol import Protocol


def figure_metrics(protocol: Protocol) -> dict[str, str]:
    """Label in the figures -> metric of the result tables (docs/protocol.md, rows 3, 4, 12); lower is better."""
    batched = "_batched" if protocol.metric_rows == "batches" else ""
    return {
        "NLL": f"nll{batched}",
        "PCE": f"pce_{protocol.pce}{batched}",
        "CRPS": f"crps_wis{batched}",
        "SD": "sd" if protocol.sd == "consistent" else "sd_released",
    }
