"""Ctrl-C during `fit`: the best networks so far are a fitted model; twice, it interrupts."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from qrt import QRTRegressor
from qrt.engine.training_step import TrainingStep
from qrt.engine.validation import Validation
from qrt.estimator import interruption
from support.generated_splits import heteroscedastic

LONG: dict[str, Any] = {"max_epochs": 500, "patience": 500, "bandwidth": (0.1, 0.2), "random_state": 0}


@pytest.fixture(autouse=True)
def no_earlier_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interruption, "_last", -1000.0)


@pytest.fixture
def ctrl_c_at_step(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Sends the signal of Ctrl-C in the midst of training steps with these numbers."""

    def at(*numbers: int) -> None:
        count, step = 0, TrainingStep.__call__

        def counted(self: TrainingStep, rows: Any) -> Any:
            nonlocal count
            count += 1
            if count in numbers:
                os.kill(os.getpid(), signal.SIGINT)
            return step(self, rows)

        monkeypatch.setattr(TrainingStep, "__call__", counted)

    yield at
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(("step", "epochs"), [(7, 8), (1, 2)])  # 45 rows: one step is one epoch
def test_interrupted_fit_is_the_fit_that_would_have_ended_there(
    ctrl_c_at_step: Callable[..., None], step: int, epochs: int
) -> None:
    x, y, _ = heteroscedastic(60)
    expected = QRTRegressor(**(LONG | {"max_epochs": epochs})).fit(x, y)
    ctrl_c_at_step(step)
    model = QRTRegressor(**LONG)
    with pytest.warns(UserWarning, match=rf"interrupted \(Ctrl-C\) after {epochs} epochs"):
        model.fit(x, y)
    assert (model.n_iter_, model.selected_epoch_) == (epochs, expected.selected_epoch_)
    np.testing.assert_array_equal(model.predict_quantiles(x), expected.predict_quantiles(x))


def test_best_epoch_before_the_interruption_is_kept(
    ctrl_c_at_step: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    values, calls = Validation.values, []

    def worse_and_worse(self: Validation, stack: Any) -> Any:
        calls.append(0)
        return values(self, stack) + 10 * len(calls)

    monkeypatch.setattr(Validation, "values", worse_and_worse)
    ctrl_c_at_step(9)
    x, y, _ = heteroscedastic(60)
    with pytest.warns(UserWarning, match="of epoch 2$"):
        model = QRTRegressor(**LONG).fit(x, y)
    assert (model.n_iter_, model.selected_epoch_) == (10, 2)


def test_ctrl_c_twice_in_a_row_interrupts(ctrl_c_at_step: Callable[..., None]) -> None:
    x, y, _ = heteroscedastic(60)
    ctrl_c_at_step(3, 4)
    model = QRTRegressor(**LONG)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y)
    assert not hasattr(model, "model_")


def test_threads_and_signal_handlers_of_others_are_left_alone() -> None:
    x, y, _ = heteroscedastic(60)
    fits: list[QRTRegressor] = []
    thread = threading.Thread(target=lambda: fits.append(QRTRegressor(**(LONG | {"max_epochs": 4})).fit(x, y)))
    thread.start()
    thread.join()
    assert fits[0].n_iter_ == 4
    own = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruption.stopped_by_ctrl_c() as stop:
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            assert not stop()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, own)
