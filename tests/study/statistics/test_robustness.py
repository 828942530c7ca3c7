"""How robust a comparison is: single splits and discrete targets, by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from scipy import stats

from qrt_study.pages.robustness import NOTHING, robustness_page
from qrt_study.statistics.robustness import PER_DATASET, SUMMARY, robustness_statistics
from support.mock_verdicts import mock_study

METRICS = {"NLL": "nll", "CRPS": "crps"}


def methods(differences: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    """Runs of BASE, which are all 1, and of QRTC, which differ from them: dataset -> metric -> one value per split."""
    rows: list[dict[str, Any]] = []
    for dataset, of_metric in differences.items():
        for split in range(len(of_metric["nll"])):
            place = {"dataset": dataset, "split": split, "seed": 0, "status": "ok"}
            rows.append(place | {"method": "BASE"} | {f"test_{metric}": 1.0 for metric in of_metric})
            values = {f"test_{metric}": 1.0 + values[split] for metric, values in of_metric.items()}
            rows.append(place | {"method": "QRTC"} | values)
    return pd.DataFrame(rows)


DIFFERENCES = {
    "carried": {"nll": [-9.0, 1.0, 1.0], "crps": [-0.1, -0.2, -0.3]},
    "steady": {"nll": [-0.2, -0.3, -0.4], "crps": [-0.1, -0.2, -0.3]},
    "counts": {"nll": [-5.0, -6.0, -7.0], "crps": [0.1, 0.2, 0.3]},
}
DISCRETENESS = {"carried": 0.1, "steady": 0.5, "counts": 0.9}


@pytest.fixture(scope="module", name="statistics")
def statistics_of_differences() -> Any:
    return robustness_statistics(methods(DIFFERENCES), METRICS, DISCRETENESS)


def test_a_mean_that_one_split_carries_is_told_from_a_steady_one(statistics: Any) -> None:
    rows = statistics.per_dataset.set_index(["dataset", "metric"])
    carried, steady = rows.loc[("carried", "NLL")], rows.loc[("steady", "NLL")]
    assert carried["mean"] == pytest.approx(-7 / 3)
    assert (carried["median"], carried["one_split_decides"]) == (1.0, True)
    assert (carried["without_one_low"], carried["without_one_high"]) == pytest.approx((-4.0, 1.0))
    assert (steady["without_one_low"], steady["without_one_high"]) == pytest.approx((-0.35, -0.25))
    assert not steady["one_split_decides"]


def test_discrete_targets_are_counted_apart(statistics: Any) -> None:
    summary = statistics.summary.set_index(["metric", "targets"])
    assert summary["datasets"].to_dict() == {
        (metric, targets): number
        for metric in METRICS
        for targets, number in (("all", 3), ("continuous", 2), ("discrete", 1))
    }
    assert (summary.loc[("NLL", "discrete"), "lower"], summary.loc[("CRPS", "discrete"), "lower"]) == (1, 0)
    assert (summary.loc[("NLL", "all"), "lower"], summary.loc[("NLL", "all"), "lower_by_median"]) == (3, 2)
    assert summary.loc[("NLL", "all"), "one_split_decides"] == 1
    means = [-7 / 3, -0.3, -6.0]
    assert summary.loc[("NLL", "all"), "p_value"] == pytest.approx(stats.wilcoxon(means).pvalue)


def test_two_splits_are_too_few_to_leave_one_out() -> None:
    two = {"few": {"nll": [-1.0, 0.5], "crps": [0.1, 0.1]}}
    row = robustness_statistics(methods(two), METRICS, {}).per_dataset.iloc[0]
    assert pd.isna(row["without_one_low"])
    assert not row["one_split_decides"]


def test_study_without_results_says_so() -> None:
    empty = robustness_statistics(methods(DIFFERENCES).iloc[:0], METRICS, {})
    assert list(empty.per_dataset) == list(PER_DATASET)
    assert list(empty.summary) == list(SUMMARY)
    assert NOTHING in robustness_page(empty, mock_study()).html
    assert NOTHING in robustness_page(empty, mock_study()).markdown
