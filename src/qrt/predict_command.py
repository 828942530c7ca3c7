"""Predict new rows of your own table with calibrated distributions: quantiles, an interval, the mean."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qrt.text.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qrt.estimator.diagnosis import Diagnosis
    from qrt.estimator.regressor import QRTRegressor

_LARGEST_SEED = 2**32 - 1  # of the study's splits, which are drawn as NumPy's older generator does
DEFAULT_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
# Options that say how a model is fitted, with their defaults.
FOR_FITTING: dict[str, Any] = {
    "target": None,
    "page": None,
    "save_model": None,
    "method": None,
    "drop": [],
    "categorical": [],
    "drop_few_valued": False,
    "max_epochs": 5000,
    "seed": 0,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="CSV or Parquet file with rows whose target is known")
    source.add_argument("--model", type=Path, help="a model saved by --save-model, instead of --data")
    parser.add_argument("--target", help="the column of --data to predict")
    parser.add_argument("--new", type=Path, required=True, help="CSV or Parquet file with the rows to predict")
    parser.add_argument("--out", type=Path, required=True, help="CSV file for the predictions, one line for each row")
    parser.add_argument("--page", type=Path, help="HTML page on calibration; without it beside --out")
    parser.add_argument("--save-model", type=Path, metavar="FILE", help="keep the fitted model, for --model")
    parser.add_argument("--method", help="ensemble (the default), or a method of the paper, such as QRTC or BASE")
    parser.add_argument("--coverage", type=float, default=0.9, help="probability of the interval (default: 0.9)")
    parser.add_argument(
        "--quantiles",
        type=float,
        nargs="+",
        default=list(DEFAULT_LEVELS),
        metavar="LEVEL",
        help=f"levels of the quantiles (default: {' '.join(map(str, DEFAULT_LEVELS))})",
    )
    parser.add_argument("--drop", nargs="+", metavar="COLUMN", help="columns to leave out")
    parser.add_argument("--categorical", nargs="+", metavar="COLUMN", help="numbers that are categories")
    parser.add_argument("--keep", nargs="+", default=[], metavar="COLUMN", help="columns of --new to copy to --out")
    parser.add_argument("--drop-few-valued", action="store_true", help="leave out numbers with less than ten values")
    parser.add_argument("--max-epochs", type=int, help="the longest training")
    parser.add_argument("--seed", type=int, help="which rows are held out, and the random start")
    parser.set_defaults(**FOR_FITTING)


def run(options: argparse.Namespace) -> None:
    """Fit or load a model, write predictions and the page, and say what was written."""
    written: list[str] = []
    try:
        _run(options, written)
    except KeyboardInterrupt as interrupt:
        # Such a sentence is the message of the command, see `__main__`.
        raise KeyboardInterrupt("; ".join(written) or "nothing was written") from interrupt


def _run(options: argparse.Namespace, written: list[str]) -> None:
    """`run`, which notes what it has written."""
    from qrt.atomic import whole_file
    from qrt.estimator.own_tables import read_known_rows, read_new_rows
    from qrt.estimator.prediction_job import checked_model, columns_of_numbers, fit_to_known_rows, predicted_rows
    from qrt.estimator.regressor import QRTRegressor

    def told(path: Path, what: str) -> None:
        print(f"{path}: {what}")
        written.append(f"{path} has {what}")

    _check(options)
    method = {} if options.method is None else {"method": options.method}
    QRTRegressor(max_epochs=options.max_epochs, **method).checked_parameters()
    fitted: Diagnosis | None = None
    if options.model is not None:
        model = QRTRegressor.load(options.model)
        new = read_new_rows(options.new, model.columns_.labels, columns_of_numbers(model), options.keep)
    else:
        known = read_known_rows(
            options.data,
            options.target,
            drop=options.drop,
            categorical=options.categorical,
            drop_few_valued=options.drop_few_valued,
        )
        # Before training, so that a mistake in the new rows costs no time.
        new = read_new_rows(options.new, list(known.features), known.numbers, options.keep)
        for note in known.notes:
            _log(f"{options.data}: {note}")
        model, held_out = fit_to_known_rows(
            options.data, known, options.seed, _log, max_epochs=options.max_epochs, **method
        )
        if options.save_model is not None:  # at once, since training may have taken long
            model.save(options.save_model)
            told(options.save_model, "the model")
        fitted = checked_model(options.data, model, held_out, _log)
        print(f"Held back to check the model: {fitted}")
    for note in new.notes:
        _log(note)
    table = predicted_rows(
        options.new,
        model,
        new,
        _log,
        coverage=options.coverage,
        levels=options.quantiles,
        loaded_from=options.model,
    )
    with whole_file(options.out) as partial:
        table.to_csv(partial, index=False)
    told(options.out, f"predictions of {len(table)} rows")
    if fitted is not None:
        _write_page(options, known.notes, model, fitted)


def _write_page(options: argparse.Namespace, notes: Sequence[str], model: QRTRegressor, diagnosis: Diagnosis) -> None:
    """Write the page on calibration; last, since the predictions must not wait for its pictures."""
    from qrt.atomic import write_text
    from qrt.estimator.calibration_page import calibration_page

    page = _page(options)
    notes = [
        f"Data: {options.data.name}, target {options.target}",
        *notes,
        f"Method {model.method}, {model.n_iter_} epochs, seed {options.seed}",
    ]
    write_text(page, calibration_page(diagnosis, f"Calibration of {options.target}", notes, page.name))
    print(f"{page}: calibration on held-out rows")


def _log(line: str) -> None:
    print(printable(line), file=sys.stderr, flush=True)


def _check(options: argparse.Namespace) -> None:
    """Refuse what can be refused before a file is read."""
    from qrt.errors import UserError

    if options.data is not None and options.target is None:
        raise UserError("--data needs --target: the name of the column to predict")
    if options.model is not None:
        given = [name for name, default in FOR_FITTING.items() if getattr(options, name) != default]
        if given:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise UserError(f"--model is fitted already, but {names} is for fitting: leave it out, or give --data")
    if not 0 < options.coverage < 1:
        raise UserError(f"--coverage is {options.coverage}: it must be between 0 and 1, for example 0.9")
    for level in options.quantiles:
        if not 0 < level < 1:
            raise UserError(f"--quantiles has {level}: levels are between 0 and 1, for example 0.05 0.5 0.95")
    if not 0 <= options.seed <= _LARGEST_SEED:
        raise UserError(f"--seed is {options.seed}: it must be a whole number from 0 to {_LARGEST_SEED}")
    _check_files(options)


def _page(options: argparse.Namespace) -> Path:
    page: Path = options.page or options.out.parent / f"{options.out.stem}.calibration.html"
    return page


def _check_files(options: argparse.Namespace) -> None:
    """Refuse to write over what is read, and where nothing can be written: training may take long."""
    from qrt.errors import UserError

    read = {"--data": options.data, "--model": options.model, "--new": options.new}
    written = {"--out": options.out, "--save-model": options.save_model}
    if options.data is not None:
        written["--page"] = _page(options)
    taken = {path.resolve(): name for name, path in read.items() if path is not None}
    for name, path in written.items():
        if path is None:
            continue
        if path.resolve() in taken:
            raise UserError(f"{name} would be written over {taken[path.resolve()]}: {path}; give it another name")
        taken[path.resolve()] = name
        if path.is_dir():
            raise UserError(f"{name} is a folder: {path}; give the name of a file in it")
        folder = next(parent for parent in path.resolve().parents if parent.exists())
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise UserError(f"{name}: {path} cannot be written ({error.strerror})") from error
