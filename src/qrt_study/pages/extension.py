"""Extensions of the replication as pages: what gain it is, for whom it is calibrated, and what early stopping does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from qrt.text.page import picture_of
from qrt.text.words import count, listed, number, p_value, percent
from qrt_study.data.sheet import paper_datasets
from qrt_study.pages.block import Block, Page, answers, filtered, page, part, values, words
from qrt_study.pages.study_words import StudyWords
from qrt_study.pages.value_table import Shown, numbers, plain, with_error

NOT_PAPER = "An extension of the replication: the paper has no such numbers, and no claim of it is judged by them."
NOTHING = "There are no results for this yet."


class Words(NamedTuple):
    """What distinguishes one extension from another."""

    title: str
    question: str
    explanation: str
    against: tuple[str, ...] = ()  # methods that others are compared with, besides the baseline


GAINS = Words(
    "Gains",
    "What gain is it: a better calibration, or a better network?",
    "Each score is the sum of two parts, and lower is better in both. NLL: the NLL under the best map of the PITs "
    "(refined NLL), and what that map takes (NLL to calibrate). The map is cross-fitted on test rows, the width of its "
    "kernel too. CRPS: what isotonic regression leaves at each threshold, discrimination and uncertainty together "
    "(refined CRPS), and what it takes (CRPS to calibrate, the miscalibration).",
)
COVERAGE = Words(
    "Coverage",
    "For whom is it calibrated?",
    "PCE asks whether PITs are uniform over all rows. Here: coverage and length of the central 90 % interval; the "
    "interval score; coverage in fifths of the rows by predicted standard deviation (error by spread: mean distance "
    "from 0.9); the worst slab of x with a fifth of the rows or more, chosen on other rows (0.9 minus its coverage); "
    "and the excess risk: gradient-boosted trees, cross-fitted, predict from x which targets fall outside; the share "
    "of the Brier score of their frequency that this saves. Above 0, x tells who is not covered. Small test sets show "
    "deviations by chance: in brackets stands what a calibrated model shows on as many rows.",
)
STOPPING = Words(
    "Stopping",
    "The gradient or the stopping?",
    "QRT trains through a calibration map, and also stops by the NLL after a map; QRC trains and stops without one. So "
    "a part of QRTC's lead over QRC may be the stopping. QRC-STOP is QRC's network, trained in the same way to the "
    "last bit, taken at the epoch with the lowest validation NLL after a map of training rows (b = 0.1), and then "
    "recalibrated as QRC is. QRC-STOP against QRC is what the stopping does; QRTC against QRC-STOP is what is left for "
    "the gradient through the map. Datasets with up to 12,000 training rows, one random start of each split.",
    against=("QRC-STOP",),
)
WORDS = {"gains": GAINS, "coverage": COVERAGE, "stopping": STOPPING}
_PAIRS = (
    plain("Score", "metric"),
    plain("Method", "left"),
    plain("against", "right"),
    Shown("Lower on", lambda row: f"{count(row['left_lower'])} of {count(row['datasets'])}", "left_lower"),
    numbers("Median difference", "median_difference"),
    numbers("Median Cohen's d", "median_d"),
    numbers("p (Holm)", "p_holm", p_value),
)
_DATASETS = (
    plain("Dataset", "dataset"),
    plain("Score", "metric"),
    plain("Method", "method"),
    with_error("Mean", "mean", "standard_error"),
    with_error("Difference", "difference", "difference_standard_error"),
    numbers("Cohen's d", "cohens_d"),
)
_INTERVALS = (
    plain("Datasets", "size"),
    plain("Method", "method"),
    numbers("Number", "datasets", count),
    numbers("Coverage", "coverage", percent),
    numbers("Length / BASE", "relative_length"),
    numbers("Coverage, least spread", "coverage_sd1", percent),
    numbers("largest spread", "coverage_sd5", percent),
    Shown("Error by spread", lambda row: _beside(row["coverage_gap"], row["coverage_gap_calibrated"]), "coverage_gap"),
    Shown("Worst slab", lambda row: _beside(row["worst_slab"], row["worst_slab_calibrated"]), "worst_slab"),
    numbers("Excess risk", "excess_risk"),
    Shown("PCE", lambda row: _beside(row["pce"], row["pce_calibrated"]), "pce"),
)
_WAYS = (
    plain("Datasets", "size"),
    plain("Distribution", "way"),
    numbers("Number", "datasets", count),
    numbers("12 × variance of the PITs", "pit_variance"),
    numbers("Coverage", "coverage", percent),
    numbers("PCE", "pce"),
    numbers("NLL", "nll"),
)
_INTERVALS_CAPTION = "Central 90 % intervals; in brackets what a calibrated model shows on as many rows"
_WAYS_CAPTION = "What F is like, and what one map of bandwidth b and two do to it"
_PAIRS_CAPTION = "Over datasets, as in the main comparison: Wilcoxon's test with Holm's correction"
_DATASETS_CAPTION = "Test rows, means over splits"


def _beside(value: float, calibrated: float) -> str:
    return f"{number(value)} ({number(calibrated)})"


# Further tables: name, heading, columns, caption.
_MORE = (
    ("intervals", "Coverage and length", _INTERVALS, _INTERVALS_CAPTION),
    ("ways", "Why one map over-covers", _WAYS, _WAYS_CAPTION),
)


class Extension(NamedTuple):
    """The tables of an extension's comparison."""

    words: Words
    tables: Mapping[str, pd.DataFrame]

    @property
    def per_dataset(self) -> pd.DataFrame:
        """Means and effects on each dataset."""
        return self.tables["per_dataset"]

    @property
    def summary(self) -> pd.DataFrame:
        """The pairs with the baseline, beside the median of Cohen's d, and with other methods of which it is asked."""
        found = self.per_dataset.groupby(["metric", "method"])["cohens_d"].median().rename("median_d").reset_index()
        baseline = self.per_dataset["baseline"].iloc[0] if len(self.per_dataset) else ""
        pairs = self.tables["pairs"]
        flipped = pairs.assign(
            left=pairs["right"],
            right=pairs["left"],
            left_lower=pairs["right_lower"],
            right_lower=pairs["left_lower"],
            rank_share=1 - pairs["rank_share"],
            median_difference=0.0 - pairs["median_difference"],  # never -0.0
        )
        both = pd.concat([pairs, flipped], ignore_index=True)
        asked = [baseline, *(name for name in self.words.against if name != baseline)]
        both = both[both["right"].isin(asked) & (both["left"] != baseline)]
        found["right"] = baseline
        return both.merge(found.rename(columns={"method": "left"}), on=["metric", "left", "right"], how="left")


def findings(extension: Extension) -> list[str]:
    """What came out, a sentence for each score: the methods with a significant difference to another one."""
    sentences = []
    for metric, rows in extension.summary.groupby("metric", sort=False):
        told = rows[rows["significant"]]
        others = " or ".join(rows["right"].unique())
        differing = [
            f"{row['left']} is {'lower' if 2 * row['left_lower'] > row['datasets'] else 'higher'} than {row['right']} "
            f"(lower on {count(row['left_lower'])} of {count(row['datasets'])} datasets, {p_value(row['p_holm'])})"
            for row in told.to_dict("records")
        ]
        sentences.append(f"{metric}: {listed(differing) if differing else f'no method differs from {others}'}.")
    return sentences


def extension_page(extension: Extension, study: StudyWords, picture: bytes) -> Page:
    """The page. `picture` is a PNG, which becomes part of it."""
    title, question, explanation, _ = extension.words
    told, tables, table = (words(NOT_PAPER), words(explanation)), extension.tables, extension.per_dataset
    if not len(table):
        return page(title, question, study, *told, words(NOTHING), written=question)
    # Fewer datasets have published predictions than results.
    shown = set(table["dataset"])
    study = replace(study, datasets=len(shown), of_paper=len(shown & set(paper_datasets())))
    facts = {"metric": table["metric"], "method": table["method"]}
    buttons = [(fact, value, value) for fact, values_of in facts.items() for value in values_of.unique()]
    parts = [
        part(name, heading, values(name, tables[name], columns, caption))
        for name, heading, columns, caption in _MORE
        if name in tables
    ]
    return page(
        title,
        question,
        study,
        *told,
        answers(findings(extension)),
        Block(picture_of(picture, question)),
        *parts,
        part("summary", "Over datasets", values("comparisons", extension.summary, _PAIRS, _PAIRS_CAPTION)),
        part("datasets", "Dataset by dataset", filtered("values", table, _DATASETS, _DATASETS_CAPTION, facts, buttons)),
        written=question,
    )
