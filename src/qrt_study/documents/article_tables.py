"""The tables of the article as rows of cells, their head first, from the results of both protocols."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from qrt.methods import MAIN_MODEL
from qrt.text.words import number, p_value
from qrt_study.documents.front_page import in_abstract, lower_scores
from qrt_study.documents.written_block import rows_of_table
from qrt_study.plan.switches import SWITCHES
from qrt_study.verdicts.evidence import NOT_IN_THE_CODE
from qrt_study.verdicts.verdict import NOT_RUN, VERDICTS

Cells = list[list[str]]
Tables = Mapping[str, pd.DataFrame]  # by protocol

HEADS = {"paper": "paper's text", "released": "released code"}
# Pairs of methods of which the lower score is counted, by their names in the article.
COMPARED = {"qrtc": ("QRTC", "BASE"), "qrtc_qrc": ("QRTC", "QRC"), "qrc": ("QRC", "BASE")}
RULES = {
    "ahead": "one method is ahead of another",
    "level": "two methods are level",
    "not_better": "a method is no better",
    "share_of_datasets": "on most datasets",
    "median_effect": "median effect over datasets",
    "shift": "shift between settings",
    "value_on_dataset": "value on one dataset",
    "trend": "trend with discreteness",
    "no_trend": "no trend with discreteness",
    "among_lowest": "among the lowest of all datasets",
    "never": "on no dataset",
    "on some": "on some datasets",
}
# Why a claim is not judged: a part of the scorecard's words, and the article's.
REASONS = {
    "no result of this study can decide it": "nothing that this study computes can decide them",
    "is not available": "they are about a dataset without a copy",
    "has no times": "they need training times of this protocol",
    NOT_IN_THE_CODE: "they are about QREGC on other base models, which the released code does not have",
}

OTHER = "other results are missing"


def abstract(claims: Tables) -> Cells:
    """The verdicts on the sentences of abstract and conclusion, with the number of datasets behind each."""
    found = [table.set_index("id") for table in claims.values()]
    shown = in_abstract(next(iter(claims.values())))[["id", "sentence"]].itertuples(index=False)
    rows = [[sentence, *(_with_datasets(one.loc[claim]) for one in found)] for claim, sentence in shown]
    return [["claim", *(HEADS[name] for name in claims)], *rows]


def _with_datasets(row: pd.Series) -> str:
    return str(row["verdict"]) if row["verdict"] == NOT_RUN else f"{row['verdict']} ({row['datasets']})"


def tally(claims: Tables) -> Cells:
    """How many claims got each verdict."""
    counts = [table["verdict"].value_counts() for table in claims.values()]
    rows = [[verdict, *(str(one.get(verdict, 0)) for one in counts)] for verdict in VERDICTS]
    return [["verdict", *(HEADS[name] for name in claims)], *rows]


def missing(claims: Tables) -> Cells:
    """How many claims are not judged, by reason, those with most first."""
    counts = {
        HEADS[name]: pd.Series(
            [reason(row) for row in table[table["verdict"] == NOT_RUN].to_dict("records")], dtype=str
        ).value_counts()
        for name, table in claims.items()
    }
    wide = pd.DataFrame(counts).fillna(0).astype(int)
    order = wide.assign(most=wide.max(axis=1), name=wide.index).sort_values(["most", "name"], ascending=[False, True])
    return [["not judged, because", *wide.columns], *([str(name), *map(str, wide.loc[name])] for name in order.index)]


def reason(claim: Mapping[str, Any]) -> str:
    """Why a claim is not judged, from the words of the scorecard."""
    for part, words in REASONS.items():
        if part in claim["short"]:
            return words
    absent = re.search(r"Not run: (.+) (?:was|were) not run", claim["short"])
    if not absent:
        return OTHER
    if claim["base_model"] == MAIN_MODEL:
        return f"they need networks of {absent[1]}, which are not trained yet"
    return f"they need {absent[1]} on other base models, which is not trained yet"


def switches_defined() -> Cells:
    """The disagreements of the paper's text and the released code."""
    return [[str(one.row), one.topic, one.paper.words, one.released.words] for one in SWITCHES.values()]


def characteristics(rules: str) -> Cells:
    """How often rules err on simulated data without any effect, as docs/verdict.md has it."""
    head, *body = rows_of_table(rules.partition("Rules by themselves")[2].partition("\n## ")[0])
    return [["claim of the form", *head[1:]], *([RULES[name], *map(_spaced, cells)] for name, *cells in body)]


def power(rules: str) -> Cells:
    """How often claims on Figure 2 are confirmed if the published effects, none or their opposite are true."""
    section = rules.partition("## Operating characteristics")[2].partition("Rules by themselves")[0]
    head, *body = rows_of_table(section)
    confirmed = head.index("confirmed")
    found = {(claim, truth, _digits(datasets)): row[confirmed] for row in body for claim, truth, datasets in [row[:3]]}
    ours, paper = sorted({_digits(row[2]) for row in body}, key=int)[-2:]
    columns = (("as published", ours), ("as published", paper), ("no effect", ours), ("opposite", ours))
    names = [f"{truth}, {datasets} datasets" for truth, datasets in columns]
    claims = dict.fromkeys(claim for claim, *_ in found)
    return [
        ["claim on the NLL", *names],
        *([claim.partition(": ")[2], *(_spaced(found[claim, *column]) for column in columns)] for claim in claims),
    ]


def _spaced(share: str) -> str:
    return share.replace("%", " %")


def _digits(words: str) -> str:
    return re.sub(r"\D", "", words)


def distances(found: pd.DataFrame) -> Cells:
    """How far the values that a switch changes are from the published ones, before and after."""
    head = ["row", "disagreement", "values that change"]
    for when in ("as released", "changed"):
        head += [f"beyond two, {when}", f"median distance, {when}"]
    rows = [
        [
            str(row["row"]),
            SWITCHES[row["switch"]].topic,
            str(row["values"]),
            *(
                cell
                for when in ("before", "after")
                for cell in (str(row[f"beyond_two_{when}"]), number(row[f"median_{when}"], 2))
            ),
        ]
        for row in found.to_dict("records")
    ]
    return [head, *rows]


def accuracy(folders: Mapping[str, Path]) -> Cells:
    """On how many datasets a method has the lower NLL and the lower CRPS than another, by kind of targets."""
    head = ["protocol", "targets", "datasets"]
    head += [
        f"{method} below {baseline}: {score}" for method, baseline in COMPARED.values() for score in ("NLL", "CRPS")
    ]
    rows = []
    for protocol, folder in folders.items():
        lower = [lower_scores(folder / "robustness.csv", *pair) for pair in COMPARED.values()]
        for targets in ("continuous", "discrete"):
            of_kind = [one.loc[targets] for one in lower]
            counts = [str(int(one[score].sum())) for one in of_kind for score in ("NLL", "CRPS")]
            rows.append([protocol, targets, str(len(of_kind[0])), *counts])
    return [head, *rows]


def pairs(summaries: Tables, scores: Sequence[str], methods: Sequence[str]) -> Cells:
    """Methods against BASE in these scores: on how many datasets lower, median of Cohen's d, Holm's p-value."""
    columns = [(protocol, method) for protocol in summaries for method in methods]
    head = ["score", *(f"{method}, {HEADS[protocol]}" for protocol, method in columns)]
    found = {
        (protocol, row["metric"], row["left"]): _cell(row)
        for protocol, table in summaries.items()
        for row in table[table["right"] == "BASE"].to_dict("records")
    }
    return [head, *([score, *(found.get((one[0], score, one[1]), "–") for one in columns)] for score in scores)]


def _cell(row: Mapping[str, float]) -> str:
    lower = f"{int(row['left_lower'])} of {int(row['datasets'])}"
    return f"{lower}\nd = {_effect(row['median_d'])}; {p_value(row['p_holm'])}"


def _effect(value: float) -> str:
    return number(0.0 + round(value, 2), 2) if abs(value) >= 0.005 else "0.00"


def stopping(summaries: Tables) -> Cells:
    """QRC, QRC-STOP and QRTC in pairs: lower on how many datasets, with the median difference and p-value."""
    scores = ("NLL", "CRPS", "PCE")
    rows = []
    for protocol, table in summaries.items():
        found = table.set_index(["left", "right", "metric"])
        for left, right in (("QRTC", "QRC"), ("QRC-STOP", "QRC"), ("QRTC", "QRC-STOP")):
            if (left, right, "NLL") in found.index:
                cells = (_difference(found.loc[(left, right, score)], score) for score in scores)
                rows.append([protocol, f"{left} − {right}", *cells])
    return [["protocol", "difference", *scores], *rows]


def _difference(row: pd.Series, score: str) -> str:
    """Medians of CRPS are of no use: each dataset has its own scale."""
    median = "" if score == "CRPS" else f", {number(row['median_difference'], 2)}"
    return f"{int(row['left_lower'])} of {int(row['datasets'])}{median}\n{p_value(row['p_holm'])}"
