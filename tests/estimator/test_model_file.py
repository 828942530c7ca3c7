"""Model files: what is saved comes back, and no damaged or hostile file is loaded, runs code or takes memory."""

from __future__ import annotations

import hashlib
import json
import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qrt import QRTRegressor
from qrt.estimator.model_file import read_model_file, write_model_file
from qrt.estimator.unusable_input import UnusableInput
from support.generated_splits import heteroscedastic

FAST: dict[str, Any] = {"max_epochs": 4, "patience": 2, "bandwidth": (0.1, 0.2), "random_state": 0}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    x, y, _ = heteroscedastic(60)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(colour=np.where(x[:, 0] > 0, "red", "blué"))
    path = tmp_path_factory.mktemp("model") / "model.qrt"
    QRTRegressor(**FAST).fit(frame, y).save(path)
    return path


@pytest.mark.parametrize("method", ["BASE", "QRT", "QRTC", "QRTC-KDE", "QRLC", "QRIC"])
@pytest.mark.parametrize("settings", [{}, {"posthoc_map": "EMP"}, {"base_model": "resnet", "components": 1}])
def test_loaded_model_is_the_saved_one(method: str, settings: dict[str, Any], tmp_path: Path) -> None:
    x, y, _ = heteroscedastic(60)
    if method == "BASE":
        settings = {name: value for name, value in settings.items() if name != "posthoc_map"}
    model = QRTRegressor(method=method, **(FAST | {"bandwidth": 0.1} | settings)).fit(x, y)
    model.save(tmp_path / "model.qrt")
    loaded = QRTRegressor.load(tmp_path / "model.qrt")
    np.testing.assert_array_equal(loaded.predict_quantiles(x), model.predict_quantiles(x))
    np.testing.assert_array_equal(loaded.predict_distribution(x).logpdf(y), model.predict_distribution(x).logpdf(y))
    assert loaded.get_params() == model.get_params()
    np.testing.assert_equal(loaded.validation_metrics_, model.validation_metrics_)
    names = ("n_features_in_", "bandwidth_", "alpha_", "n_iter_", "selected_epoch_", "seed_")
    assert [getattr(loaded, name) for name in names] == [getattr(model, name) for name in names]
    loaded.save(tmp_path / "again.qrt")
    assert (tmp_path / "again.qrt").read_bytes() == (tmp_path / "model.qrt").read_bytes()


def test_loaded_model_knows_columns_and_categories(saved: Path) -> None:
    model = QRTRegressor.load(saved)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "colour"]
    assert model.columns_.categories[3] == ("blué", "red")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(np.zeros((1, 4)), columns=list("wxyz")))


def test_file_from_before_missing_values_were_taken_is_loaded(saved: Path, tmp_path: Path) -> None:
    facts, arrays = read_model_file(saved)
    del facts["columns"]["missing"]
    write_model_file(tmp_path / "old.qrt", facts, arrays)
    old, model = QRTRegressor.load(tmp_path / "old.qrt"), QRTRegressor.load(saved)
    assert old.columns_.missing == ()
    frame = pd.DataFrame({"a": [0.1, 0.5], "b": 0.2, "c": -0.5, "colour": "red"})
    np.testing.assert_array_equal(old.predict_quantiles(frame), model.predict_quantiles(frame))
    for missing in ([True], "yes", [1, 0, 0, 0]):
        facts["columns"]["missing"] = missing
        write_model_file(tmp_path / "wrong.qrt", facts, arrays)
        with pytest.raises(UnusableInput, match=r"wrong\.qrt: not a model"):
            QRTRegressor.load(tmp_path / "wrong.qrt")


def test_random_state_that_is_no_number_is_saved_as_the_seed_that_came_from_it(tmp_path: Path) -> None:
    x, y, _ = heteroscedastic(60)
    model = QRTRegressor(**(FAST | {"random_state": np.random.RandomState(5)})).fit(x, y)
    model.save(tmp_path / "model.qrt")
    loaded = QRTRegressor.load(tmp_path / "model.qrt")
    assert loaded.random_state == model.seed_
    np.testing.assert_array_equal(loaded.fit(x, y).predict(x), model.predict(x))


def test_damage_anywhere_in_the_file_is_found(saved: Path, tmp_path: Path) -> None:
    content = saved.read_bytes()
    damaged = tmp_path / "model.qrt"
    for place in range(0, len(content), len(content) // 50):
        damaged.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(UnusableInput, match=str(damaged)):
            QRTRegressor.load(damaged)
    for length in (0, 5, 25, 100, len(content) - 1):
        damaged.write_bytes(content[:length])
        with pytest.raises(UnusableInput, match=str(damaged)):
            QRTRegressor.load(damaged)


def test_file_that_is_not_there_or_a_folder_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.qrt", tmp_path):
        with pytest.raises(UnusableInput, match="cannot be read"):
            QRTRegressor.load(path)


def test_model_of_the_first_format_predicts_as_it_did() -> None:
    x, _, _ = heteroscedastic(60)
    frame = pd.DataFrame(x, columns=list("abc")).assign(colour=np.where(x[:, 0] > 0, "red", "blue"))
    model = QRTRegressor.load(Path(__file__).parent / "files/format1.qrt")
    # As printed by the version that wrote the file: QRTRegressor(bandwidth=(0.1, 0.2), max_epochs=40, random_state=0).
    expected = [
        [-1.006223782584644, 0.262990336822165, 1.4777034760021965],
        [-1.8434497039535258, -0.25007272515465095, 1.1940516195151412],
        [-1.1653326345262238, 0.12041334353466625, 1.341725047932526],
    ]
    np.testing.assert_allclose(model.predict_quantiles(frame.iloc[:3]), expected, rtol=1e-5)
    assert (model.method, model.bandwidth_, model.n_iter_) == ("QRTC", 0.2, 38)


def test_newer_format_is_refused_with_what_to_do(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "new.qrt").write_bytes(saved.read_bytes().replace(b"format 2", b"format 3", 1))
    with pytest.raises(UnusableInput, match=r"has format 3, but this version .* up to 2"):
        QRTRegressor.load(tmp_path / "new.qrt")


class _Harmful:
    """What a pickle can do when it is loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("harmed"),))


def test_pickle_is_refused_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.qrt"
    path.write_bytes(pickle.dumps(_Harmful()))
    with pytest.raises(UnusableInput, match="does not begin with"):
        QRTRegressor.load(path)
    assert not (tmp_path / "harmed").exists()


def with_content(path: Path, text: bytes, stored: bytes = b"") -> Path:
    """A file with the right checksum, as somebody would make it who means harm."""
    content = text + b"\n" + stored
    path.write_bytes(b"qrt model, format 1\n" + hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    return path


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"facts": {}, "arrays": []}',
        b'{"facts": [], "arrays": {}}',
        b'{"facts": {"seed": NaN}, "arrays": []}',
        b"[" * 100_000,
        b'{"facts": {"seed": ' + b"9" * 5000 + b'}, "arrays": []}',
        b"\xff\xfe",
        b'{"facts": {}, "arrays": [["a", "O", [1]]]}',
        b'{"facts": {}, "arrays": [["a", "<f8", [-1]]]}',
        b'{"facts": {}, "arrays": [["a", "<f8", [1.5]]]}',
        b'{"facts": {}, "arrays": [["a", "<f8", [1000000000000]]]}',
        b'{"facts": {}, "arrays": [["a", "<f8", [4294967296, 4294967296]]]}',
        b'{"facts": {}, "arrays": [["a", "<f8", [0, 9223372036854775808]]]}',
        b'{"facts": {}, "arrays": [["a", "<f8", [' + b"1, " * 100 + b"0]]]}",
        b'{"facts": {}, "arrays": [["a", "<f8"]]}',
        b'{"facts": {}, "arrays": [7]}',
        b'{"facts": {}, "arrays": [["a", "<f8", [0]], ["a", "<f8", [0]]]}',
        b'{"facts": {}, "arrays": [["a", ["<f8"], [0]]]}',
    ],
)
def test_contents_that_no_model_has_are_refused_without_taking_memory(text: bytes, tmp_path: Path) -> None:
    path = with_content(tmp_path / "model.qrt", text)
    tracemalloc.start()
    try:
        with pytest.raises(UnusableInput, match="not a model that this package has saved"):
            QRTRegressor.load(path)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def _set(*keys: Any, value: Any) -> Callable[[dict[str, Any], dict[str, np.ndarray]], None]:
    def change(facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        *way, last = keys
        place: Any = facts
        for key in way:
            place = place[key]
        place[last] = value

    return change


def _array(name: str, change: Callable[[np.ndarray], Any]) -> Callable[[dict[str, Any], dict[str, np.ndarray]], None]:
    def changed(facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays[name] = np.asarray(change(arrays[name]))

    return changed


@pytest.mark.parametrize(
    "change",
    [
        _set("seed", value=-1),
        _set("seed", value="1"),
        _set("target", "scale", value=0),
        _set("target", "scale", value="1"),
        _set("target", "mean", value=None),
        _set("target", value=[]),
        _set("maps", 0, "name", value="SPLINE"),
        _set("maps", 0, "scale", value=0.0),
        _set("maps", 0, "scale", value=1e-300),
        _set("maps", 0, "total", value=-1.0),
        _set("maps", 0, "offset", value=1e9),
        _set("maps", 0, "offset", value=0.0),
        _set("maps", 0, "scale", value=1e308),
        _set("maps", 0, "total", value=5e-324),
        _set("target", "mean", value=1e308),
        _set("target", "scale", value=5e-324),
        _set("maps", value={}),
        _set("maps", value=[]),
        _set("networks", 0, "variant", "components", value=10**9),
        _set("networks", 0, "variant", "components", value=True),
        _set("networks", 0, "variant", "base_model", value="os.system"),
        _set("networks", 0, "variant", "units", value=5),
        _set("networks", 0, "variant", value=None),
        _set("networks", 0, "epochs", value="many"),
        _set("networks", value=[]),
        _set("columns", "labels", value=["a"]),
        _set("columns", "labels", value=[1, 2, 3, 4]),
        _set("columns", "categories", 3, value=[["red"]]),
        _set("columns", "categories", 3, value=["red"] * 10**5),
        _set("columns", "categories", value="abcd"),
        _set("feature_names", value=["x", "y", "z", "w"]),
        _set("parameters", value=[1]),
        _set("parameters", "harm", value=1),
        _set("parameters", value={}),
        _set("validation_metrics", value={"nll": {}}),
        _array("x.scales", lambda values: -values),
        _array("x.scales", lambda values: values * 1e308),
        _array("x.means", lambda values: values[:-1]),
        _array("x.means", lambda values: values * np.nan),
        _array("network0.output.bias", lambda values: values.astype("<f8")),
        _array("network0.output.bias", lambda values: values.T),
        _array("network0.output.bias", lambda values: values * np.inf),
        _array("map0.centres", lambda values: values[::-1]),
        _array("map0.centres", lambda values: values[1:]),
        _array("map0.centres", lambda values: values * 100),
        _array("map0.centres", lambda values: values[:0]),
        lambda facts, arrays: arrays.pop("x.means"),
        lambda facts, arrays: arrays.update(more=np.zeros(3)),
    ],
)
def test_forged_model_with_the_right_checksum_is_refused(
    change: Callable[[dict[str, Any], dict[str, np.ndarray]], None], saved: Path, tmp_path: Path
) -> None:
    facts, arrays = read_model_file(saved)
    change(facts, arrays)
    write_model_file(tmp_path / "forged.qrt", facts, arrays)
    with pytest.raises(UnusableInput, match=str(tmp_path / "forged.qrt")):
        QRTRegressor.load(tmp_path / "forged.qrt")


def test_unchanged_contents_are_written_as_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    write_model_file(tmp_path / "same.qrt", *read_model_file(saved))
    assert (tmp_path / "same.qrt").read_bytes() == saved.read_bytes()
    first = json.loads(saved.read_bytes().split(b"\n")[2])
    assert first["facts"]["package_version"]


def test_parameters_that_no_file_can_hold_are_refused(tmp_path: Path) -> None:
    x, y, _ = heteroscedastic(60)
    model = QRTRegressor(**FAST).fit(x, y)
    model.set_params(verbose=object())
    with pytest.raises(UnusableInput, match="verbose"):
        model.save(tmp_path / "model.qrt")
    assert list(tmp_path.iterdir()) == []
