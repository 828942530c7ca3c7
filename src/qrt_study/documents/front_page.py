"""The answer on the repository's front page, written from the published results."""

from __future__ import annotations

import json
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


def front_page(project: Path) -> str:
    """The block of README.md, from `replication/` and `paper_figures/`."""
    manifest = json.loads((project / "replication/results/manifest.json").read_text(encoding="utf-8"))
    paper = _claims(project / "paper_figures/scorecard.csv")
    released = _claims(project / "replication/released/scorecard.csv")
    agreement = pd.read_csv(project / "replication/released/agreement.csv")
    switches = pd.read_csv(project / "paper_figures/disagreements.csv").drop_duplicates("switch")
    parts = [
        _answer(paper, released),
        "",
        _what_was_done(project, manifest),
        "",
        *_abstract(paper, released),
        "",
        f"All {len(paper)} claims that can fail, under the paper's protocol: {_tally(paper)}; under that of the "
        f"released code: {_tally(released)}. {_difference(paper, released)}",
        "",
        _switches(switches),
        "",
        f"{_agreement(agreement)} {_followed(project)}".strip(),
        "",
        "[Scorecard](paper_figures/scorecard.md) · [what paper and code disagree on](paper_figures/disagreements.md) · "
        "[agreement with the published numbers](replication/released/agreement.md) · "
        "[released protocol](replication/released/scorecard.md) · [all figures](paper_figures)",
        "",
        "| the main comparison (paper's protocol) | ours and the published differences (released protocol) |",
        "|---|---|",
        "| ![Figure 3](paper_figures/fig03_main.png) | ![agreement](replication/released/agreement.png) |",
    ]
    return "\n".join(parts)


def _claims(path: Path) -> pd.DataFrame:
    claims = pd.read_csv(path, keep_default_na=False)
    return claims[claims["by_definition"].astype(str) != "True"]


def _answer(paper: pd.DataFrame, released: pd.DataFrame) -> str:
    """Whether the paper holds, by the sentences of its abstract and conclusion."""
    verdicts = [_of_abstract(claims).set_index("id")["verdict"] for claims in (paper, released)]
    judged = [found[found != NOT_RUN] for found in verdicts]
    (for_paper, of_paper), (for_released, of_released) = ((found.isin(FOR).sum(), len(found)) for found in judged)
    against = set.intersection(*(set(found[found.isin(AGAINST)].index) for found in judged))
    sentences = [claim["sentence"] for claim in _of_abstract(paper).to_dict("records") if claim["id"] in against]
    quoted = " ".join(f"*{escape_markdown(str(sentence))}*" for sentence in sentences)
    return (
        f"**Does the paper hold?** Of the {counted(of_paper, 'sentence')} of its abstract and conclusion that could be "
        f"judged under the paper's protocol, {for_paper} are confirmed or lean that way; under the released code's, "
        f"{for_released} of {of_released}. Contradicted, or leaning so, under both: {quoted or 'none.'}"
    )


def _of_abstract(claims: pd.DataFrame) -> pd.DataFrame:
    return claims[claims["abstract"].astype(str) == "True"]


def _what_was_done(project: Path, manifest: dict[str, Any]) -> str:
    steps = Steps(project)
    done = {name: finished(step) for name, step in steps.by_name.items()}
    cost = sum(manifest[name] for name in CPU_HOURS)
    return (
        f"**So far**: {manifest['networks']:,} networks on {counted(len(manifest['datasets']), 'dataset')} of the "
        f"paper's {len(paper_datasets())} ({steps.at_hand} are at hand), five splits each, in {_hours(cost)} of one "
        f"core; the authors' whole study took {PUBLISHED_CPU_HOURS:,} hours. The main comparison is there for "
        f"{done['1 released']} datasets under the released code's protocol and {done['2 paper']} under the "
        f"paper's, regularisation (QREGC) for {done['4 released']} and {done['3 paper']}; ablations for "
        f"{done['5 paper']}. [All that is done and left](replication/README.md#steps)."
    )


def _hours(hours: float) -> str:
    return f"{number(hours)} hours" if hours >= 2 else f"{60 * hours:.0f} minutes"


def _abstract(paper: pd.DataFrame, released: pd.DataFrame) -> list[str]:
    other = released.set_index("id")["verdict"]
    lines = ["| what the abstract and the conclusion say | paper's protocol | released code's |", "|---|---|---|"]
    for claim in _of_abstract(paper).to_dict("records"):
        theirs = str(other.get(claim["id"], NOT_RUN))
        lines.append(
            f"| {escape_markdown(str(claim['sentence']))} | {SIGNS[claim['verdict']]} {claim['verdict']} | "
            f"{SIGNS[theirs]} {theirs} |"
        )
    return lines


def _tally(claims: pd.DataFrame) -> str:
    counts = claims["verdict"].value_counts()
    return ", ".join(f"{counts[word]} {word}" for word in VERDICTS if word in counts)


def _difference(paper: pd.DataFrame, released: pd.DataFrame) -> str:
    both = paper.set_index("id")[["verdict"]].join(released.set_index("id")["verdict"].rename("other"), how="inner")
    judged = both[(both["verdict"] != NOT_RUN) & (both["other"] != NOT_RUN)]
    differ = int((judged["verdict"] != judged["other"]).sum())
    return f"Of {len(judged)} claims judged under both, {differ} have another verdict under the other."


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
        f"for the other {int((~both_run).sum())} results to tell are missing."
    )


def _agreement(points: pd.DataFrame) -> str:
    words = []
    for method, rows in points.groupby("method", sort=False):
        tested = rows[rows["p_value"].notna()]
        words.append(
            f"{method}: the published difference to BASE is inside the 95 % prediction interval of ours on "
            f"{int(tested['inside'].sum())} of {counted(len(tested), 'dataset')}, with the same sign on "
            f"{int(rows['same_sign'].sum())}"
        )
    return f"Agreement with the published Figure 2 (released protocol): {'; '.join(words)}."


def _followed(project: Path) -> str:
    """The disagreement whose setting the published numbers tell most clearly."""
    distances = distances_to_published(pd.read_csv(project / "replication/released/disagreements_by_dataset.csv"))
    if distances.empty:
        return ""
    most = distances.loc[(distances["after"] - distances["before"]).abs().idxmax()]
    return (
        f"Of all disagreements, {SWITCHES[most['switch']].topic} (row {most['row']}) moves our values most against the "
        f"published ones: they are {number(most['before'], 2)} standard errors apart (root mean square) as released, "
        f"{number(most['after'], 2)} as the paper has it."
    )
