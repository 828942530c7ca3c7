"""The page of one fitted model: whether its predictions are calibrated, on rows that it was not fitted with."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qrt.text.page import Column, Html, Row, document, paragraph, picture_of, section, table, tag
from qrt.text.words import number, percent

if TYPE_CHECKING:
    from qrt.estimator.diagnosis import Diagnosis

_MEANINGS = {
    "nll": ("NLL", "negative log-likelihood, mean over rows; lower is better"),
    "crps": ("CRPS", "distance between predicted distribution and target, in the units of the target; lower is better"),
    "pce_levels": (
        "PCE",
        "calibration error: mean distance between levels and the share of targets below; 0 is perfect",
    ),
    "rmse": ("RMSE", "root mean squared error of the predicted mean"),
    "mae": ("MAE", "mean absolute error of the predicted median"),
    "sd": ("SD", "mean standard deviation of the predicted distributions; smaller is sharper"),
    "length_90": ("Length", "mean length of the central 90 % interval"),
}


def calibration_page(diagnosis: Diagnosis, title: str, notes: Sequence[str], file: str) -> str:
    """The page as HTML: a sentence, the plots, the metrics, the coverage of intervals; `file` is its name."""
    rows = [Row([name, number(diagnosis.metrics[key]), meaning]) for key, (name, meaning) in _MEANINGS.items()]
    metrics = table(
        "metrics", [Column("Metric"), Column("Value"), Column("Meaning")], rows, caption="Metrics on the held-out rows"
    )
    intervals = [
        Row([percent(row.coverage), percent(row.observed, 3), f"{percent(row.lower, 3)} to {percent(row.upper, 3)}"])
        for row in diagnosis.coverage().itertuples()
    ]
    coverage = table(
        "coverage",
        [Column("Interval"), Column("Targets inside"), Column("Of a calibrated model")],
        intervals,
        caption="Coverage of central intervals",
    )
    return document(
        title,
        _verdict(diagnosis),
        _picture(diagnosis),
        section("intervals", "Do the intervals hold?", coverage),
        section("metrics-section", "Metrics", metrics),
        section("notes", "How it was made", tag("ul", *(tag("li", note) for note in notes))),
        paragraph("The bands show where 95 % of calibrated models would be at each level, given this number of rows."),
        file=file,
        pages={file: "Calibration"},
    )


def _verdict(diagnosis: Diagnosis) -> str:
    inside = diagnosis.coverage((0.9,)).iloc[0]
    found = (
        f"On {len(diagnosis)} held-out rows, {percent(inside['observed'], 3)} of the targets are in their 90 % interval"
    )
    expected = f"{percent(inside['lower'], 3)} to {percent(inside['upper'], 3)}"
    if inside["lower"] <= inside["observed"] <= inside["upper"]:
        return f"{found}, as of a calibrated model ({expected} with so many rows)."
    kind = "too narrow" if inside["observed"] < inside["lower"] else "too wide"
    return f"{found}; of a calibrated model it would be {expected}: the intervals are {kind}."


def _picture(diagnosis: Diagnosis) -> Html:
    """The plots of the diagnosis, or why there are none."""
    content = io.BytesIO()
    try:
        figure = diagnosis.plot()
        figure.savefig(content, format="png", dpi=150, metadata={"Software": None})
    except Exception as error:  # a library that is missing, halfway installed or misconfigured costs the picture alone
        return paragraph(f"There is no picture here: {error}.")
    import matplotlib.pyplot as plt

    plt.close(figure)
    return picture_of(
        content.getvalue(),
        f"PIT histogram and reliability curve of {len(diagnosis)} held-out rows, with 95 % bands of calibrated models",
    )
