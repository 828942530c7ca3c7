"""What came out for data of the user's own: scores of every method, which one predicts best, in words and as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from qrt.atomic import write_text
from qrt.engine.split import MAX_ROWS, part_sizes
from qrt.errors import UserError
from qrt.text.page import Html, document, link, paragraph, section, tag
from qrt.text.words import counted, is_missing, listed, number
from qrt_study.data.own_data_words import own_data_sentences
from qrt_study.data.record import read_record
from qrt_study.pages.value_table import Shown, numbers, value_table, with_error
from qrt_study.plan.config import StudyConfig
from qrt_study.plan.protocol import describe
from qrt_study.results.layout import prepared_data
from qrt_study.results.tuning import tuned
from qrt_study.running.study_files import StudyFiles
from qrt_study.statistics.own_data import OwnStatistics, own_statistics

METHODS = {
    "BASE": "the plain network, trained on all rows that the others keep for training and calibration",
    "BASE-TRAIN": "the plain network without the calibration rows",
    "QRC": "BASE-TRAIN, recalibrated after training with the calibration rows",
    "QREGC": "trained with a penalty on miscalibration, then recalibrated as QRC is",
    "QRT": "recalibrated while it is trained",
    "QRTC": "recalibrated while it is trained and again afterwards: what the paper proposes",
}
SCORES = {
    "NLL": "how improbable the network thought what then happened (negative log-likelihood); the score of the whole "
    "predicted distribution, lower is better",
    "CRPS": "how far the predicted distribution is from what happened, in the unit of the target; lower is better, and "
    "outliers matter less than for NLL",
    "PCE": "how far predicted probabilities are from how often things happen; 0 is perfect",
    "SD": "the predicted uncertainty (standard deviation), in the unit of the target",
    "90 % coverage": "share of test rows inside the predicted 90 % interval; 90 % is right",
    "90 % length": "mean length of this interval; a shorter one is better only if the coverage is right",
}
NOISE = (
    "“Larger than the noise” means: splitting the same rows differently would hardly have reversed the order (paired "
    "t-test over splits, corrected for rows that the splits share and for the number of methods, at 0.05)."
)
_LABELS = {"nll": "NLL", "crps": "CRPS", "pce": "PCE"}
NO_RESULTS = "No method has a result; the column reason of the methods' Parquet file says why."
NOT_TRAINED = "Nothing was trained on it."


@dataclass(frozen=True)
class OwnReport:
    """All that is said of one dataset of the user's."""

    dataset: str
    record: Mapping[str, Any]  # of the prepared data
    statistics: OwnStatistics
    test_rows: int  # of each split
    written: tuple[str, ...]  # paths

    @property
    def splits(self) -> int:
        """The largest number of splits with a result."""
        scores = self.statistics.scores
        return int(scores["splits"].max()) if len(scores) else 0


def data_sentences(report: OwnReport) -> list[str]:
    """What was done to the data; the reason, if it cannot be used."""
    if report.record["status"] != "available":
        return [f"It cannot be used ({report.record['status']}): {report.record['reason']}."]
    return own_data_sentences(dict(report.record))


def findings(report: OwnReport) -> list[str]:
    """What came out, for somebody who has to choose a method; the first sentence is the answer."""
    scores = report.statistics.scores
    failed = scores[scores["failed_splits"] > 0]
    if not report.splits:
        return [NO_RESULTS if report.record["status"] == "available" else NOT_TRAINED]
    sentences = []
    for name, label in _LABELS.items():
        sentences += _ranking(report.statistics.comparisons, name, label)
        if name == "nll":
            sentences += _beside_the_plain_network(report)
    sentences += _coverage(report)
    sentences += [
        f"{row['method']} has no result in {counted(row['failed_splits'], 'split')} and is not ranked."
        for row in failed.to_dict("records")
    ]
    if best := recommended(report.statistics):
        scale = ", after the target is put on that scale" if report.record.get("target_transform") == "log1p" else ""
        sentences.append(
            f"Predictions for new rows: qrt predict --method {best} ... (docs/using.md), which prepares the table in "
            f"the same way, given the same drop, categorical and drop_few_valued{scale}."
        )
    if report.splits == 1:
        sentences.append("One split says nothing about noise: set splits: [0, 1, 2, 3, 4] for an answer.")
    return sentences


def recommended(statistics: OwnStatistics) -> str:
    """The method with the lowest NLL; with one method this one, without complete results none."""
    nll = statistics.comparisons[statistics.comparisons["score"] == "nll"]
    complete = statistics.scores.loc[statistics.scores["failed_splits"] == 0, "method"]
    return str(nll["best"].iloc[0]) if len(nll) else str(complete.iloc[0]) if len(complete) else ""


def _ranking(comparisons: pd.DataFrame, name: str, label: str) -> list[str]:
    """One sentence on the best method by a score; that on NLL is the answer."""
    rows = comparisons[comparisons["score"] == name]
    if rows.empty:
        return []
    best = listed([rows["best"].iloc[0], *rows.loc[rows["difference"] == 0, "method"]])
    others = rows[rows["difference"] > 0]
    lowest = f"Lowest {label}: {best}"
    if rows["splits"].iloc[0] == 1 or others.empty:
        return [f"{lowest}."]
    clear, unclear = (list(others.loc[others["larger_than_noise"] == wanted, "method"]) for wanted in (True, False))
    if not clear:
        answer = "This comparison gives no reason to prefer one method. " if name == "nll" else ""
        return [f"{answer}{lowest}, but no difference to another method is larger than the noise."]
    answer = f"Take {best}. " if name == "nll" else ""
    whom = "every other method" if not unclear and len(clear) > 1 else listed(clear)
    chance = f", that to {listed(unclear)} is not" if unclear else ""
    return [f"{answer}{lowest}; the difference to {whom} is larger than the noise{chance}."]


def _beside_the_plain_network(report: OwnReport) -> list[str]:
    """How much better the best method is than the plain network, as a factor of density, if that is no noise."""
    rows = report.statistics.comparisons
    here = rows[(rows["score"] == "nll") & (rows["method"] == "BASE") & rows["larger_than_noise"]]
    return [
        f"{row['best']} lowers the NLL of the plain network (BASE) by {number(row['difference'])} ± "
        f"{number(row['noise'], 2)}: it gave what happened {number(math.exp(min(row['difference'], 50.0)))} times the "
        "probability density, on the geometric mean."
        for row in here.to_dict("records")
    ]


def _coverage(report: OwnReport) -> list[str]:
    scores, best = report.statistics.scores, recommended(report.statistics)
    if not best:
        return []
    row = scores.set_index("method").loc[best]
    return [
        f"The 90 % intervals of {best} held {_percent(row['coverage_90'], row['coverage_90_standard_error'])} of the "
        f"test rows ({counted(report.test_rows, 'row')} in each split); 90 % would be right."
    ]


def _percent(share: float, error: float) -> str:
    if is_missing(share):
        return ""
    return f"{100 * share:.1f}" + ("" if is_missing(error) else f" ± {100 * error:.1f}") + " %"


def _shares(heading: str, column: str) -> Shown:
    """A column of shares with their standard errors, as percentages."""
    return Shown(heading, lambda record: _percent(record[column], record[f"{column}_standard_error"]), column)


_TABLE: tuple[Shown, ...] = (
    Shown("Method", lambda record: str(record["method"])),
    with_error("NLL", "nll"),
    with_error("PCE", "pce"),
    with_error("CRPS", "crps"),
    with_error("SD", "sd"),
    _shares("90 % coverage", "coverage_90"),
    with_error("90 % length", "length_90"),
    numbers("Splits", "splits", str),
)
_CAPTION = "Test rows, mean ± standard error over splits"


def own_data_page(reports: Sequence[OwnReport], basis: str, trial: str) -> str:
    """The page. `basis` says how was trained; `trial` is said at the top of a study that trained too short."""
    parts: list[Html] = [_report(report) for report in reports]
    parts.append(section("scores", "What the scores mean", _explained(SCORES), paragraph(NOISE)))
    parts.append(section("methods", "The methods", _explained(METHODS)))
    lede = f"Which method predicts your data best, and how sure that is. {basis}"
    # The pages of the replication may not be there: whoever asks for this one alone gets this one alone.
    menu = {f"#data-{report.dataset}": report.dataset for report in reports}
    menu |= {"#scores": "What the scores mean", "#methods": "The methods"}
    return document("Your data", lede, *parts, file="own_data.html", pages=menu, demonstration=trial)


def _report(report: OwnReport) -> Html:
    answer, *more = findings(report)
    content: list[Html] = [paragraph(answer, class_="answer"), *_listed(more)]
    scores = report.statistics.scores
    if report.splits:
        content.append(value_table(f"scores-{report.dataset}", scores, _TABLE, _CAPTION))
    content += [tag("h3", "What was done to the data"), *_listed(data_sentences(report))]
    content += [tag("h3", "Files"), tag("ul", *(tag("li", tag("code", path)) for path in report.written))]
    table = link(f"own_data/{report.dataset}.csv", "Table as CSV")
    return section(f"data-{report.dataset}", report.dataset, *content, paragraph(table))


def _listed(sentences: Sequence[str]) -> list[Html]:
    return [tag("ul", *(tag("li", sentence) for sentence in sentences))] if sentences else []


def _explained(words: Mapping[str, str]) -> Html:
    return tag("dl", *(part for name, meaning in words.items() for part in (tag("dt", name), tag("dd", meaning))))


def own_data_text(reports: Sequence[OwnReport], basis: str, trial: str) -> str:
    """The same for the terminal."""
    lines = [trial, ""] if trial else []
    for report in reports:
        lines += [report.dataset, *(f"  {sentence}" for sentence in data_sentences(report)), ""]
        if report.splits:
            lines += [*_text_table(report.statistics.scores), ""]
        lines += [f"  {sentence}" for sentence in findings(report)]
        lines += ["", "  Written:", *(f"    {path}" for path in report.written), ""]
    lines.append(f"Mean ± standard error over splits of the test rows; lower is better for NLL, PCE and CRPS. {basis}")
    return "\n".join([*lines, ""])


def _text_table(scores: pd.DataFrame) -> list[str]:
    """The table with aligned columns."""
    rows = [[one.heading for one in _TABLE]]
    rows += [[one.write(record) for one in _TABLE] for record in scores.to_dict("records")]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]


def write_own_data(datasets: list[str], *, study: StudyConfig, out: Path) -> None:
    """Report which method predicts the user's own data best, and how sure that is: page, text and tables in `out`."""
    files = StudyFiles(study)
    experiments = [files.plan.experiments[name] for name in files.own_data_experiments]
    if not datasets or not experiments:
        raise UserError(
            "there is nothing to compare: the configuration has no own_datasets, or no method of the main comparison; "
            "docs/data.md says how data of your own joins the study"
        )
    reports = []
    for dataset in datasets:
        record = read_record(Path(prepared_data(dataset)))
        train_rows, _, _, test_rows = part_sizes(min(record.get("rows", 0), MAX_ROWS))
        runs = files.read(files.places(files.own_data_experiments, [dataset], [0]), "runs").to_pandas()
        methods = tuned(runs, experiments, study.protocol)
        statistics = own_statistics(
            dataset, methods, study.protocol, list(METHODS), test_share=test_rows / max(train_rows, 1)
        )
        table = out / f"own_data/{dataset}.csv"
        write_text(table, statistics.scores.to_csv(index=False))
        written = (
            f"{out}/own_data.html",
            f"{out}/own_data.txt",
            str(table),
            f"{out}/own_data.csv",
            files.layout.networks_of(dataset),
            prepared_data(dataset),
        )
        reports.append(OwnReport(dataset, record, statistics, test_rows, written))
    comparisons = pd.concat([report.statistics.comparisons for report in reports], ignore_index=True)
    write_text(out / "own_data.csv", comparisons.to_csv(index=False))
    basis = f"Protocol: {describe(study.scenario, study.protocol)}."
    trial = (
        f"A trial: {study.training_words}. Train as long as the paper did before you choose." if study.is_short else ""
    )
    write_text(out / "own_data.html", own_data_page(reports, basis, trial))
    write_text(out / "own_data.txt", own_data_text(reports, basis, trial))
