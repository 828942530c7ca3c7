"""What is said of a dataset of the user's: scores, the best method, and whether by more than noise."""

from __future__ import annotations

import html
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from qrt_study.pages.own_data import NO_RESULTS, NOT_TRAINED, OwnReport, findings, own_data_page, own_data_text
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.statistics.own_data import (
    COMPARISONS,
    RANKED,
    SCORES,
    best_beside_others,
    corrected_t_test,
    own_statistics,
)
from support.mock_results import mock_methods

METHODS = ("BASE", "QRC", "QRTC")


def methods_of(effects: dict[str, float], splits: int = 5) -> pd.DataFrame:
    return mock_methods(["houses"], {("main", name): effect for name, effect in effects.items()}, splits=splits)


def test_without_shared_rows_the_test_is_the_paired_t_test() -> None:
    one, two = np.random.default_rng(0).normal(size=(2, 6))
    mean, noise, p_value = corrected_t_test(one - two, test_share=0)
    oracle = stats.ttest_rel(one, two)
    assert mean == pytest.approx((one - two).mean())
    assert noise == pytest.approx((one - two).std(ddof=1) / 6**0.5)
    assert p_value == pytest.approx(oracle.pvalue)


def test_splits_that_share_rows_make_the_noise_larger_as_nadeau_and_bengio_have_it() -> None:
    differences = np.array([0.1, 0.3, 0.2, 0.25, 0.15])
    _, plain, p_plain = corrected_t_test(differences, test_share=0)
    _, corrected, p_corrected = corrected_t_test(differences, test_share=10 / 65)
    assert corrected / plain == pytest.approx(((1 / 5 + 10 / 65) / (1 / 5)) ** 0.5)
    assert p_corrected > p_plain


def test_false_alarms_over_splits_of_one_table_are_as_rare_as_promised_and_need_the_correction() -> None:
    """Two predictors without any difference on new data, compared on ten random splits of simulated tables."""
    generator, tables = np.random.default_rng(1), 400
    alarms = {0.0: 0, 20 / 130: 0}
    for _ in range(tables):
        target, one, two = generator.normal(size=(3, 200))
        tests = [generator.permutation(200)[180:] for _ in range(10)]
        losses = (target - one) ** 2 - (target - two) ** 2
        differences = np.array([losses[rows].mean() for rows in tests])
        for share in alarms:
            alarms[share] += corrected_t_test(differences, share)[2] < 0.05
    most = tables * (0.05 + 3 * (0.05 * 0.95 / tables) ** 0.5)
    assert alarms[20 / 130] < most < alarms[0.0]


def test_best_of_six_equal_methods_is_rarely_said_to_be_better() -> None:
    generator, studies = np.random.default_rng(2), 400
    alarms = 0
    for _ in range(studies):
        runs = pd.DataFrame(generator.normal(size=(6, 5)), index=list("ABCDEF"))
        alarms += any(row["larger_than_noise"] for row in best_beside_others(runs, test_share=0))
    assert alarms <= studies * 0.05


@pytest.mark.parametrize(
    ("differences", "noise", "p_value"), [([0.0, 0.0], 0.0, 1.0), ([1.0, 1.0], 0.0, 0.0), ([1.0], np.nan, np.nan)]
)
def test_differences_without_noise_are_decided_and_a_single_split_is_not(
    differences: list[float], noise: float, p_value: float
) -> None:
    found = corrected_t_test(np.array(differences), test_share=0.1)
    np.testing.assert_equal(found, (differences[0], noise, p_value))


def test_table_has_means_and_standard_errors_over_splits() -> None:
    methods = methods_of({"BASE": 0, "QRC": -1, "QRTC": -2, "QRT-F": 3})
    scores = own_statistics("houses", methods, PROTOCOLS["paper"], METHODS, 0.15).scores
    assert list(scores.columns) == list(SCORES)
    assert list(scores["method"]) == list(METHODS), "in their order, and none that is not shown"
    values = methods[methods["method"] == "QRC"]["test_coverage_90"]
    row = scores.set_index("method").loc["QRC"]
    assert row["coverage_90"] == pytest.approx(values.mean())
    assert row["coverage_90_standard_error"] == pytest.approx(values.std(ddof=1) / 5**0.5)
    assert row[["splits", "failed_splits"]].tolist() == [5, 0]


@pytest.mark.parametrize(
    ("protocol", "column"), [("paper", "test_pce_levels"), ("released", "test_pce_sorted_batched")]
)
def test_scores_are_those_of_the_protocol(protocol: str, column: str) -> None:
    methods = methods_of({"BASE": 0, "QRTC": -2})
    scores = own_statistics("houses", methods, PROTOCOLS[protocol], METHODS, 0.15).scores.set_index("method")
    assert scores.loc["BASE", "pce"] == pytest.approx(methods[methods["method"] == "BASE"][column].mean())


def test_best_method_is_compared_with_all_others_and_clear_differences_are_found() -> None:
    statistics = own_statistics(
        "houses", methods_of({"BASE": 0, "QRC": -9, "QRTC": -9.01}), PROTOCOLS["paper"], METHODS, 0.15
    )
    found = statistics.comparisons
    assert list(found.columns) == list(COMPARISONS)
    assert found["score"].tolist() == [name for name in RANKED for _ in range(2)]
    nll = found[found["score"] == "nll"].set_index("method")
    assert bool(nll.loc["BASE", "larger_than_noise"])
    assert (nll["difference"] >= 0).all()
    assert nll["p_corrected"].tolist() == pytest.approx(np.minimum(1, 3 * nll["p_value"]).tolist())


def test_method_that_failed_in_a_split_is_shown_and_not_ranked() -> None:
    methods = methods_of({"BASE": 0, "QRC": -1, "QRTC": -9})
    failed = (methods["method"] == "QRTC") & (methods["split"] == 3)
    methods.loc[failed, "status"] = "diverged"
    statistics = own_statistics("houses", methods, PROTOCOLS["paper"], METHODS, 0.15)
    row = statistics.scores.set_index("method").loc["QRTC"]
    assert row[["splits", "failed_splits"]].tolist() == [4, 1]
    assert np.isfinite(row["nll"])
    assert "QRTC" not in set(statistics.comparisons["best"]) | set(statistics.comparisons["method"])


def test_dataset_without_results_has_empty_tables() -> None:
    statistics = own_statistics("others", methods_of({"BASE": 0}), PROTOCOLS["paper"], METHODS, 0.15)
    assert statistics.scores.empty
    assert statistics.comparisons.empty


RECORD: dict[str, Any] = {
    "status": "available",
    "rows": 400,
    "features": 3,
    "dropped_rows": 0,
    "dropped_columns": {"<b>id</b>": "as asked for"},
    "encoded_columns": {},
    "target": "price",
    "target_transform": "none",
}


def report_of(effects: dict[str, float], splits: int = 5) -> OwnReport:
    methods = methods_of(effects, splits)
    statistics = own_statistics("houses", methods, PROTOCOLS["paper"], METHODS, 0.15)
    return OwnReport("houses", RECORD, statistics, 40, ("figures/paper/own_data.html",))


def test_method_that_is_better_than_all_others_by_more_than_noise_is_the_answer() -> None:
    report = report_of({"BASE": 0, "QRC": -30, "QRTC": -90})
    answer, beside, *_ = findings(report)
    assert answer.startswith("Take QRTC.")
    scores = report.statistics.scores.set_index("method")["nll"]
    assert float(beside.split(" by ")[1].split(" ± ")[0]) == pytest.approx(scores["BASE"] - scores["QRTC"], rel=0.01)


def test_difference_that_is_noise_is_not_sold_as_one() -> None:
    answer, *_ = findings(report_of({"BASE": 0, "QRC": 0, "QRTC": 0}))
    assert "Take" not in answer
    partly, *_ = findings(report_of({"BASE": 0, "QRC": -90, "QRTC": -90}))
    assert partly.startswith("Take Q")


def test_one_split_is_no_basis_for_an_answer() -> None:
    sentences = findings(report_of({"BASE": 0, "QRTC": -90}, splits=1))
    assert "Take" not in sentences[0]


def test_methods_with_equal_results_are_named_together() -> None:
    methods = methods_of({"BASE": 90, "QRC": 0})
    again = methods[methods["method"] == "QRC"].assign(method="QRTC")
    statistics = own_statistics("houses", pd.concat([methods, again]), PROTOCOLS["paper"], METHODS, 0.15)
    answer, *_ = findings(OwnReport("houses", RECORD, statistics, 40, ()))
    assert answer.startswith("Take QRC and QRTC.")


def test_data_that_cannot_be_used_is_said_on_page_and_in_the_terminal() -> None:
    statistics = own_statistics("houses", methods_of({"BASE": 0})[:0], PROTOCOLS["paper"], METHODS, 0.15)
    record = RECORD | {"status": "invalid", "reason": "50 rows are left"}
    report = OwnReport("houses", record, statistics, 40, ())
    for text in (own_data_page([report], "", ""), own_data_text([report], "", "")):
        assert "50 rows are left" in text
        assert NOT_TRAINED in text


def test_methods_that_all_failed_are_no_table_of_nothing() -> None:
    methods = methods_of({"BASE": 0, "QRTC": -1}).assign(status="diverged")
    statistics = own_statistics("houses", methods, PROTOCOLS["paper"], METHODS, 0.15)
    report = OwnReport("houses", RECORD, statistics, 40, ())
    for text in (own_data_page([report], "", ""), own_data_text([report], "", "")):
        assert NO_RESULTS in html.unescape(text)
        assert "nan %" not in text
        assert "scores-houses" not in text


def test_names_of_the_user_are_text_on_the_page() -> None:
    page = own_data_page([report_of({"BASE": 0, "QRTC": -1})], "Protocol: paper.", "")
    assert "<b>id</b>" not in page
    assert "&lt;b&gt;id&lt;/b&gt; (as asked for)" in page
