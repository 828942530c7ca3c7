"""QRTRegressor(cv=...): every row trains, and those that a network has not seen calibrate it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qrt import QRTRegressor
from qrt.engine.split import SplitData
from qrt.estimator.distribution import PredictedDistribution
from qrt.estimator.fit_sets import cross_fitting_splits
from qrt.estimator.unusable_input import UnusableInput
from support.generated_splits import heteroscedastic

FAST: dict[str, Any] = {"max_epochs": 6, "patience": 2, "random_state": 0}


def test_each_row_is_held_out_once_and_trains_in_all_other_folds() -> None:
    rows = 23
    x = np.arange(rows, dtype=np.float32)[:, None]
    sizes = {"train": rows, "calibration": 0, "validation": 0, "test": 0}
    data = SplitData(
        x=x, y=x[:, 0] * np.float32(0.5), sizes=sizes, y_mean=0.0, y_scale=1.0, weights=x[:, 0].astype(np.float64) + 1
    )
    splits = cross_fitting_splits(data, 5, seed=3)
    held_out = np.concatenate([split.part("validation")[0][:, 0] for split in splits])
    assert sorted(held_out) == list(range(rows))
    for split in splits:
        assert sorted(split.x[:, 0]) == list(range(rows))
        assert (split.y == split.x[:, 0] / 2).all()
        assert split.weights is not None
        assert (split.weights == split.x[:, 0] + 1).all()


def test_map_is_built_from_pits_under_networks_that_have_not_seen_the_row() -> None:
    x, y, _ = heteroscedastic(90)
    model = QRTRegressor(method="QRC", cv=3, **FAST).fit(x, y)
    assert len(model.model_.networks) == 3
    standardised = model.columns_.standardised(x)
    pits = []
    for network, fold in zip(
        model.model_.networks, np.array_split(np.random.RandomState(0).permutation(90), 3), strict=True
    ):
        alone = replace(model.model_, networks=(network,), maps=())
        pits.append(PredictedDistribution(alone.predictive(standardised[fold])).cdf(y[fold]))
    (one,) = model.model_.maps
    centres = one.centres.numpy()  # type: ignore[attr-defined]
    inner = np.sort(centres)[90:180]  # the others are their reflections
    np.testing.assert_allclose(inner, np.sort(np.concatenate(pits)), atol=1e-6)


@pytest.mark.parametrize(("members", "folds", "networks"), [(None, 4, 8), (None, 5, 10), (3, 2, 4), (1, 3, 3)])
def test_every_fold_has_networks_of_its_own(members: int | None, folds: int, networks: int, tmp_path: Path) -> None:
    x, y, _ = heteroscedastic(60)
    model = QRTRegressor(members=members, cv=folds, **FAST).fit(x, y)
    assert len(model.model_.networks) == networks
    assert len({network.parameters["hidden1.weight"][0, 0].item() for network in model.model_.networks}) == networks
    model.save(tmp_path / "model.qrt")
    loaded = QRTRegressor.load(tmp_path / "model.qrt")
    np.testing.assert_array_equal(loaded.predict_quantiles(x), model.predict_quantiles(x))
    assert loaded.cv == folds


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cv": 1}, "cv is 1"),
        ({"cv": 31}, "half of the 60 rows"),
        ({"cv": 2.5}, "whole number"),
        ({"cv": True}, "cv is True"),
        ({"cv": 5, "method": "BASE"}, "no post-hoc map"),
        ({"cv": 5, "posthoc_map": "none"}, "no post-hoc map"),
    ],
)
def test_folds_that_make_no_sense_are_refused(settings: dict[str, Any], words: str) -> None:
    x, y, _ = heteroscedastic(60)
    with pytest.raises(UnusableInput, match=words):
        QRTRegressor(**(FAST | settings)).fit(x, y)


def test_sets_of_ones_own_and_folds_exclude_each_other() -> None:
    x, y, _ = heteroscedastic(60)
    with pytest.raises(UnusableInput, match="no sets of your own"):
        QRTRegressor(cv=5, **FAST).fit(x, y, validation=(x, y))
