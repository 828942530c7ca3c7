"""The cookbook: every block of docs/cookbook.md runs, with stand-ins for the packages that cannot be had here."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any, Self

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.linear_model import LinearRegression

from conftest import PROJECT

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class _Fitted:
    """A normal distribution around a line, too narrow."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def fit(self, x: np.ndarray, y: np.ndarray) -> Self:
        self.line = LinearRegression().fit(x, y)
        self.spread = 0.7 * np.std(y - self.line.predict(x))
        return self

    def quantiles(self, x: np.ndarray, levels: Sequence[float]) -> np.ndarray:
        return stats.norm(self.line.predict(x)[:, None], self.spread).ppf(levels)


class CatBoost(_Fitted):
    """`MultiQuantile`: `predict` gives (rows, levels) of the levels in the name of the loss."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        name, levels = self.settings["loss_function"].split(":alpha=")
        assert name == "MultiQuantile"
        return self.quantiles(x, [float(level) for level in levels.split(",")])


class TabPFN(_Fitted):
    """tabpfn/regressor.py of version 9.2.

    "full": a dictionary with the borders (bars + 1,) of a criterion and logits (rows, bars), tensors in float32;
    "quantiles": a list of arrays (rows,), one for each level; levels are Python's floats.
    """

    def predict(self, x: np.ndarray, *, output_type: str = "mean", quantiles: list[float] | None = None) -> Any:
        if output_type == "quantiles":
            assert quantiles is not None
            assert all(0 <= level <= 1 and isinstance(level, float) for level in quantiles)
            return list(self.quantiles(x, quantiles).T.astype(np.float32))
        assert output_type == "full"
        borders = np.linspace(-20, 50, 1001)
        shares = np.diff(stats.norm(self.line.predict(x)[:, None], self.spread).cdf(borders), axis=1)
        logits = torch.from_numpy(np.log(np.maximum(shares, 1e-30)).astype(np.float32)) + 7
        criterion = SimpleNamespace(borders=torch.from_numpy(borders.astype(np.float32)))
        return {"criterion": criterion, "logits": logits}


class TabICL(_Fitted):
    """tabicl/_sklearn/regressor.py of version 2.2: an array (rows, levels) in float32."""

    def predict(self, x: np.ndarray, output_type: str = "mean", alphas: list[float] | None = None) -> np.ndarray:
        assert output_type == "quantiles"
        assert alphas is not None
        return self.quantiles(x, alphas).astype(np.float32)


@pytest.fixture(scope="module")
def cookbook() -> dict[str, Any]:
    """The names that the blocks leave behind."""
    blocks = _BLOCK.findall((PROJECT / "docs/cookbook.md").read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "cookbook"}
    with pytest.MonkeyPatch.context() as patch:
        for package, stand_in in (("catboost", CatBoost), ("tabpfn", TabPFN), ("tabicl", TabICL)):
            module = ModuleType(package)
            setattr(module, f"{stand_in.__name__}Regressor", stand_in)
            patch.setitem(sys.modules, package, module)
        for number, block in enumerate(blocks):
            exec(compile(block, f"block {number} of docs/cookbook.md", "exec"), names)  # noqa: S102
    return names


@pytest.mark.parametrize("name", ["recalibrated_catboost", "recalibrated_tabpfn", "recalibrated_tabicl"])
def test_outputs_of_other_packages_become_calibrated(cookbook: dict[str, Any], name: str) -> None:
    y = cookbook["y_new"]
    distribution = cookbook[name]
    assert distribution.interval(0.9).shape == (400, 2)
    assert np.isfinite(distribution.crps(y)).all()
    predicted = cookbook[name.replace("recalibrated", "of")](cookbook["X_new"])
    before, after = (stats.kstest(one.cdf(y), "uniform").statistic for one in (predicted, distribution))
    # Two samples of 400 are further apart than 0.138 in one of 1,000 cases (Smirnov).
    assert after < min(before, 0.138)


def test_bars_and_quantiles_of_one_model_are_the_same_distribution(cookbook: dict[str, Any]) -> None:
    by_bars = cookbook["of_tabpfn"](cookbook["X_new"])
    np.testing.assert_allclose(by_bars.interval(0.9), cookbook["by_quantiles"].interval(0.9), atol=0.01)
    np.testing.assert_allclose(by_bars.mean(), cookbook["by_quantiles"].mean(), atol=0.01)


@pytest.mark.parametrize("name", ["intervals", "conformal"])
def test_intervals_of_boosting_hold_after_recalibration(cookbook: dict[str, Any], name: str) -> None:
    low, high = cookbook[name].T
    y = cookbook["y_new"]
    # Calibration and test rows are 400 each: 4 standard errors of the difference of two shares.
    assert ((low <= y) & (y <= high)).mean() == pytest.approx(0.9, abs=4 * (2 * 0.9 * 0.1 / 400) ** 0.5)


def test_every_recipe_leaves_what_it_promises(cookbook: dict[str, Any]) -> None:
    for name, shape in (("density", (400,)), ("scores", (400,)), ("same_width", (400, 2)), ("from_pipeline", (400, 2))):
        assert cookbook[name].shape == shape
        assert np.isfinite(cookbook[name]).all()
    assert np.ptp(np.diff(cookbook["same_width"], axis=1)) == pytest.approx(0, abs=1e-6)
    assert (cookbook["by_interval"] < 0).all()
    assert any(name.endswith("is missing") for name in cookbook["model"].columns_.features)
