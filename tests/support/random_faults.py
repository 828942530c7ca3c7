"""Kills, damaged files, forged models and hostile tables by the thousand: nothing lost, nothing wrong, no traceback.

    python tests/support/random_faults.py --kills 1000 --damaged 10000 --tables 500

Kills are of processes that write (random_kills.py beside this kills whole studies). docs/faults.md has the result of
the large counts; tests/test_random_faults.py tries a few of each.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import hashlib
import io
import json
import math
import os
import random
import signal
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from qrt import QRTRegressor
from qrt.errors import UserError
from qrt.estimator.model_file import read_model_file, write_model_file
from qrt.estimator.own_tables import NewRows, read_known_rows, read_new_rows
from qrt.estimator.prediction_job import predicted_rows
from qrt.estimator.text_table import read_csv_table, read_own_table
from qrt_study.__main__ import main as study_command
from qrt_study.data import uci_source
from qrt_study.data.archive_member import member_bytes
from qrt_study.data.arff_reader import NotArff, read_arff
from qrt_study.data.mirror import fetch_mirror
from qrt_study.data.raw_table import SourceUnavailable
from qrt_study.data.record import read_record, write_record
from qrt_study.data.sheet import paper_datasets
from qrt_study.data.source_lock import LockEntry, SourceLock
from qrt_study.parquet_file import read_tables, write_rows
from qrt_study.results.prediction_file import PredictionFile, SplitPart, write_predictions
from qrt_study.results.published_results import PublishedResults
from qrt_study.results.tables import RUNS
from support.generated_splits import heteroscedastic
from support.hostile_words import HARMFUL

Random = random.Random
REFUSALS = (UserError, SourceUnavailable, NotArff)
ROW: dict[str, Any] = {"dataset": "linear", "split": 0, "variant": "v", "status": "ok", "test_nll": 1.5, "epochs": 4}
NOTHING = object()


# Kills: a process writes one version after the other and is killed; a whole version must be there, and nothing else
# after the next write.
def _write_record(path: Path, version: int) -> None:
    write_record(path, {"status": "available", "reason": "", "version": version, "more": ["x" * 50] * 500})


def _write_table(path: Path, version: int) -> None:
    write_rows(path, [ROW | {"epochs": version}] * 200, RUNS)


def _write_model(path: Path, version: int) -> None:
    write_model_file(path, {"version": version}, {"a": np.full(20_000, version, dtype="<f8")})


def _write_lock(path: Path, version: int) -> None:
    checksum = hashlib.sha256(str(version).encode()).hexdigest()
    SourceLock(path).record(f"d{version}", LockEntry(source="uci", address="x", sha256=checksum, size=version))


WRITERS: dict[str, tuple[Callable[[Path, int], None], Callable[[Path], Any]]] = {
    "record": (_write_record, lambda path: read_record(path)["version"]),
    "result table": (_write_table, lambda path: set(read_tables([path], RUNS)["epochs"].to_pylist()).pop()),
    "model file": (
        _write_model,
        lambda path: int({read_model_file(path)[0]["version"], *read_model_file(path)[1]["a"]}.pop()),
    ),
    "lock file": (_write_lock, lambda path: len(SourceLock(path)._read()) - 1),
}


def kill(chance: Random, kind: str) -> str:
    """Kill a writer of one kind of file at a random moment; "whole" if nothing was lost or left."""
    write, read = WRITERS[kind]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "file"
        write(path, 0)
        begun, beginning = os.pipe()
        writer = os.fork()
        if writer == 0:
            with contextlib.suppress(BaseException):
                for version in range(1, 10_000):
                    os.write(beginning, b".")
                    write(path, version)
            os._exit(0)
        os.read(begun, 1)  # it writes now, one version after the other, however busy the machine is
        time.sleep(chance.uniform(0, 0.02))
        os.kill(writer, signal.SIGKILL)
        os.close(begun)
        os.close(beginning)
        os.waitpid(writer, 0)
        last = read(path)  # raises if it is not whole
        write(path, last + 1)
        left = sorted(entry.name for entry in Path(name).iterdir())
        if read(path) != last + 1 or left not in (["file"], [".file.guard", "file"]):
            return f"WRONG: {left} after version {last}"
    return "whole"


# Damage: a file that a stranger, a disk or a network has changed is refused, or says what it said.
def damaged(chance: Random, content: bytes) -> bytes:
    """`content` with one or two random changes."""
    changed = bytearray(content)
    for _ in range(chance.choice([1, 1, 1, 2])):
        start = chance.randrange(len(changed) or 1)
        length = chance.choice([1, 2, 16, 512])
        way = chance.choice(["bit", "byte", "zero", "cut", "remove", "insert", "repeat", "append"])
        if way == "bit" and changed:
            changed[start] ^= 1 << chance.randrange(8)
        elif way == "byte" and changed:
            changed[start] = chance.randrange(256)
        elif way == "zero":
            changed[start : start + length] = bytes(len(changed[start : start + length]))
        elif way == "cut":
            del changed[start:]
        elif way == "remove":
            del changed[start : start + length]
        elif way == "insert":
            changed[start:start] = chance.randbytes(length)
        elif way == "repeat":
            length = min(length, len(changed) // 2)  # a gzip file twice is a sound one
            changed[start:start] = changed[start : start + length]
        else:
            changed += chance.choice([b"\0" * length, b"\n", chance.randbytes(length)])
    return bytes(changed)


MPG = (
    b'18.0   8   307.0      130.0      3504.      12.0   70  1\t"chevrolet chevelle malibu"\n'
    b'25.0   4   98.00      ?          2046.      19.0   71  1\t"ford pinto"\n'
) * 5
ARFF = b"% a comment\n@relation r\n@attribute x real\n@attribute 'a name' {low,'high up'}\n@attribute s string\n@data\n"
ARFF += b"1.5,low,a\n-2e3,'high up',?\n?,low,'b c'\n" * 5


def _zip(method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("auto-mpg.data", MPG)
    return buffer.getvalue()


def _from_zip(path: Path) -> Any:
    row = paper_datasets()["MPG"]
    return uci_source._table(member_bytes(path.read_bytes(), row.uci_member, "here"), row, "here").to_csv()


def _workbook() -> bytes:
    book, buffer = openpyxl.Workbook(), io.BytesIO()
    for row in (["X", "Y2"], *([number, number**2] for number in range(20))):
        book.active.append(row)
    book.save(buffer)
    return buffer.getvalue()


def _from_workbook(path: Path) -> Any:
    return uci_source._table(path.read_bytes(), paper_datasets()["Energy"], "here").to_csv()


def _published(path: Path) -> Any:
    (path.parent / "manifest.json").write_bytes(path.read_bytes())
    return PublishedResults(path.parent).manifest


def _predicted() -> bytes:
    """Predictions as a study writes them."""
    columns = {f"one {name}1": np.linspace(-1, 1, 40).astype(np.float16) for name in ("mean", "scale", "log_weight")}
    parts = [SplitPart(0, part, np.arange(40), np.zeros(40, np.float32), columns) for part in ("calibration", "test")]
    return _sound(lambda path: write_predictions(path, parts, {"dataset": "Yacht", "data": "0" * 32}))


@cache
def _without_checksum() -> bytes:
    """Predictions as those that were published before they had a checksum in themselves."""
    table = pq.read_table(pa.BufferReader(_predicted()))
    facts = {b"qrt.predictions": json.dumps({"dataset": "Yacht", "data": "0" * 32}).encode()}
    return _sound(lambda path: pq.write_table(table.replace_schema_metadata(facts), path))


def _read_predictions(path: Path) -> Any:
    file = PredictionFile(path)
    values = [values.tolist() for part in ("calibration", "test") for values in file.parameters("one", 0, part)]
    return file.described, values, file.rows(0, "test")[0].tolist()


def _published_predictions(path: Path) -> Any:
    there = path.parent / "predictions/Yacht.parquet"
    there.parent.mkdir(exist_ok=True)
    there.write_bytes(path.read_bytes())
    files = {"predictions/Yacht.parquet": hashlib.sha256(_without_checksum()).hexdigest()}
    write_record(path.parent / "manifest.json", _MANIFEST | {"files": files})
    return _read_predictions(there)


def _mirror(path: Path) -> Any:
    (path.parent / "manifest.csv").write_bytes(path.read_bytes())
    (path.parent / "a.csv.gz").write_bytes(_csv_gz())
    return fetch_mirror("Yacht", path.parent).frame.to_csv()


@cache
def _csv_gz() -> bytes:
    table = pd.DataFrame({"a": range(30), "b": [f"word {row}" for row in range(30)], "y": np.linspace(0, 1, 30)})
    return gzip.compress(table.to_csv(index=False).encode(), mtime=0)


@cache
def _parquet() -> bytes:
    return pd.read_csv(io.BytesIO(gzip.decompress(_csv_gz()))).to_parquet()


@cache
def models() -> tuple[bytes, ...]:
    """Saved models of several kinds."""
    x, y, _ = heteroscedastic(60)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(colour=np.where(x[:, 0] > 0, "red", "blue"))
    fit: dict[str, Any] = {"max_epochs": 4, "patience": 2, "random_state": 0}
    ways: list[dict[str, Any]] = [
        *({"method": name, "bandwidth": 0.1} for name in ("QRTC", "QRTC-KDE", "QRTC-TRUNC")),
        *({"method": "QRC"}, {"method": "QRC", "posthoc_map": "EMP"}, {"method": "BASE"}),
    ]
    return tuple(_sound(QRTRegressor(**fit, **way).fit(frame, y).save) for way in ways)


def _predictions(path: Path) -> Any:
    """Predictions of a model file for eight rows: finite, but for bounds of KDE maps that leave mass outside."""
    x, _, _ = heteroscedastic(8)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(colour="red")
    model = QRTRegressor.load(path)
    new = NewRows(frame[[name for name in model.columns_.labels if name in frame]], np.ones(8, bool), frame[[]], ())
    if new.features.shape[1] != len(model.columns_.labels):
        return NOTHING  # other columns than the rows have: nothing to predict
    ask: dict[str, Any] = {"coverage": 0.5, "levels": [0.025, 0.05, 0.1, 0.5, 0.9, 0.95, 0.975], "loaded_from": path}
    table = predicted_rows(path, model, new, lambda line: None, **ask)
    central = table[["mean", "lower_0.5", "upper_0.5", "q0.5"]]
    outer = table.drop(columns=["row", *central]).to_numpy()
    if not np.isfinite(central).all(axis=None) or np.isnan(outer).any():
        raise AssertionError("a prediction is not a number")
    if np.isinf(outer).any() and "KDE" not in [one.name for one in model.model_.maps]:
        raise AssertionError("a usual bound is infinite")
    found = table.drop(columns="row").to_numpy()
    if (np.abs(found[np.isfinite(found)] - model.model_.y_mean) > 1e9 * model.model_.y_scale).any():
        raise AssertionError("a prediction is absurd")
    return table.to_csv()


def _sound(write: Callable[[Path], object]) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        write(Path(name) / "file")
        return (Path(name) / "file").read_bytes()


_MANIFEST = {"datasets": {"Yacht": "data"}, "splits": [0, 1], "timed": {"paper": ["Yacht"]}} | {
    "files": {"networks/Yacht.runs.parquet": "0" * 64},
    "families": {"Yacht": {"0": ["mlp-3.plain"]}},
}
_MIRROR = "group,name,file,sha256,target\nuci,Yacht,a.csv.gz,{},y\nuci,CPU,b.csv.gz,{},y\n"

# Each kind: its bytes, how it is read, whether a checksum covers the content (else other values are no surprise).
DAMAGED: dict[str, tuple[Callable[[], bytes], Callable[[Path], Any], bool]] = {
    "model file": (lambda: models()[0], _predictions, True),
    "result table": (lambda: _sound(partial(_write_table, version=7)), lambda path: read_tables([path], RUNS), True),
    "predictions of a study": (_predicted, _read_predictions, True),
    "predictions, published": (_without_checksum, _published_predictions, True),
    "record": (lambda: _sound(partial(_write_record, version=7)), read_record, True),
    "manifest of published results": (lambda: _sound(lambda path: write_record(path, _MANIFEST)), _published, True),
    "zip, deflate": (lambda: _zip(zipfile.ZIP_DEFLATED), _from_zip, True),
    "zip, bzip2": (lambda: _zip(zipfile.ZIP_BZIP2), _from_zip, True),
    "zip, LZMA": (lambda: _zip(zipfile.ZIP_LZMA), _from_zip, True),
    "CSV in gzip": (_csv_gz, lambda path: read_csv_table(path).to_csv(), True),
    "manifest of a mirror": (
        lambda: _MIRROR.replace("{}", hashlib.sha256(_csv_gz()).hexdigest()).encode(),
        _mirror,
        False,
    ),
    "CSV": (lambda: gzip.decompress(_csv_gz()), lambda path: read_csv_table(path).to_csv(), False),
    "Parquet of a user": (_parquet, lambda path: read_own_table(path).to_csv(), False),
    "workbook": (_workbook, _from_workbook, False),
    "ARFF": (lambda: ARFF, lambda path: read_arff(path).frame.to_csv(), False),
    "lock file": (lambda: _sound(partial(_write_lock, version=7)), lambda path: SourceLock(path)._read(), False),
}
_NAMES = {
    "predictions of a study": "predictions.parquet",
    "CSV in gzip": "file.csv.gz",
    "Parquet of a user": "file.parquet",
}


def damage(chance: Random, kind: str) -> str:
    """Read a damaged file of a kind: "refused", "the same", "other values" where nothing could tell."""
    _, read, has_checksum = DAMAGED[kind]
    sound, expected = _sound_and_read(kind)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / _NAMES.get(kind, "file")
        path.write_bytes(damaged(chance, sound))
        with _quietly():
            try:
                got = read(path)
            except REFUSALS:
                return "refused"
        if got == expected:
            return "the same"
        return "WRONG: other values" if has_checksum else "other values"


@cache
def _sound_and_read(kind: str) -> tuple[bytes, Any]:
    """The bytes of a sound file of a kind, and what is read from it."""
    make, read, _ = DAMAGED[kind]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / _NAMES.get(kind, "file")
        path.write_bytes(sound := make())
        return sound, read(path)


# Forgery: a model file that somebody has made to do harm, with the right checksum.
_FORGED: list[Any] = [0, -1, 1, 2, 10**6, 2**31, 2**63, 10**400, 1e-300, 5e-324, 1e-9, 1e308, -1e308, 1e30, 0.5]
_FORGED += [True, None, "", "a", "\x1b[2J", "../x", [], [1], {}, [[]], "nan", "1e400", "x" * 10_000, [0] * 1000]
_PLANTED = [0, 1e38, -1e38, math.nan, math.inf, 1e-38, 1e300, -1e300, 5e-324]


def _places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _places(entry, (*way, key))


def forge(chance: Random) -> str:
    """Load a forged model and predict with it: "refused", or "predicts", or "predicts, with infinite outer bounds"."""
    first, _, rest = chance.choice(models()).split(b"\n", 2)
    text, _, stored = rest.partition(b"\n")
    content, arrays = json.loads(text), bytearray(stored)
    for _ in range(chance.choice([1, 1, 2])):
        if chance.random() < 0.7:
            *way, last = chance.choice(list(_places(content))[1:])
            parent = content
            with contextlib.suppress(KeyError, IndexError, TypeError):  # the first change may have removed the place
                for step in way:
                    parent = parent[step]
                if chance.random() < 0.9:
                    parent[last] = chance.choice(_FORGED)
                else:
                    del parent[last]
        else:
            with np.errstate(all="ignore"):
                planted = np.array([chance.choice(_PLANTED)]).astype(chance.choice(["<f4", "<f8"])).tobytes()
            start = chance.randrange(len(arrays) // 4) * 4
            arrays[start : start + len(planted)] = planted
    body = json.dumps(content).encode() + b"\n" + bytes(arrays)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model"
        path.write_bytes(b"\n".join([first, hashlib.sha256(body).hexdigest().encode(), body]))
        with _quietly():
            try:
                predicted = _predictions(path)
            except REFUSALS:
                return "refused"
    return "predicts, with infinite outer bounds" if "inf" in str(predicted) else "predicts"


# Tables as people have them: read as Python's csv reads them, or refused; usable for a study and a prediction, or
# refused with a reason.
_CELLS = [
    "",
    "1",
    "-2.5",
    "1e400",
    "1e39",
    "nan",
    "inf",
    "NA",
    "True",
    "1_000",
    "0x10",
    "1,5",
    " 7",
    "a\tb",
    'say "x"',
    "a\nb",
    "a\rb",
]
_CELLS += [word for word in HARMFUL if word.isprintable()]


def table_file(chance: Random) -> tuple[bytes, list[str], list[list[str]]]:
    """A CSV, its names, and its rows, of which some may have other lengths."""
    names = [chance.choice(["a", "b", "c", "é", *_CELLS]) for _ in range(chance.randrange(4))] + ["y"]
    sound = [[str(row), *[f"{row * 1.5}"] * (len(names) - 1)] for row in range(chance.choice([0, 3, 110]))]
    strange = [[chance.choice(_CELLS) for _ in names] for _ in range(chance.randrange(4))]
    for row in strange:
        if chance.random() < 0.3:
            row[:] = [*row, "more"] if chance.random() < 0.5 else row[1:]
    rows = [*sound, *strange]
    chance.shuffle(rows)
    quoting, end = chance.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]), chance.choice(["\n", "\r\n", "\r"])
    lines = [_csv_line(row, quoting) for row in [names, *rows]]
    if len(names) > 1 and chance.random() < 0.5:  # blank lines, which are no rows
        for _ in range(chance.choice([1, 2, 10])):
            lines.insert(chance.randrange(len(lines)) + 1, chance.choice(["", " ", "\t "]))
    mark = chance.choice([b"", b"\xef\xbb\xbf"])
    return mark + "".join(line + end for line in lines).encode(), names, rows


def _csv_line(row: list[str], quoting: Any) -> str:
    """A row without the end of its line, in quotes where it needs them with any end."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n", quoting=quoting).writerow(row)
    return text.getvalue().removesuffix("\r\n")


def table(chance: Random) -> str:
    """Read a hostile table, and send it the way of a study and of a prediction; "read" or "refused"."""
    content, names, rows = table_file(chance)
    name = chance.choice(["mine.csv", "mine.csv.gz"])
    before = Path.cwd()
    with tempfile.TemporaryDirectory(dir=os.environ.get("QRT_FAULTS_FOLDER")) as folder, _quietly():
        os.chdir(folder)
        try:
            path = Path(name)
            path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
            outcome = _read_as_python_does(path, names, rows)
            _way_of_a_study(path)
            for read in (
                lambda: read_known_rows(path, "y"),
                lambda: read_new_rows(path, names, names[:1], names[-1:]),
            ):
                with contextlib.suppress(UserError):
                    read()
        finally:
            os.chdir(before)
    return outcome


def _read_as_python_does(path: Path, names: list[str], rows: list[list[str]]) -> str:
    if len(names) > 1:  # a line with one blank field is no row
        rows = [row for row in rows if len(row) > 1 or "".join(row).strip(" \t")]
    try:
        read = read_csv_table(path)
    except UserError:
        sound = len(set(names)) == len(names) and all(len(row) == len(names) for row in rows) and rows != []
        plain = not any("\0" in cell for row in [names, *rows] for cell in row)
        return "WRONG: a sound table was refused" if sound and plain and len(names) > 1 else "refused"
    got = [[_value(cell) for cell in row] for row in read.astype(object).to_numpy()]
    return "read" if got == [[_value(cell) for cell in row or [""]] for row in rows] else "WRONG: other values"


def _value(cell: object) -> object:
    """A cell as a number where it is one, so that 1 and 1.0 are the same."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)) or cell in ("", "nan"):
        return ""
    try:
        return float(str(cell).strip().replace("True", "x")) if "_" not in str(cell) else str(cell)
    except ValueError:
        return str(cell)


def _way_of_a_study(path: Path) -> None:
    own = json.dumps({"path": str(path), "target": "y", "categorical": []})
    raw = ["--table", "raw/mine.parquet", "--record", "raw/mine.json"]
    for command in (["fetch", "mine", *raw, "--own", own], ["prepare", "mine", *raw, "--out", "prepared/mine"]):
        if study_command(command) != 0:
            raise AssertionError(f"{command[0]} failed")
    record = read_record(Path("prepared/mine/record.json"))
    if record["status"] == "available":
        x, y = np.load("prepared/mine/x.npy"), np.load("prepared/mine/y.npy")
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise AssertionError("prepared values are not finite")
    elif record["status"] not in ("unavailable", "invalid") or not record["reason"]:
        raise AssertionError(f"a record without a reason: {record}")


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    with warnings.catch_warnings(), open(os.devnull, "w") as nowhere:
        warnings.simplefilter("ignore")
        with contextlib.redirect_stderr(nowhere), contextlib.redirect_stdout(nowhere):
            yield


# What is tried: by promise, and in it by kind of file.
TRIALS: dict[str, dict[str, Callable[[Random], str]]] = {
    "kills": {f"killed while writing: {kind}": partial(kill, kind=kind) for kind in WRITERS},
    "damaged": {f"damaged: {kind}": partial(damage, kind=kind) for kind in DAMAGED}
    | {"forged: model file with the right checksum": forge},
    "tables": {"hostile CSV": table},
}


def trials(promise: str, count: int, seed: int = 0, end: float = math.inf) -> dict[str, Counter[str]]:
    """What came of `count` trials of a promise, spread over its kinds; anything that begins with WRONG is a failure.

    None begins after the moment `end`.
    """
    found: dict[str, Counter[str]] = {name: Counter() for name in TRIALS[promise]}
    for number in range(count):
        if time.monotonic() > end:
            break
        name = list(TRIALS[promise])[number % len(found)]
        try:
            outcome = TRIALS[promise][name](Random(f"{promise} {seed} {number}"))
        except Exception as error:
            outcome = f"WRONG: {type(error).__name__}: {str(error)[:200]} (seed {seed}, number {number})"
        found[name][outcome] += 1
    return found


def main() -> int:
    """Print a table of what was tried and what came of it; status 1 if anything was lost or wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for promise in TRIALS:
        parser.add_argument(f"--{promise}", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=math.inf, help="the longest time to take")
    options = vars(parser.parse_args())
    wrong, end = 0, time.monotonic() + 60 * options["minutes"]
    print("| what | tried | outcome |\n|---|---|---|")
    for promise in TRIALS:
        for name, outcomes in trials(promise, options[promise], options["seed"], end).items():
            if not outcomes:
                continue
            told = ", ".join(f"{outcome} {count:,}" for outcome, count in sorted(outcomes.items()))
            print(f"| {name} | {outcomes.total():,} | {told} |", flush=True)
            wrong += sum(count for outcome, count in outcomes.items() if outcome.startswith("WRONG"))
    print(f"\n{wrong} lost or wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
