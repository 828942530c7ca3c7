"""What the replication found, for README.md and replication/README.md, written from the published results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from qrt.text.formats import escape_markdown
from qrt.text.words import counted, number
from qrt_study.data.sheet import paper_datasets
from qrt_study.documents.progress import finished
from qrt_study.pages.changed_differences import distances_to_published
from qrt_study.pages.readings import BOTH_RUN
from qrt_study.plan.switches import SWITCHES
from qrt_study.results.archive import CPU_HOURS
from qrt_study.running.steps import Steps
from qrt_study.verdicts.verdict import NOT_RUN, VERDICTS

PAPER, RELEASED = "paper_figures/scorecard.csv", "replication/released/scorecard.csv"
FRONT = ("C07", "C08", "C10", "C09", "C211")  # of the abstract and the conclusion, those a reader asks for first
PUBLISHED_CPU_HOURS = 7200  # of the authors: 180 hours on 40 CPUs
SIGNS = {
    "confirmed": "✅",
    "leans confirmed": "↗️",
    "inconclusive": "➖",
    "leans contradicted": "↘️",
    "contradicted": "❌",
    NOT_RUN: "⏳",
}
FOR, AGAINST = ("confirmed", "leans confirmed"), ("contradicted", "leans contradicted")


def answer(project: Path) -> str:
    """The block of README.md: whether the paper holds, in five rows and two caveats."""
    paper, released = claims_that_can_fail(project / PAPER), claims_that_can_fail(project / RELEASED)
    caveats = (_accuracy(project), _difference(paper, released))
    return "\n".join(
        [_whole(paper, released), "", *_rows(paper, released, FRONT), "", *(f"- {one}" for one in caveats)]
    )


def overview(project: Path) -> str:
    """The block of replication/README.md: what was done, every sentence of abstract and conclusion, the tallies."""
    manifest = json.loads((project / "replication/results/manifest.json").read_text(encoding="utf-8"))
    paper, released = claims_that_can_fail(project / PAPER), claims_that_can_fail(project / RELEASED)
    agreement = pd.read_csv(project / "replication/released/agreement.csv")
    switches = pd.read_csv(project / "paper_figures/disagreements.csv").drop_duplicates("switch")
    parts = [
        _what_was_done(project, manifest),
        *("", *_rows(paper, released, list(in_abstract(paper)["id"]))),
        "",
        f"All {len(paper)} claims that can fail, under the paper's protocol: {_tally(paper)}; under that of the "
        f"released code: {_tally(released)}.",
        *("", _switches(switches)),
        *("", f"{_agreement(agreement)} {_followed(project)}".strip()),
    ]
    return "\n".join(parts)


def claims_that_can_fail(path: Path) -> pd.DataFrame:
    """The rows of a scorecard, without claims that are true by definition."""
    claims = pd.read_csv(path, keep_default_na=False)
    return claims[claims["by_definition"].astype(str) != "True"]


def _whole(paper: pd.DataFrame, released: pd.DataFrame) -> str:
    """How many sentences of abstract and conclusion hold, and those that hold under neither protocol."""
    verdicts = [in_abstract(claims).set_index("id")["verdict"] for claims in (paper, released)]
    (for_paper, of_paper), (for_released, of_released) = (verdict_counts(in_abstract(one)) for one in (paper, released))
    against = set.intersection(*(set(found[found.isin(AGAINST)].index) for found in verdicts))
    sentences = [claim["sentence"] for claim in in_abstract(paper).to_dict("records") if claim["id"] in against]
    quoted = " ".join(f"*{escape_markdown(str(sentence))}*" for sentence in sentences)
    return (
        f"**{_in_a_word((for_paper + for_released) / (of_paper + of_released))}.** "
        f"Of the {counted(of_paper, 'sentence')} of its abstract and conclusion that could be judged, "
        f"{for_paper} are confirmed or lean that way when everything is done as the paper's text has it, and "
        f"{for_released} of {of_released} when it is done as the released code has it. Contradicted in both: "
        f"{quoted or 'none'}."
    )


def _in_a_word(share: float) -> str:
    """The answer to "Does the paper hold?", by the share of sentences that do."""
    return "Yes" if share == 1 else "Mostly yes" if share >= 0.8 else "In part" if share >= 0.5 else "Mostly no"


def in_abstract(claims: pd.DataFrame) -> pd.DataFrame:
    """Those of the abstract and the conclusion."""
    return claims[claims["abstract"].astype(str) == "True"]


def verdict_counts(claims: pd.DataFrame) -> tuple[int, int]:
    """How many claims are confirmed or lean that way, of how many that could be judged."""
    return int(claims["verdict"].isin(FOR).sum()), int((claims["verdict"] != NOT_RUN).sum())


def _what_was_done(project: Path, manifest: dict[str, Any]) -> str:
    steps = Steps(project)
    done = {name: finished(step) for name, step in steps.by_name.items()}
    cost = sum(manifest[name] for name in CPU_HOURS)
    parts = {
        "main comparison: BASE, QRC, QRTC": ("2 paper", "1 released"),
        "its fourth method, QREGC: a penalty on miscalibration in training, a map after it": ("3 paper", "4 released"),
        "ablations: QRTC without one of its parts": ("5 paper", "10 released"),
    }
    lines = ["| finished on so many datasets | by the paper's text | by the released code |", "|---|---|---|"]
    lines += [f"| {part} | {' | '.join(str(done[step]) for step in both)} |" for part, both in parts.items()]
    sentence = (
        f"**So far**: {manifest['networks']:,} networks on {len(manifest['datasets'])} of the paper's "
        f"{len(paper_datasets())} datasets ({steps.at_hand} could be obtained), five splits each, in {_hours(cost)} of "
        f"one core; the authors' whole study took {PUBLISHED_CPU_HOURS:,} hours. [All steps](#steps), done and left."
    )
    return "\n".join([sentence, "", *lines])


def _hours(hours: float) -> str:
    return f"{number(hours)} hours" if hours >= 2 else f"{60 * hours:.0f} minutes"


def _rows(paper: pd.DataFrame, released: pd.DataFrame, ids: Sequence[str]) -> list[str]:
    """The verdicts on these claims under both protocols, as a table."""
    verdicts = [claims.set_index("id")["verdict"] for claims in (paper, released)]
    sentences = paper.set_index("id")["sentence"]
    lines = ["| claim | by the paper's text | by the released code |", "|---|---|---|"]
    for claim in ids:
        signed = " | ".join(f"{SIGNS[one[claim]]} {one[claim]}" for one in verdicts)
        lines.append(f"| {escape_markdown(sentences[claim])} | {signed} |")
    return lines


def _accuracy(project: Path) -> str:
    """On how many datasets with continuous targets a lower NLL is a lower CRPS, too."""
    lower = lower_scores(project / "paper_figures/robustness.csv").loc["continuous"]
    return (
        f"The gain is one in NLL, which rewards sharp peaks of the density: of {len(lower)} datasets with continuous "
        f"targets, QRT has the lower NLL on {int(lower['NLL'].sum())} and the lower CRPS (continuous ranked "
        f"probability score, an error on the scale of the target) on {int(lower['CRPS'].sum())}."
    )


def lower_scores(path: Path, method: str = "QRTC", baseline: str = "BASE") -> pd.DataFrame:
    """Whether a method has a lower NLL and CRPS than another, by targets (continuous, discrete) and dataset."""
    table = pd.read_csv(path)
    chosen = table[
        (table["method"] == method) & (table["baseline"] == baseline) & table["metric"].isin(["NLL", "CRPS"])
    ]
    return chosen.pivot(index=["targets", "dataset"], columns="metric", values="mean").dropna() < 0


def _tally(claims: pd.DataFrame) -> str:
    counts = claims["verdict"].value_counts()
    return ", ".join(f"{counts[word]} {word}" for word in VERDICTS if word in counts)


def _difference(paper: pd.DataFrame, released: pd.DataFrame) -> str:
    both = paper.set_index("id")[["verdict"]].join(released.set_index("id")["verdict"].rename("other"), how="inner")
    judged = both[(both["verdict"] != NOT_RUN) & (both["other"] != NOT_RUN)]
    differ = int((judged["verdict"] != judged["other"]).sum())
    return (
        f"Paper and released code disagree in {len(SWITCHES)} points. Of {len(judged)} claims that were judged under "
        f"both, {differ} get a different verdict."
    )


def _switches(switches: pd.DataFrame) -> str:
    """Which disagreements of paper and code matter, each changed alone under the paper's protocol."""
    most = switches.sort_values("verdicts_changed", ascending=False, kind="stable").head(3)
    words = [
        f"{row['topic']} (row {row['row']}: {row['verdicts_changed']} of {row['verdicts_judged']})"
        for row in most.to_dict("records")
    ]
    both_run = switches["run"].isin(BOTH_RUN)
    without = int((both_run & (switches["verdicts_changed"] == 0)).sum())
    return (
        f"Of the {len(switches)} disagreements of paper and code, each changed alone under the paper's protocol, these "
        f"change most verdicts: {', '.join(words)}; {without} {'changes' if without == 1 else 'change'} none, and "
        f"{int((~both_run).sum())} could not be tested yet."
    )


def _agreement(points: pd.DataFrame) -> str:
    words = []
    for method, rows in points.groupby("method", sort=False):
        tested = rows[rows["p_value"].notna()]
        words.append(
            f"for {method} on {int(tested['inside'].sum())} of {counted(len(tested), 'dataset')}, with the same sign "
            f"on {int(rows['same_sign'].sum())}"
        )
    return (
        "Agreement with the published Figure 2, under the released code's protocol: the published difference to BASE "
        f"is inside the 95 % prediction interval of ours {', and '.join(words)}."
    )


def _followed(project: Path) -> str:
    """The disagreement whose setting the published numbers tell most clearly."""
    distances = distances_to_published(pd.read_csv(project / "replication/released/disagreements_by_dataset.csv"))
    if distances.empty:
        return ""
    most = distances.loc[(distances["beyond_two_after"] - distances["beyond_two_before"]).abs().idxmax()]
    return (
        f"The disagreement that counts most for agreement with published values is {SWITCHES[most['switch']].topic} "
        f"(row {most['row']}): of the {most['values']} values that it changes, {most['beyond_two_before']} are more "
        f"than two standard errors from the published ones as released, and {most['beyond_two_after']} as the paper "
        "has it."
    )
