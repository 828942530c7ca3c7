"""What another random start changes: the shares of split and seed in the variance, and which conclusions survive."""

from __future__ import annotations

from typing import Any

from qrt.text.page import Content, Html, picture_of
from qrt.text.words import MINUS, count, counted, is_missing, listed, number, percent, text, two_decimals
from qrt_study.pages.block import Block, Page, filtered, page, part, values, words
from qrt_study.pages.study_words import StudyWords
from qrt_study.pages.value_table import Shown, numbers, plain, range_of, with_error, yes_or_no
from qrt_study.statistics.seeds import COMPARISONS, SeedStatistics

HEADLINE = ("NLL", *COMPARISONS[0])  # what the words tell first
EXPLANATION = (
    "Every split is trained from several random starts: other initial weights, another order of the rows, other "
    "dropout masks. Each seed is a complete study, tuned on its own; seed 0 is the one that all other figures and "
    "verdicts use. No two splits share a start, so the standard error over splits that the paper reports already holds "
    "the seed's share. “Better”, “worse” and “neither” are Student's t over splits at 0.05, for a single seed and for "
    "the means over all seeds; lower is better."
)
COLUMNS_REMARK = (
    "Split SD and seed SD are the two parts of a single run's difference (analysis of variance with seeds nested in "
    "splits); with few splits the share of the seed is known roughly, as its 95 % interval shows. The spread is the "
    "standard deviation of the seeds' means; the reported error is the standard error that a single seed gives its own "
    "mean. The bandwidth is tuned for each seed: where that changes all splits at once, the spread is larger than the "
    "share tells."
)
_SUMMARY_CAPTION = (
    "Medians over datasets, and how many conclusions of single seeds are those of all, and those of seed 0"
)
_PER_DATASET_CAPTION = "Test metrics, mean difference over splits"
NOTHING = "No dataset has results of two seeds: there is nothing to compare yet."


def _conclusion(value: Any) -> str:
    return text(value) or "too few splits"


def _of(heading: str, part: str, whole: str) -> Shown:
    """A column of counts "a of b", sorted by a."""
    return Shown(heading, lambda record: f"{count(record[part])} of {count(record[whole])}", part)


def _percentages(heading: str, low: str, high: str) -> Shown:
    """A column of ranges of shares, sorted by their lower ends."""

    def write(record: dict[str, Any]) -> str:
        return "" if is_missing(record[low]) else f"{percent(record[low])} to {percent(record[high])}"

    return Shown(heading, write, low)


_COMPARISON = Shown("Difference", lambda record: _difference(record["method"], record["baseline"]))
_SUMMARY = (
    plain("Metric", "metric"),
    _COMPARISON,
    numbers("Datasets", "datasets", count),
    numbers("Share of the seed", "seed_share", percent),
    _percentages("Quartiles", "seed_share_lower", "seed_share_upper"),
    numbers("Spread / reported error", "spread_ratio", two_decimals),
    _of("Seeds as all", "same_as_all", "conclusions"),
    _of("Seeds as seed 0", "same_as_seed0", "compared_with_seed0"),
    _of("Seed 0 as all", "seed0_same", "seed0_tested"),
    _of("Decided by seed 0, kept", "seed0_survives", "seed0_decided"),
    numbers("Opposite", "opposite", count),
)
_PER_DATASET = (
    plain("Dataset", "dataset"),
    plain("Metric", "metric"),
    _COMPARISON,
    numbers("Seeds", "seeds", count),
    with_error("All seeds", "mean", "standard_error"),
    range_of("95 % interval", "interval_low", "interval_high"),
    plain("Conclusion", "conclusion", _conclusion),
    with_error("Seed 0", "seed0_mean", "seed0_standard_error"),
    plain("Its conclusion", "seed0_conclusion", _conclusion),
    _of("Seeds as all", "same_as_all", "tested_seeds"),
    numbers("Split SD", "split_sd"),
    numbers("Seed SD", "seed_sd"),
    numbers("Share of the seed", "seed_share", percent),
    _percentages("Its interval", "seed_share_low", "seed_share_high"),
    numbers("Spread of means", "spread_of_means"),
    numbers("Reported error", "reported_standard_error"),
)


def _difference(method: str, baseline: str) -> str:
    return f"{method} {MINUS} {baseline}"


def basis_sentence(statistics: SeedStatistics) -> str:
    """How many datasets the page is based on, and which are left out."""
    known, left = len(statistics.datasets), statistics.left_out
    based_on = (
        f"Based on {counted(known, 'dataset')} with up to {counted(statistics.seeds, 'seed')}." if known else NOTHING
    )
    if not left:
        return based_on
    return f"{based_on} Left out, since only one seed is finished: {listed(left)}."


def findings(statistics: SeedStatistics) -> str:
    """What came out for the main difference, in words."""
    rows = statistics.summary.to_dict("records")
    row = next((row for row in rows if (row["metric"], row["method"], row["baseline"]) == HEADLINE), None)
    if row is None:
        return ""
    metric, difference = HEADLINE[0], _difference(*HEADLINE[1:])
    told = [f"For the test {metric}, {difference}:"]
    if not is_missing(row["seed_share"]):
        told.append(
            f"the seed makes up {percent(row['seed_share'])} of the variance of a single run's difference "
            f"(median over {counted(row['datasets'], 'dataset')}), the split the rest."
        )
    if not is_missing(row["spread_ratio"]):
        told.append(
            f"From seed to seed the mean over splits moves by {number(row['spread_ratio'], 2)} of the standard error "
            "that a single seed reports."
        )
    if row["conclusions"]:
        told.append(
            f"A single seed concludes the same as all seeds together in {row['same_as_all']} of "
            f"{counted(row['conclusions'], 'case')} ({percent(row['same_as_all_share'])}), "
            f"and the opposite in {row['opposite']}."
        )
    if row["seed0_tested"]:
        told.append(
            f"Seed 0 does so on {row['seed0_same']} of {counted(row['seed0_tested'], 'dataset')}; of the "
            f"{row['seed0_decided']} on which it says better or worse, all seeds say the same on "
            f"{row['seed0_survives']}."
        )
    if row["compared_with_seed0"]:
        told.append(f"Another seed concludes the same as seed 0 in {percent(row['same_as_seed0_share'])} of the cases.")
    return " ".join(told)


def seeds_page(statistics: SeedStatistics, study: StudyWords, picture: bytes = b"") -> Page:
    """The page. `picture` is the PNG of `qrt_study.figures.seeds.draw_seeds`; it becomes part of the page."""
    about, table = "What another random start changes.", statistics.per_dataset
    first = words(EXPLANATION), words(basis_sentence(statistics))
    if not len(table):
        return page("Seeds", about, study, *first)
    differs = table["conclusion"].fillna("") != table["seed0_conclusion"].fillna("")
    facts = {
        "metric": table["metric"],
        "pair": table["method"] + "-" + table["baseline"],
        "changed": differs.map(yes_or_no),
    }
    buttons: list[tuple[str, str, Content]] = [
        *(("metric", metric, metric) for metric in table["metric"].unique()),
        *(("pair", f"{method}-{baseline}", _difference(method, baseline)) for method, baseline in COMPARISONS),
        ("changed", "yes", "seed 0 concludes otherwise"),
    ]
    shown = "Means over splits of each seed and of all seeds, for each dataset, and the published values"
    over_datasets = values(
        "comparisons", statistics.summary, _SUMMARY, _SUMMARY_CAPTION, written="Medians and counts over datasets"
    )
    return page(
        "Seeds",
        about,
        study,
        *first,
        words(findings(statistics), class_="answer"),
        Block(picture_of(picture, shown) if picture else Html("")),
        part("summary", "Over datasets", over_datasets),
        part(
            "datasets",
            "Dataset by dataset",
            words(COLUMNS_REMARK, class_="remark"),
            filtered("values", table, _PER_DATASET, _PER_DATASET_CAPTION, facts, buttons),
        ),
    )
