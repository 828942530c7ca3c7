"""The regressor for data of one's own: equal to the study, at home in scikit-learn, clear about what it refuses."""

from __future__ import annotations

import math
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse, stats
from sklearn.base import BaseEstimator, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from qrt import QRTRegressor, QuantileRecalibrator
from qrt.engine.predictive import PredictiveDistribution
from qrt.engine.split import split_rows
from qrt.engine.trainer import TrainedNetwork, train_stack
from qrt.estimator import regressor as module
from qrt.estimator.chosen_method import chosen_method
from qrt.estimator.fitted_model import FittedModel
from qrt.estimator.unusable_input import UnusableInput
from qrt.methods import paper_methods
from qrt_study.data.split_store import load_split
from qrt_study.plan.experiments import Experiment
from qrt_study.plan.family import Family
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.results.tables import RUNS, as_table
from qrt_study.results.tuning import tuned_methods
from support.generated_splits import heteroscedastic
from support.small_jobs import TRAINING, evaluated, prepared_dataset, train_into

BANDWIDTHS = (0.05, 0.2)
EPOCHS, PATIENCE = TRAINING["max_epochs"], TRAINING["patience"]
FAST: dict[str, Any] = {"max_epochs": 6, "patience": 2, "bandwidth": 0.1, "random_state": 0}
METHODS = ("BASE", "BASE-TRAIN", "QRC", "QRT", "QRTC", "QREGC", "QREG", "QRTC-KDE", "QRIC", "QRGC", "QRLC", "QRTC-32")


def fast(**settings: Any) -> QRTRegressor:
    return QRTRegressor(**(FAST | settings))


def table(rows: int = 60, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """A table with numbers, texts, categories and truth values, and its target."""
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": generator.normal(100, 20, rows),
            "rooms": generator.integers(1, 6, rows),
            "colour": generator.choice(["red", "green", "blue"], rows),
            "kind": pd.Categorical(generator.choice(["a", "b"], rows)),
            "garden": generator.choice([True, False], rows),
        },
        index=pd.Index([f"house {number}" for number in range(rows)], name="address"),
    )
    return frame, pd.Series(3 * frame["size"] + 50 * frame["rooms"] + generator.normal(0, 20, rows), name="price")


@pytest.fixture(scope="module")
def fitted() -> QRTRegressor:
    x, y, _ = heteroscedastic(120)
    return fast().fit(x, y)


_OTHER_DRAWS = (
    "which rows are set aside and come in which batch is drawn at random, and not the same for repeated rows; "
    "maps, metrics and scores are equal (tests/engine/test_weights.py, test_sample_weight.py)"
)
NOT_EXACT = {f"check_sample_weight_equivalence_on_{kind}_data": _OTHER_DRAWS for kind in ("dense", "sparse")}


# All others pass; that of other array libraries is skipped by scikit-learn unless SCIPY_ARRAY_API is set.
@parametrize_with_checks(
    [QRTRegressor(max_epochs=60, patience=5, bandwidth=0.1)], expected_failed_checks=lambda estimator: NOT_EXACT
)
def test_scikit_learn_accepts_the_regressor(estimator: BaseEstimator, check: Callable[[BaseEstimator], None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # some checks give what scikit-learn warns about
        check(estimator)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame, Family]:
    """The folder of a prepared dataset, the rows of all networks of the methods on its split 1, and their family."""
    folder = prepared_dataset(tmp_path_factory.mktemp("data"), "skewed")
    methods = [paper_methods(BANDWIDTHS)[name] for name in METHODS]
    networks = sorted({network for method in methods for network in method.networks})
    maps = [sorted({method.posthoc for method in methods if network in method.networks}) for network in networks]
    paper = PROTOCOLS["paper"]
    switches = ("kernel_width", "free_centres", "map_rows_outside", "early_stopping", "map_centres")
    family = Family(
        name="all",
        networks=tuple(networks),
        posthoc=tuple(("none", *(name for name in names if name != "none")) for names in maps),
        curves=False,
        conditions={name: getattr(paper, name) for name in switches},
    )
    file = train_into(folder / "split1.networks.parquet", folder, 1, family)
    rows = evaluated({1: file}, folder, family, examples=False).runs
    return folder, as_table(rows, RUNS).to_pandas(), family


@pytest.mark.parametrize("name", METHODS)
def test_regressor_gives_the_numbers_of_the_study_on_its_split(
    study: tuple[Path, pd.DataFrame, Family], name: str
) -> None:
    folder, runs, _ = study
    method = paper_methods(BANDWIDTHS)[name]
    expected = tuned_methods(runs, Experiment("one", "", (method,)), PROTOCOLS["paper"]).iloc[0]
    x, y = parts_as_prepared(folder, 1)
    model = QRTRegressor(method=name, bandwidth=BANDWIDTHS, random_state=1, max_epochs=EPOCHS, patience=PATIENCE)
    own = {part: (x[part], y[part]) for part in ("validation", "calibration")}
    model.fit(x["train"], y["train"], **own)
    assert (model.bandwidth_ or math.nan) == pytest.approx(expected["bandwidth"], nan_ok=True)
    assert model.alpha_ == expected["alpha"]
    assert model.n_iter_ == expected["epochs"]
    # The study has rounded its targets to float32 after standardisation.
    data = load_split(folder, 1)
    found = model.diagnose(x["test"], data.part("test")[1].astype(np.float64) * data.y_scale + data.y_mean)
    assert {"nll", "crps", "crps_wis", "pce_levels", "pce_sorted", "sd", "coverage_90"} <= set(found.metrics)
    for metric, value in found.metrics.items():
        assert value == pytest.approx(expected[f"test_{metric}"], rel=1e-10, abs=1e-12), metric
        in_validation = model.validation_metrics_[metric]
        assert in_validation == pytest.approx(expected[f"val_{metric}"], rel=1e-10, abs=1e-12), metric
    assert model.diagnose(x["test"], y["test"]).nll == pytest.approx(expected["test_nll"], abs=1e-5)


def parts_as_prepared(folder: Path, split: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """x and y of each part of a split, not standardised."""
    x, y = np.load(folder / "x.npy"), np.load(folder / "y.npy")
    rows = vars(split_rows(len(y), split))
    return {name: x[numbers] for name, numbers in rows.items()}, {name: y[numbers] for name, numbers in rows.items()}


def test_trained_regressor_predicts_the_true_distribution() -> None:
    x, y, log_density = heteroscedastic(3000)
    model = QRTRegressor(bandwidth=0.1, max_epochs=60, patience=10, random_state=0).fit(x[:2500], y[:2500])
    diagnosis = model.diagnose(x[2500:], y[2500:])
    assert diagnosis.nll == pytest.approx(-log_density[2500:].mean(), abs=0.1)
    assert stats.kstest(diagnosis.pit, "uniform").pvalue > 0.001
    assert model.score(x[2500:], y[2500:]) > 0.2


def test_all_ways_to_predict_agree_with_the_distribution(fitted: QRTRegressor) -> None:
    x, y, _ = heteroscedastic(30, seed=1)
    distribution = fitted.predict_distribution(x)
    np.testing.assert_array_equal(fitted.predict(x), distribution.mean())
    np.testing.assert_array_equal(fitted.predict(x, statistic="median"), distribution.median())
    np.testing.assert_array_equal(fitted.predict_quantiles(x, [0.1, 0.7]), distribution.ppf([0.1, 0.7]))
    np.testing.assert_array_equal(fitted.predict_quantiles(x, 0.3)[:, 0], distribution.ppf(0.3))  # type: ignore[arg-type]
    np.testing.assert_array_equal(fitted.predict_interval(x, 0.8), distribution.interval(0.8))
    assert fitted.diagnose(x, y).nll == pytest.approx(distribution.log_score(y).mean())


def test_affine_change_of_target_and_columns_changes_predictions_with_it() -> None:
    x, y, _ = heteroscedastic(100)
    first = fast().fit(x, y).predict_quantiles(x)
    second = fast().fit(x * [10, 0.1, 3] + [5, -2, 1e3], 1e6 + 1e3 * y)
    scaled = second.predict_quantiles(x * [10, 0.1, 3] + [5, -2, 1e3])
    np.testing.assert_allclose((scaled - 1e6) / 1e3, first, atol=2e-3)


@pytest.mark.parametrize("settings", [{"posthoc_map": "EMP"}, {"posthoc_map": "DCP"}, {"posthoc_map": "TRUNC"}])
def test_other_maps_recalibrate_as_well(settings: dict[str, Any]) -> None:
    x, y, _ = heteroscedastic(100)
    model = fast(**settings, method="QRTC", bandwidth=(0.05, 0.2)).fit(x, y)
    assert [one.name for one in model.model_.maps] == [settings["posthoc_map"]]
    assert np.isfinite(model.predict(x)).all()


def test_parameters_reach_the_network() -> None:
    x, y, _ = heteroscedastic(80)
    model = fast(base_model="resnet", components=2, alpha=0.5, posthoc_map="none").fit(x, y)
    variant = model.model_.variant
    assert (variant.base_model, variant.components, variant.alpha) == ("resnet", 2, 0.5)
    assert model.model_.maps == ()
    assert model.predict_distribution(x).predictive.mixture.means.shape == (80, 8 * 2)
    assert fast(alpha=0).fit(x, y).bandwidth_ is None


def test_bandwidth_of_the_post_hoc_map_is_that_of_training_or_the_one_given() -> None:
    x, y, _ = heteroscedastic(80)
    factor = math.sqrt(3) / math.pi * 12**-0.2  # of 12 calibration rows
    for settings, bandwidth in (({}, 0.05), ({"posthoc_bandwidth": 0.3}, 0.3), ({"method": "QRC"}, 0.1)):
        (one,) = fast(**({"method": "QRTC", "bandwidth": 0.05} | settings)).fit(x, y).model_.maps
        assert one.resolution == pytest.approx(bandwidth * factor)
    maps = fast(posthoc_bandwidth=(0.3, 0.1)).fit(x, y).model_.maps
    assert [one.resolution for one in maps] == pytest.approx([0.3 * factor, 0.1 * factor])


def test_second_post_hoc_map_is_fitted_on_top_of_the_first() -> None:
    x, y, _ = heteroscedastic(120)
    own = {"validation": (x[60:90], y[60:90]), "calibration": (x[90:], y[90:])}
    one, two = (fast(posthoc_bandwidth=b).fit(x[:60], y[:60], **own) for b in (0.3, (0.3, 0.1)))
    pits = one.predict_distribution(x[90:]).cdf(y[90:])
    expected = QuantileRecalibrator(bandwidth=0.1).fit(pits).transform(one.predict_distribution(x))
    np.testing.assert_allclose(two.predict_distribution(x).cdf(y), expected.cdf(y), atol=1e-12)


def test_members_are_pooled_and_the_first_is_the_network_of_a_single_one() -> None:
    x, y, _ = heteroscedastic(90)
    pool = fast(method="QRC", members=3, posthoc_map="none", history=True).fit(x, y)
    single = fast(method="QRC", posthoc_map="none").fit(x, y)
    members = []
    for network in pool.model_.networks:
        single.model_ = replace(single.model_, networks=(network,))
        members.append(single.predict_distribution(x))
    alone = fast(method="QRC", posthoc_map="none").fit(x, y).predict_distribution(x)
    np.testing.assert_allclose(members[0].cdf(y), alone.cdf(y), atol=1e-4)
    assert np.abs(members[1].cdf(y) - members[0].cdf(y)).max() > 0.01
    distribution = pool.predict_distribution(x)
    np.testing.assert_allclose(distribution.cdf(y), np.mean([one.cdf(y) for one in members], axis=0), atol=1e-12)
    np.testing.assert_allclose(distribution.pdf(y), np.mean([one.pdf(y) for one in members], axis=0), atol=1e-12)
    assert set(pool.history_["member"]) == {0, 1, 2}


def test_default_pools_eight_networks_of_few_training_rows_and_two_of_many() -> None:
    default = chosen_method("ensemble")
    assert [default.members_for(rows) for rows in (40, 2000, 2001, 50_000)] == [8, 8, 2, 2]
    assert chosen_method("ensemble", members=5).members_for(50_000) == chosen_method("QRC", members=5).members_for(40)
    assert chosen_method("QRTC").members_for(40) == 1


def test_member_that_diverges_is_left_out_of_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_diverges(*arguments: Any, **settings: Any) -> list[TrainedNetwork]:
        first, *others = train_stack(*arguments, **settings)
        return [replace(first, status="diverged", reason="as the test has it"), *others]

    x, y, _ = heteroscedastic(60)
    monkeypatch.setattr("qrt.estimator.fitted_model.train_stack", one_diverges)
    assert len(fast().fit(x, y).model_.networks) == 7
    with pytest.raises(UnusableInput, match="as the test has it"):
        fast(members=1).fit(x, y)


def test_same_random_state_gives_the_same_model_and_another_does_not() -> None:
    x, y, _ = heteroscedastic(60)
    first, second, other = (fast(random_state=seed).fit(x, y).predict(x) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    state = np.random.RandomState(0)
    assert fast(random_state=state).fit(x, y).seed_ != fast(random_state=state).fit(x, y).seed_


def test_sets_of_ones_own_are_used_and_the_other_rows_all_train() -> None:
    x, y, _ = heteroscedastic(100)
    model = fast(verbose=1)
    rows: list[str] = []
    model._log = lambda: rows.append  # type: ignore[method-assign]
    model.fit(x[:60], y[:60], validation=(x[60:80], y[60:80]), calibration=(x[80:], y[80:]))
    assert "60 train, 20 validation, 20 calibration" in rows[0]
    assert len(model.model_.maps[0].centres) == 60  # type: ignore[attr-defined]
    with pytest.raises(UnusableInput, match="validation must be a pair"):
        fast().fit(x, y, validation=x)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [40, 41, 57])
def test_forty_rows_are_enough(rows: int) -> None:
    x, y, _ = heteroscedastic(rows)
    assert np.isfinite(QRTRegressor(max_epochs=20, random_state=0).fit(x, y).predict_interval(x)).all()


def test_row_alone_is_predicted_as_among_others(fitted: QRTRegressor) -> None:
    x, _, _ = heteroscedastic(50, seed=2)
    together = fitted.predict_quantiles(x)
    for row in (0, 17, 49):
        np.testing.assert_allclose(fitted.predict_quantiles(x[row : row + 1]), together[row : row + 1], rtol=1e-9)


def test_constant_columns_do_no_harm_even_if_they_change_later() -> None:
    x, y, _ = heteroscedastic(60)
    with_constants = np.column_stack([x, np.full(60, 0.1), np.zeros(60)])
    model = fast().fit(with_constants, y)
    assert model.columns_.scales[3:].tolist() == [1.0, 1.0]
    changed = with_constants + np.array([0, 0, 0, 50, 1])
    with pytest.warns(UserWarning, match="60 rows have values far outside .* row 0: '3' is 50.1, in training 0.1 to"):
        np.testing.assert_array_equal(model.predict(changed), model.predict(with_constants))


def test_result_does_not_depend_on_the_parts_in_which_a_large_table_is_predicted(
    fitted: QRTRegressor, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, _, _ = heteroscedastic(3000, seed=3)
    whole = fitted.predict_quantiles(x)
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", 1024)
    np.testing.assert_allclose(fitted.predict_quantiles(x), whole, rtol=1e-9)
    x[2500, 1] = np.inf
    with pytest.raises(UnusableInput, match=r"column '1' has .* infinite .* row 2500"):
        fitted.predict(x)


def test_network_never_sees_more_rows_at_once_than_memory_is_meant_for(
    fitted: QRTRegressor, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    predictive = FittedModel.predictive

    def noted(model: FittedModel, x: np.ndarray) -> PredictiveDistribution:
        seen.append(len(x))
        return predictive(model, x)

    monkeypatch.setattr(FittedModel, "predictive", noted)
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", 1024)
    x, _, _ = heteroscedastic(2500)
    for predict in (fitted.predict, fitted.predict_quantiles, fitted.predict_interval, fitted.predict_distribution):
        seen.clear()
        assert len(predict(x)) == 2500
        assert seen == [1024, 1024, 452]


def test_pandas_table_is_predicted_with_its_index() -> None:
    frame, y = table()
    model = fast().fit(frame, y)
    assert model.feature_names_in_.tolist() == list(frame)
    new = frame.iloc[[5, 3]]
    interval = model.predict_interval(new)
    assert isinstance(interval, pd.DataFrame)
    pd.testing.assert_index_equal(interval.index, new.index)
    assert list(interval) == ["lower", "upper"]
    quantiles = model.predict_quantiles(new, [0.1, 0.9])
    assert list(quantiles) == [0.1, 0.9]
    pd.testing.assert_index_equal(model.predict_distribution(new).index, new.index)
    np.testing.assert_allclose(model.predict(new), model.predict(frame)[[5, 3]], rtol=1e-9)


def test_missing_values_of_every_kind_are_fitted_and_predicted(tmp_path: Path) -> None:
    frame, y = table(80)
    frame.loc[frame.index[::7], "size"] = np.nan
    frame.loc[frame.index[::9], "colour"] = None
    model = fast().fit(frame, y)
    assert "size is missing" in model.columns_.features
    assert "colour is missing" in model.columns_.features
    with pytest.warns(UserWarning, match="column 'rooms' has missing values"):
        assert np.isfinite(model.predict_interval(frame.assign(rooms=np.nan))).all(axis=None)
    model.save(tmp_path / "model.qrt")
    loaded = QRTRegressor.load(tmp_path / "model.qrt")
    np.testing.assert_array_equal(loaded.predict_quantiles(frame), model.predict_quantiles(frame))


def test_a_network_learns_what_it_means_that_a_value_is_missing() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(1500, 2))
    hidden = generator.uniform(size=1500) < 0.3
    y = np.where(hidden, 5.0, 0.0) + 0.1 * generator.normal(size=1500)
    x[hidden, 0] = np.nan
    model = QRTRegressor(method="BASE", max_epochs=40, random_state=0).fit(x[:1000], y[:1000])
    assert model.diagnose(x[1000:], y[1000:]).metrics["rmse"] < 0.5  # of 2.3 for the mean of all


def test_sparse_rows_are_fitted_and_predicted_as_dense_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, _ = heteroscedastic(90)
    x[np.abs(x) < 0.5] = 0.0
    rows = sparse.csr_array(x)
    expected = fast().fit(x, y).predict_quantiles(x)
    model = fast().fit(sparse.coo_array(x), y, validation=(rows[:20], y[:20]))
    assert model.predict(rows).shape == (90,)
    np.testing.assert_allclose(fast().fit(rows, y).predict_quantiles(rows), expected, rtol=1e-3, atol=1e-4)
    monkeypatch.setattr(module, "MOST_DENSE_BYTES", 90 * 3 * 4 - 1)
    with pytest.raises(UnusableInput, match=r"sparse with 90 rows .*TruncatedSVD"):
        fast().fit(rows, y)


@pytest.mark.filterwarnings("ignore:.*far outside the range")  # of columns that have one value in training
def test_sparse_table_is_predicted_in_dense_parts_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    train = sparse.random_array((60, 2000), density=0.01, rng=0).tocsr()
    model = fast().fit(train, np.asarray(train.sum(axis=1)).ravel())
    many = sparse.random_array((40_000, 2000), density=0.001, rng=1).tocsr()
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", 1024)
    tracemalloc.start()
    model.predict(many)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < many.shape[0] * many.shape[1] * 4 / 4  # a quarter of the dense table in float32


class Polars:
    """A table as polars has it: no pandas table, no array, but with `to_pandas`."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame.reset_index(drop=True)

    def to_pandas(self) -> pd.DataFrame:
        return self._frame.copy()


def test_table_of_another_library_is_taken_by_its_to_pandas() -> None:
    frame, y = table()
    expected = fast().fit(frame, y)
    model = fast().fit(Polars(frame), y)
    assert model.feature_names_in_.tolist() == list(frame)
    quantiles = model.predict_quantiles(Polars(frame))
    assert isinstance(quantiles, np.ndarray)
    np.testing.assert_array_equal(quantiles, expected.predict_quantiles(frame))
    np.testing.assert_array_equal(model.predict(frame), expected.predict(Polars(frame)))


def test_table_of_polars_itself_is_taken() -> None:
    polars = pytest.importorskip("polars", reason="not among the packages of the lock")
    frame, y = table()
    frame = frame.reset_index(drop=True).astype({"kind": str})
    frame.loc[3, "colour"] = None
    of_polars, expected = polars.from_pandas(frame), fast().fit(frame, y)
    model = fast().fit(of_polars, polars.Series(y.to_numpy()))
    np.testing.assert_array_equal(model.predict(of_polars), expected.predict(frame))


def test_unseen_category_is_predicted_with_a_warning() -> None:
    frame, y = table()
    model = fast().fit(frame, y)
    with pytest.warns(UserWarning, match="'colour' has categories that the model was not fitted with: 'violet'"):
        predictions = model.predict(frame.assign(colour="violet"))
    assert np.isfinite(predictions).all()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("size", np.inf, r"column 'size' .* infinite"),
        ("size", 1e300, "column 'size' .* too large"),
    ],
)
def test_value_that_cannot_be_used_is_refused_with_its_column(column: str, value: Any, message: str) -> None:
    frame, y = table()
    bad = frame.copy()
    bad.loc["house 7", column] = value
    with pytest.raises(UnusableInput, match=message):
        fast().fit(bad, y)
    with pytest.raises(UnusableInput, match=message):
        fast().fit(frame, y).predict(bad)


def test_row_without_its_table_and_text_in_an_array_are_refused_with_what_to_write() -> None:
    frame, y = table()
    model = fast().fit(frame, y)
    for alone in (frame.iloc[0], frame["size"]):
        with pytest.raises(UnusableInput, match=r"X is a pandas Series.* write X\.iloc\[\[0\]\]"):
            model.predict(alone)
    of_array = fast().fit(frame[["size", "rooms"]].to_numpy(), y)
    for use in (of_array.predict, lambda x: fast().fit(x, y)):
        with pytest.raises(UnusableInput, match=r"array with text in it .* pandas DataFrame"):
            use(frame[["size", "colour"]].to_numpy())


def test_unusable_targets_are_refused() -> None:
    x, y, _ = heteroscedastic(60)
    for target, message in (
        (np.where(np.arange(60) == 3, np.nan, y), "row 3"),
        (np.where(np.arange(60) == 3, np.inf, y), "inf"),
        (np.full(60, 4.0), r"constant \(4 in all"),
        (np.array(["a"] * 60), "numbers"),
        (y[:50], "inconsistent"),
        (np.column_stack([y, y]), "1d array"),
        (None, "requires y"),
        (pd.Series(pd.to_datetime(y * 1e9)), "type datetime64"),
    ):
        with pytest.raises(ValueError, match=message):
            fast().fit(x, target)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "QRTX"}, "method 'QRTX' is unknown: use one of ensemble, BASE, QRC"),
        ({"base_model": "tree"}, "base model 'tree' is unknown"),
        ({"components": 0}, "components is 0"),
        ({"bandwidth": -1.0}, "bandwidth is -1"),
        ({"bandwidth": ()}, "bandwidth has no value"),
        ({"bandwidth": "wide"}, "bandwidth is 'wide'"),
        ({"validation_fraction": None}, "validation_fraction is None"),
        ({"method": "QRC", "alpha": 1.0}, "QRC trains without a map"),
        ({"method": "BASE", "posthoc_map": "REFL"}, "none are left"),
        ({"posthoc_map": "SPLINE"}, "posthoc_map 'SPLINE' is unknown"),
        ({"posthoc_bandwidth": 0.0}, "bandwidth 0.0 is not usable"),
        ({"validation_fraction": 0.0}, "validation_fraction is 0"),
        ({"calibration_fraction": 0.0}, "calibration_fraction is 0"),
        ({"calibration_fraction": 1.5}, "calibration_fraction is 1.5"),
        ({"validation_fraction": 0.5, "calibration_fraction": 0.5}, "leave no rows"),
        ({"max_epochs": 1}, "max_epochs"),
        ({"patience": 0}, "patience"),
        ({"dropout": 1.0}, "dropout"),
        ({"categorical": [7]}, "no column 7"),
    ],
)
def test_parameter_that_makes_no_sense_is_refused(settings: dict[str, Any], message: str) -> None:
    x, y, _ = heteroscedastic(60)
    with pytest.raises(UnusableInput, match=message):
        fast(**settings).fit(x, y)


def test_methods_without_a_post_hoc_map_need_no_calibration_rows() -> None:
    x, y, _ = heteroscedastic(60)
    model = fast(method="QRT", calibration_fraction=0.0).fit(x, y)
    assert len(model.model_.maps) == 1
    assert np.isfinite(fast(method="BASE", calibration_fraction=0.0).fit(x, y).predict(x)).all()


def test_unfitted_regressor_says_so(tmp_path: Path) -> None:
    for use in (lambda model: model.predict([[1.0]]), lambda model: model.save(tmp_path / "model.qrt")):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use(QRTRegressor())


def test_works_in_pipelines_searches_and_cross_validation() -> None:
    x, y, _ = heteroscedastic(90)
    pipeline = make_pipeline(StandardScaler(), fast()).set_output(transform="pandas")
    assert pipeline.fit(x, y)[-1].feature_names_in_.tolist() == ["x0", "x1", "x2"]
    search = GridSearchCV(fast(), {"bandwidth": [0.05, (0.1, 0.2)], "method": ["QRTC"]}, cv=2).fit(x, y)
    assert search.best_estimator_.predict(x).shape == (90,)
    assert np.isfinite(cross_val_score(fast(), x, y, cv=2, scoring="neg_mean_absolute_error")).all()
    logarithm = TransformedTargetRegressor(fast(), func=np.log, inverse_func=np.exp)
    assert (logarithm.fit(x, np.exp(y)).predict(x) > 0).all()
    copy = clone(fast(method="QRC"))
    assert copy.get_params() == fast(method="QRC").get_params()


def test_progress_is_told_on_standard_error_only_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    x, y, _ = heteroscedastic(60)
    fast().fit(x, y)
    assert capsys.readouterr() == ("", "")
    fast(verbose=1).fit(x, y)
    out, error = capsys.readouterr()
    assert out == ""
    assert "45 train, 6 validation, 9 calibration" in error.splitlines()[0]
    assert "bandwidth 0.1, 6 epochs, validation NLL" in error.splitlines()[-1]


def test_history_has_the_curves_of_all_networks_in_the_units_of_the_target() -> None:
    x, y, _ = heteroscedastic(60)
    model = fast(bandwidth=(0.05, 0.2), method="QRT", history=True).fit(x, 100 * y)
    history = model.history_
    assert set(history["bandwidth"]) == {0.05, 0.2}
    assert set(history["part"]) == {"train", "validation"}
    chosen = history[(history["bandwidth"] == model.bandwidth_) & (history["part"] == "validation")]
    assert chosen["epoch"].tolist() == [2, 4, 6]
    selected = chosen[chosen["epoch"] == model.selected_epoch_].iloc[0]
    assert selected["nll"] == pytest.approx(model.validation_metrics_["nll"], abs=1e-4)


def test_history_is_kept_where_asked_for_and_changes_no_prediction() -> None:
    x, y, _ = heteroscedastic(60)
    model = fast(method="QRT", history=True).fit(x, y)
    with_history = model.predict(x)
    assert model.history_["selected_epoch"].eq(model.selected_epoch_).all()
    np.testing.assert_array_equal(model.set_params(history=False).fit(x, y).predict(x), with_history)
    assert not hasattr(model, "history_")


def test_fit_and_predict_leave_the_number_of_threads_as_it_was(fitted: QRTRegressor) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        fitted.predict(np.zeros((3, 3)))
        with pytest.raises(UnusableInput):
            fitted.predict(np.full((3, 3), np.inf))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_saved_model_predicts_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    frame, y = table(90)
    model = fast().fit(frame, y)
    model.save(tmp_path / "model.qrt")
    frame.to_parquet(tmp_path / "new.parquet")
    code = (
        "import sys, numpy as np, pandas as pd; from qrt import QRTRegressor; model, new = sys.argv[1:]; "
        "values = QRTRegressor.load(model).predict_quantiles(pd.read_parquet(new), [0.05, 0.5, 0.95]); "
        "sys.stdout.buffer.write(np.asarray(values).tobytes())"
    )
    files = [str(tmp_path / name) for name in ("model.qrt", "new.parquet")]
    run = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, check=True)
    assert run.stdout == np.asarray(model.predict_quantiles(frame, [0.05, 0.5, 0.95])).tobytes()


def test_every_method_of_the_table_has_its_name_in_the_paper() -> None:
    assert set(METHODS) <= set(paper_methods())
    assert "QRT-F" not in paper_methods()
    assert [network.bandwidth for network in chosen_method("QRTC").method.networks] == [0.01, 0.05, 0.1, 0.2]
