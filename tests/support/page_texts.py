"""The pages of a mock study as text: their wording is stored once (`python tests/support/page_texts.py` stores it)."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

STORED = Path(__file__).resolve().parents[1] / "study/pages/stored"


def page_texts() -> dict[str, str]:
    """Each page by the name of its file."""
    from qrt_study.pages.agreement import agreement_page
    from qrt_study.pages.disagreements import disagreements_page
    from qrt_study.pages.own_data import METHODS, OwnReport, own_data_text
    from qrt_study.pages.readings import Readings, summary_lines
    from qrt_study.pages.robustness import robustness_page
    from qrt_study.pages.scorecard import scorecard_page
    from qrt_study.pages.seeds import seeds_page
    from qrt_study.plan.protocol import PROTOCOLS
    from qrt_study.statistics.own_data import own_statistics
    from qrt_study.statistics.robustness import robustness_statistics
    from qrt_study.statistics.seeds import seed_statistics
    from support.mock_results import mock_methods
    from support.mock_verdicts import mock_agreements, mock_by_dataset, mock_key_numbers, mock_study, mock_verdicts
    from support.seed_tables import METRICS, noisy_table

    study = replace(mock_study(), affected={"pce": ("Yacht", "CPU"), "sd": ()})
    readings = Readings(mock_verdicts(9), study)
    effects = {("main", "BASE"): 0.0, ("main", "QRC"): -3.0, ("main", "QRTC"): -9.0}
    scores = own_statistics("houses", mock_methods(["houses"], effects), PROTOCOLS["paper"], list(METHODS), 0.15)
    record = {"status": "available", "rows": 400, "features": 3, "dropped_rows": 0, "target": "price"}
    record |= {"dropped_columns": {"id": "as asked for"}, "encoded_columns": {}, "target_transform": "none"}
    own = OwnReport("houses", record, scores, 40, ("figures/paper/own_data.html",))
    of_three = noisy_table(["a", "b", "c"])
    figure2, times, figure1 = (one._replace(points=one.points.head(3)) for one in mock_agreements())
    return {
        "summary.txt": "\n".join(summary_lines(readings)),
        "scorecard.md": scorecard_page(readings, "Frozen with checksum 3f9a12c0.").markdown,
        "disagreements.md": disagreements_page(readings, mock_key_numbers(), mock_by_dataset()).markdown,
        "agreement.md": agreement_page(figure2, times, figure1, study).markdown,
        "robustness.md": robustness_page(robustness_statistics(of_three, METRICS, {"a": 0.9}), study).markdown,
        "seeds.md": seeds_page(seed_statistics(of_three, METRICS), study).markdown,
        "own_data.txt": own_data_text([own], "Protocol: paper.", "A trial."),
    }


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    for name, text in page_texts().items():
        (STORED / name).write_text(text, encoding="utf-8")
