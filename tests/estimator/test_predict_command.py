"""`qrt predict`: from a table of one's own to predictions, a page on calibration, and clear refusals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from qrt.__main__ import main
from qrt.estimator.calibration_page import calibration_page
from qrt.estimator.columns import learned_columns
from qrt.estimator.diagnosis import Diagnosis
from qrt.estimator.model_file import read_model_file, write_model_file
from qrt.estimator.own_tables import KnownRows, read_known_rows
from qrt.estimator.regressor import QRTRegressor
from qrt_study.data.prepare import prepare
from qrt_study.data.raw_table import RawTable
from support.generated_splits import heteroscedastic

METRICS = dict.fromkeys(("nll", "crps", "pce_levels", "rmse", "mae", "sd", "coverage_90", "length_90"), 0.5)


def houses(rows: int, seed: int = 0) -> pd.DataFrame:
    x, y, _ = heteroscedastic(rows, seed)
    colour = np.where(x[:, 2] > 0, "red", "blue")
    return pd.DataFrame({"id": np.arange(rows), "size": x[:, 0], "rooms": x[:, 1], "colour": colour, "price": 100 + y})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table of known rows and one of new rows, in another order of columns and without the target."""
    monkeypatch.chdir(tmp_path)
    houses(200).to_csv("houses.csv", index=False)
    houses(12, seed=1)[["colour", "id", "rooms", "size"]].to_csv("new.csv", index=False)
    return tmp_path


def predict(*more: str, data: str = "houses.csv", out: str = "out.csv") -> int:
    """Run the command with few epochs."""
    fit = ("--data", data, "--target", "price", "--drop", "id", "--max-epochs", "4") if "--model" not in more else ()
    return main(["predict", *fit, "--new", "new.csv", "--out", out, *more])


def refused(capsys: pytest.CaptureFixture[str], *more: str, data: str = "houses.csv") -> str:
    """The message of a command that ends with status 2 and writes nothing."""
    before = set(Path().iterdir())
    assert predict(*more, data=data) == 2
    assert set(Path().iterdir()) == before
    return capsys.readouterr().err


def test_every_new_row_has_mean_interval_and_quantiles_in_its_order(folder: Path) -> None:
    assert predict("--keep", "id", "--coverage", "0.8", "--quantiles", "0.1", "0.5", "--save-model", "model.qrt") == 0
    table = pd.read_csv("out.csv")
    assert list(table) == ["row", "id", "mean", "lower_0.8", "upper_0.8", "q0.1", "q0.5"]
    assert table["row"].tolist() == list(range(1, 13))
    model = QRTRegressor.load("model.qrt")
    new = pd.read_csv("new.csv")
    assert table["id"].tolist() == new["id"].tolist()
    distribution = model.predict_distribution(new[["size", "rooms", "colour"]])
    np.testing.assert_allclose(table["mean"], distribution.mean())
    np.testing.assert_allclose(table[["lower_0.8", "upper_0.8"]], distribution.interval(0.8))
    np.testing.assert_allclose(table[["q0.1", "q0.5"]], distribution.ppf([0.1, 0.5]))


def test_what_was_written_and_how_good_it_is_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert predict() == 0
    out, error = capsys.readouterr()
    assert "out.csv: predictions of 12 rows" in out
    assert "Held back to check the model: 20 rows" in out
    assert "90 % interval: covers" in out
    assert "ensemble: 8 network(s), rows: 130 train, 20 validation, 30 calibration" in error
    page = (folder / "out.calibration.html").read_text(encoding="utf-8")
    assert "On 20 held-out rows" in page
    assert "data:image/png;base64," in page


def test_held_out_rows_are_those_of_the_study_and_seeds_give_others(folder: Path) -> None:
    for out, more in (("a.csv", ()), ("b.csv", ()), ("c.csv", ("--seed", "1"))):
        assert predict(*more, out=out) == 0
    first, second, other = (Path(name).read_bytes() for name in ("a.csv", "b.csv", "c.csv"))
    assert first == second != other
    assert Path("a.calibration.html").read_text().replace("a.cal", "b.cal") == Path("b.calibration.html").read_text()


def test_saved_model_predicts_the_same_without_the_data(folder: Path) -> None:
    assert predict("--save-model", "model.qrt", "--method", "QRC", "--page", "page.html") == 0
    assert Path("page.html").exists()
    Path("houses.csv").unlink()
    assert predict("--model", "model.qrt", out="again.csv") == 0
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()


def test_incomplete_new_rows_stay_empty_and_unseen_categories_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = houses(12, seed=1).drop(columns="price")
    new.loc[3, "size"] = np.nan
    new.loc[5, "colour"] = "violet"
    new.to_csv("new.csv", index=False)
    assert predict() == 0
    table = pd.read_csv("out.csv")
    assert len(table) == 12
    assert table["mean"].isna().tolist() == [row == 3 for row in range(12)]
    error = capsys.readouterr().err
    assert "1 of 12 rows have missing values and get no prediction; the first is data row 4 (size)" in error
    assert "'violet'" in error


def test_numbers_can_be_categories_and_parquet_is_read_as_well(folder: Path) -> None:
    houses(200).assign(zone=np.arange(200) % 3).to_parquet("houses.parquet")
    houses(5).assign(zone=[0, 1, 2, 0, 1]).to_csv("new.csv", index=False)
    assert predict("--categorical", "zone", "--save-model", "model.qrt", data="houses.parquet") == 0
    columns = QRTRegressor.load("model.qrt").columns_
    assert dict(zip(columns.labels, columns.categories, strict=True))["zone"] == ("0", "1", "2")


def test_rows_with_missing_values_are_left_out_and_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = houses(200)
    data.loc[[7, 9], "rooms"] = np.nan
    data.assign(mostly=[np.nan if row % 2 else row for row in range(200)], same=5).to_csv("houses.csv", index=False)
    assert predict() == 0
    error = capsys.readouterr().err
    assert "houses.csv: 2 of 200 rows left out: they have missing values" in error
    assert "houses.csv: column mostly left out: 50.0% missing, more than 20%" in error
    assert "houses.csv: column same left out: the same value everywhere" in error
    assert "houses.csv: column id left out: as asked for" in error


def test_table_without_a_complete_row_is_refused_in_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = houses(60)
    for start, name in enumerate(("size", "rooms", "colour", "price")):  # a sixth of each, which alone would do
        data.loc[10 * start : 10 * start + 9, name] = None
    for number in (4, 5):
        data[f"more{number}"] = np.where(np.arange(60) // 10 == number, np.nan, 1.0 * np.arange(60))
    data.to_csv("houses.csv", index=False)
    message = refused(capsys)
    assert "houses.csv: no rows are left: each of 60 rows has a missing value, in" in message
    assert "rooms (10)" in message
    assert "--drop" in message


def test_table_whose_target_is_never_known_is_refused_in_words(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    houses(60).assign(price=np.nan).to_csv("houses.csv", index=False)
    message = refused(capsys)
    assert "no rows are left: each of 60 rows has a missing value, in price (60). Fill them in\n" in message


def test_columns_of_dates_are_told_with_advice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    days = pd.date_range("2020-01-31", periods=200).astype(str)
    data = houses(200).assign(sold=days, built=[f"{1 + row % 3}.5.1990" for row in range(200)])
    data.to_csv("houses.csv", index=False)
    data[:12].to_csv("new.csv", index=False)
    assert predict() == 0
    error = capsys.readouterr().err
    assert "houses.csv: column sold left out: categorical with 200 distinct values, more than 20" in error
    for name, date in (("sold", "2020-01-31"), ("built", "1.5.1990")):
        assert f"houses.csv: column {name} has texts that look like dates, such as '{date}'" in error
    assert error.count("look like dates") == 2
    assert predict("--drop", "id", "sold", "built") == 0
    assert "dates" not in capsys.readouterr().err


def test_features_are_those_that_the_study_compares_methods_on(folder: Path) -> None:
    generator = np.random.default_rng(0)
    data = houses(200).assign(
        few=generator.integers(0, 5, 200),
        zone=generator.choice([2, 10, 30], 200),
        garden=generator.choice([True, False], 200),
        town=[f"town {number % 25}" for number in range(200)],
        text=[str(number) for number in range(200)],
    )
    data.loc[[3, 5], "rooms"] = np.nan
    for few in (False, True):
        used = read_known_rows_of(data, few)
        raw = RawTable(data, "price", categorical=("zone",), unwanted=("id",), rules="openml" if few else "own")
        prepared = prepare(raw)
        columns = learned_columns(used.features, used.categorical)
        np.testing.assert_allclose(columns.encoded(used.features), prepared.x, rtol=1e-6)
        np.testing.assert_allclose(used.target, prepared.y, rtol=1e-6)
        assert [name.replace("=", "_") for name in columns.features] == list(prepared.features)
        assert "town" not in used.features
        assert ("few" in used.features) != few


def read_known_rows_of(data: pd.DataFrame, few: bool) -> KnownRows:
    data.to_csv("data.csv", index=False)
    return read_known_rows(Path("data.csv"), "price", drop=["id"], categorical=["zone"], drop_few_valued=few)


@pytest.mark.parametrize("backend", ["nonsense", "module://nothing"])
def test_predictions_are_written_whatever_is_wrong_with_matplotlib(folder: Path, backend: str) -> None:
    command = ["predict", "--data", "houses.csv", "--target", "price", "--new", "new.csv", "--out", "out.csv"]
    call = [sys.executable, "-m", "qrt", *command, "--max-epochs", "4", "--method", "BASE"]
    run = subprocess.run(call, env=os.environ | {"MPLBACKEND": backend}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert len(pd.read_csv("out.csv")) == 12
    assert "There is no picture here" in Path("out.calibration.html").read_text(encoding="utf-8")


def test_predictions_are_there_before_the_page_is_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> str:
        raise MemoryError

    monkeypatch.setattr("qrt.estimator.calibration_page.calibration_page", broken)
    with pytest.raises(MemoryError):
        predict("--save-model", "model.qrt")
    assert len(pd.read_csv("out.csv")) == 12
    assert Path("model.qrt").exists()


@pytest.mark.parametrize("moment", ["diagnose", "predict_distribution"])
@pytest.mark.parametrize("saved", [True, False])
def test_ctrl_c_after_training_leaves_the_saved_model_and_a_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], moment: str, saved: bool
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(QRTRegressor, moment, lambda *arguments: os.kill(os.getpid(), signal.SIGINT))
        assert predict(*(("--save-model", "model.qrt") if saved else ())) == 130
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "interrupted (Ctrl-C): " + ("model.qrt has the model" if saved else "nothing was written")
    assert not Path("out.csv").exists()
    assert Path("model.qrt").exists() == saved
    if saved:
        assert predict("--model", "model.qrt") == 0


def test_ctrl_c_at_the_page_tells_what_is_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = "qrt.estimator.calibration_page.calibration_page"
    monkeypatch.setattr(target, lambda *arguments: os.kill(os.getpid(), signal.SIGINT))
    assert predict() == 130
    assert "interrupted (Ctrl-C): out.csv has predictions of 12 rows" in capsys.readouterr().err
    assert len(pd.read_csv("out.csv")) == 12


def test_mistakes_in_names_are_refused_with_what_was_meant(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no column 'prise', which --target asks for (did you mean 'price'?)" in refused(capsys, "--target", "prise")
    assert "'colur', which --drop asks for (did you mean 'colour'?)" in refused(capsys, "--drop", "colur")
    assert "'zone', which --categorical asks for" in refused(capsys, "--categorical", "zone")
    assert "'zone', which --keep asks for" in refused(capsys, "--keep", "zone")
    assert "the target 'price' is to be dropped" in refused(capsys, "--drop", "price")
    assert "method 'QRTX' is unknown" in refused(capsys, "--method", "QRTX")


@pytest.mark.parametrize(
    ("option", "value"),
    [("--max-epochs", "1"), ("--max-epochs", "-3"), ("--method", "QRTX"), ("--seed", "-1"), ("--seed", "4294967296")],
)
def test_options_that_no_fit_takes_are_refused_before_the_data_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str], option: str, value: str
) -> None:
    message = refused(capsys, option, value, data="not-there.csv")
    assert option.strip("-").replace("-", "_") in message.replace("-", "_")
    assert value in message
    assert "not-there.csv" not in message


def test_tables_that_cannot_be_used_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = {
        "few.csv": (houses(39), "39 rows are too few"),
        "text.csv": (houses(60).assign(price="high"), "column 'price' has the text 'high'"),
        "mixed.csv": (
            houses(60).assign(rooms=["n/a", *range(59)]),
            "column 'rooms' has the text 'n/a' in data row 1",
        ),
        "constant.csv": (houses(60).assign(price=3.0), "the target is constant"),
        "only.csv": (houses(60)[["id", "price"]], "no column is left"),
        "empty.csv": (houses(60)[:0], "has no rows"),
    }
    for name, (table, message) in cases.items():
        table.to_csv(name, index=False)
        told = refused(capsys, data=name)
        assert f"error: {name}: " in told
        assert message in told
    # A field more than there are names would move every name by one.
    lines = Path("few.csv").read_text().splitlines(keepends=True)
    shifted = "".join(f"7,{line}" if number else line for number, line in enumerate(lines))
    Path("shifted.csv").write_text(shifted)
    assert "line 2 has 6 field(s), but the first line has 5" in refused(capsys, data="shifted.csv")
    houses(12).drop(columns=["rooms", "price"]).to_csv("new.csv", index=False)
    assert "new.csv: there is no column 'rooms', which the model asks for" in refused(capsys)
    houses(12).assign(rooms="three").to_csv("new.csv", index=False)
    assert "new.csv: the column 'rooms' has the text 'three'" in refused(capsys)


def test_options_that_contradict_each_other_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "--data", "houses.csv", "--new", "new.csv", "--out", "out.csv"]) == 2
    assert "--data needs --target" in capsys.readouterr().err
    for option in (["--target", "price"], ["--method", "QRC"], ["--drop", "id"], ["--seed", "1"], ["--page", "p.html"]):
        message = refused(capsys, "--model", "model.qrt", *option)
        assert f"--model is fitted already, but {option[0]} is for fitting" in message
    assert "--coverage is 90.0" in refused(capsys, "--coverage", "90")
    assert "--quantiles has 5.0" in refused(capsys, "--quantiles", "5")
    Path("model.qrt").write_text("no model")
    assert "model.qrt: not a model" in refused(capsys, "--model", "model.qrt")
    with pytest.raises(SystemExit):
        main(["predict", "--new", "new.csv", "--out", "out.csv"])


def test_nothing_is_written_over_what_is_read_and_unwritable_places_are_refused_before_training(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = Path("houses.csv").read_bytes()
    cases = {
        ("--out", "houses.csv"): "--out would be written over --data: houses.csv",
        ("--out", "./new.csv"): "--out would be written over --new: new.csv",
        ("--save-model", "out.csv"): "--save-model would be written over --out: out.csv",
        ("--page", "new.csv"): "--page would be written over --new: new.csv",
        ("--out", "."): "--out is a folder: .",
        ("--out", "houses.csv/out.csv"): "--out: houses.csv/out.csv cannot be written (Not a directory)",
    }
    for option, message in cases.items():
        told = refused(capsys, *option)
        assert message in told
        assert "epoch" not in told
    assert Path("houses.csv").read_bytes() == content


def test_categories_are_told_and_a_column_with_many_is_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, rows in (("houses.csv", 200), ("new.csv", 12)):
        houses(rows).assign(owner=[f"owner {number}" for number in range(rows)]).to_csv(name, index=False)
    assert predict() == 0
    error = capsys.readouterr().err
    assert "houses.csv: categories, each a column of 0 and 1: colour (2)" in error
    assert "houses.csv: column owner left out: categorical with 200 distinct values, more than 20" in error


def test_page_says_in_words_whether_intervals_hold_and_shows_text_as_text() -> None:
    targets = np.random.default_rng(0).normal(size=400)
    for scale, words in ((1.0, "as of a calibrated model"), (3.0, "too wide"), (0.3, "too narrow")):
        page = calibration_page(Diagnosis(stats.norm.cdf(targets / scale), METRICS), "<b>", ["a & b"], "p.html")
        assert words in page
        assert "<h1>&lt;b&gt;</h1>" in page
        assert "a &amp; b" in page


def test_infinite_bounds_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert predict("--method", "QRTC-KDE", "--quantiles", "1e-9", "0.5") == 0
    table = pd.read_csv("out.csv")
    assert np.isfinite(table["mean"]).all()
    infinite = int(np.isinf(table["q1e-09"]).sum())
    assert infinite > 0
    assert f"new.csv: {infinite} rows have infinite bounds" in capsys.readouterr().err


def test_saved_model_with_infinite_outer_bounds_predicts_as_the_fitted_one(folder: Path) -> None:
    asked = ("--quantiles", "1e-9", "0.5")
    assert predict("--method", "QRTC-KDE", "--save-model", "model.qrt", *asked) == 0
    assert predict("--model", "model.qrt", *asked, out="again.csv") == 0
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()


@pytest.mark.parametrize(
    ("method_and_forged", "value", "part"),
    [
        ("QRTC-KDE network0.output.bias", 1e38, "more than 1e+09 standard deviations"),
        ("QRTC network0.output.bias", -1e10, "more than 1e+09 standard deviations"),
        ("QRTC-KDE map0.centres", 0.0, "beyond all values"),
        ("QRTC-KDE map0.centres", 1.0, "beyond all values"),
        ("QRTC-KDE scale", 1e6, "beyond all values"),
        ("QRC scale", 0.5, "beyond all values"),
    ],
)
def test_forged_model_with_absurd_predictions_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], method_and_forged: str, value: float, part: str
) -> None:
    method, forged = method_and_forged.split()
    assert predict("--method", method, "--save-model", "model.qrt") == 0
    facts, arrays = read_model_file(Path("model.qrt"))
    if forged in arrays:
        arrays[forged][:] = value
    else:
        facts["maps"][0][forged] = value
    write_model_file(Path("forged.qrt"), facts, arrays)
    message = refused(capsys, "--model", "forged.qrt", "--out", "other.csv")
    assert "forged.qrt" in message
    assert part in message


def test_names_and_texts_of_a_file_have_no_say_over_terminal_and_spreadsheet(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = pd.read_csv("new.csv").assign(**{"a\x1b[2Jb": "=cmd|' /C calc'!A0", "\u202egnp": 1})
    new.to_csv("new.csv", index=False)
    assert predict("--keep", "a\x1b[2Jb") == 0
    told = capsys.readouterr().err
    assert r"texts that a spreadsheet takes for formulas are copied as they are, in a\x1b[2Jb" in told
    assert told.replace("\n", "").isprintable()
    assert set(pd.read_csv("out.csv")["a\x1b[2Jb"]) == {"=cmd|' /C calc'!A0"}
    message = refused(capsys, "--keep", "\x1b[2J")
    assert r"no column '\x1b[2J'" in message
    assert message.replace("\n", "").isprintable()
