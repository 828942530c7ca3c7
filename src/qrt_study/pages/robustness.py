"""How robust the main comparison is: discrete targets by NLL and by CRPS, and means that a single split carries."""

from __future__ import annotations

from qrt.text.page import Content
from qrt.text.words import MINUS, count, counted, listed, p_value
from qrt_study.pages.block import Page, answers, filtered, page, part, values, words
from qrt_study.pages.study_words import StudyWords
from qrt_study.pages.value_table import Shown, numbers, plain, range_of, with_error, yes_or_no
from qrt_study.statistics.robustness import CONTINUOUS, DISCRETE_TARGETS, Robustness
from qrt_study.statistics.seeds import COMPARISONS

EXPLANATION = (
    "Two questions that the paper leaves open. First: with discrete targets NLL has no lower bound, since a mixture "
    "gains without end by narrowing on frequent values; CRPS does not reward that. Is a gain in NLL also one in CRPS? "
    "Second: how many means over splits would change their sign without a single one of the splits? Lower is better."
)
NOTHING = "There are no results of the main comparison yet."
_SUMMARY_CAPTION = "On how many datasets the method has the lower value, by the mean and by the median over splits"
_HEADLINE = COMPARISONS[0]


def _of(heading: str, part: str) -> Shown:
    return Shown(heading, lambda record: f"{count(record[part])} of {count(record['datasets'])}", part)


_COMPARISON = Shown("Difference", lambda record: f"{record['method']} {MINUS} {record['baseline']}")
_SUMMARY = (
    plain("Metric", "metric"),
    _COMPARISON,
    plain("Targets", "targets"),
    _of("Lower by the mean", "lower"),
    _of("Lower by the median", "lower_by_median"),
    _of("One split decides the sign", "one_split_decides"),
    numbers("Wilcoxon", "p_value", p_value),
)
_PER_DATASET = (
    plain("Dataset", "dataset"),
    plain("Targets", "targets"),
    plain("Metric", "metric"),
    _COMPARISON,
    numbers("Splits", "splits", count),
    with_error("Mean", "mean", "standard_error"),
    numbers("Median", "median"),
    range_of("Without one split", "without_one_low", "without_one_high"),
    plain("One split decides the sign", "one_split_decides", yes_or_no),
)


def findings(statistics: Robustness) -> list[str]:
    """What came out for the main difference, a sentence for each question."""
    method, baseline = _HEADLINE
    summary = statistics.summary
    rows = summary[(summary["method"] == method) & (summary["baseline"] == baseline)].set_index(["metric", "targets"])
    sentences = []
    for targets in (DISCRETE_TARGETS, CONTINUOUS):
        found = [(metric, rows.loc[(metric, targets)]) for metric in ("NLL", "CRPS") if (metric, targets) in rows.index]
        if found:
            told = [
                f"{metric} on {row['lower']} of {counted(row['datasets'], 'dataset')} ({p_value(row['p_value'])})"
                for metric, row in found
            ]
            sentences.append(f"With {targets} targets {method} is below {baseline} in {listed(told)}.")
    decided = [
        f"{row['one_split_decides']} of {counted(row['datasets'], 'dataset')} for {metric}"
        for (metric, targets), row in rows.iterrows()
        if targets == "all"
    ]
    if decided:
        sentences.append(f"One split decides the sign of {method} {MINUS} {baseline} on {listed(decided)}.")
    return sentences


def robustness_page(statistics: Robustness, study: StudyWords) -> Page:
    """The page."""
    about, table = "Discrete targets, and single splits.", statistics.per_dataset
    if not len(table):
        return page("Robustness", about, study, words(EXPLANATION), words(NOTHING))
    facts = {
        "metric": table["metric"],
        "pair": table["method"] + "-" + table["baseline"],
        "targets": table["targets"],
        "decides": table["one_split_decides"].map(yes_or_no),
    }
    buttons: list[tuple[str, str, Content]] = [
        *(("metric", metric, metric) for metric in table["metric"].unique()),
        *(("pair", f"{method}-{base}", f"{method} {MINUS} {base}") for method, base in COMPARISONS),
        *(("targets", targets, f"{targets} targets") for targets in table["targets"].unique()),
        ("decides", "yes", "one split decides the sign"),
    ]
    return page(
        "Robustness",
        about,
        study,
        words(EXPLANATION),
        answers(findings(statistics)),
        part("summary", "Over datasets", values("comparisons", statistics.summary, _SUMMARY, _SUMMARY_CAPTION)),
        part(
            "datasets",
            "Dataset by dataset",
            filtered("values", table, _PER_DATASET, "Test metrics, difference over splits", facts, buttons),
        ),
    )
