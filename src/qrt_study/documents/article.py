"""The numbers of the article (article/article.typ), all from the results of both protocols: none is typed there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from qrt.atomic import whole_file
from qrt.text.words import number, percent
from qrt_study.data.sheet import paper_datasets
from qrt_study.documents.findings import findings_blocks
from qrt_study.documents.front_page import (
    PUBLISHED_CPU_HOURS,
    claims_that_can_fail,
    in_abstract,
    lower_scores,
    verdict_counts,
)
from qrt_study.documents.written_block import rows_of_table
from qrt_study.pages.changed_differences import distances_to_published
from qrt_study.plan.switches import SWITCHES
from qrt_study.results.archive import CPU_HOURS
from qrt_study.statistics.times import OURS, RELEASED, time_ratios
from qrt_study.verdicts.verdict import NOT_RUN, VERDICTS

Folders = Mapping[str, Path]  # of the figures, tables and pages of each protocol


def compile_article(source: Path, *, project: Path, paper: Path, released: Path, out: Path) -> None:
    """Compile `source` with the numbers of the published results and the tables and figures of both protocols."""
    import typst

    folders = {"paper": paper.absolute(), "released": released.absolute()}
    given = {"numbers": json.dumps(article_numbers(project.absolute(), folders))} | {
        name: str(folder) for name, folder in folders.items()
    }
    # The fonts of the compiler and a fixed date, so that the same results give the same bytes everywhere.
    compiler = typst.Compiler(source.absolute(), root="/", ignore_system_fonts=True, sys_inputs=given)
    with whole_file(out) as partial:
        compiler.compile(output=partial, format="pdf")


def article_numbers(project: Path, folders: Folders) -> dict[str, Any]:
    """Every number of the article, written as it is printed, and its tables as rows of cells."""
    manifest = json.loads((project / "replication/results/manifest.json").read_text(encoding="utf-8"))
    scorecards = {
        name: pd.read_csv(folder / "scorecard.csv", keep_default_na=False) for name, folder in folders.items()
    }
    claims = {name: claims_that_can_fail(folder / "scorecard.csv") for name, folder in folders.items()}
    blocks = findings_blocks(project, folders)
    return {
        "networks": f"{manifest['networks']:,}",
        "datasets": str(len(manifest["datasets"])),
        "datasets_of_the_paper": str(len(paper_datasets())),
        "cpu_hours": number(sum(manifest[name] for name in CPU_HOURS)),
        "cpu_hours_of_the_authors": f"{PUBLISHED_CPU_HOURS:,}",
        "processors": " and ".join(sorted(manifest["processors"])),
        "switches": str(len(SWITCHES)),
        "claims": {"all": str(len(scorecards["paper"])), "can_fail": str(len(claims["paper"]))},
        "data": _data(folders["paper"]),
        "verdicts": {name: _verdicts(table) for name, table in claims.items()},
        "agreement": _agreement(folders["released"]),
        "accuracy": {name: _accuracy(folder) for name, folder in folders.items()},
        "distances": _distances(folders["released"]),
        "times": _times(folders["paper"]),
        "seeds": _seeds(folders),
        "tables": {
            "abstract": _abstract(claims),
            "tally": _tally(claims),
            "switches_defined": [
                [str(one.row), one.topic, one.paper.words, one.released.words] for one in SWITCHES.values()
            ],
            "characteristics": _characteristics(project),
            **{name: rows_of_table(block) for name, block in blocks.items()},
        },
    }


def _verdicts(claims: pd.DataFrame) -> dict[str, str]:
    held, judged = verdict_counts(in_abstract(claims))
    return {
        "held": str(held),
        "judged": str(judged),
        "not_run": str(int((claims["verdict"] == NOT_RUN).sum())),
        "changed_after_run": str(int((claims["changed_after_run"].astype(str) == "True").sum())),
    }


def _abstract(claims: Mapping[str, pd.DataFrame]) -> list[list[str]]:
    verdicts = [table.set_index("id")["verdict"] for table in claims.values()]
    shown = in_abstract(claims["paper"])[["id", "sentence"]].itertuples(index=False)
    return [[sentence, *(str(one[claim]) for one in verdicts)] for claim, sentence in shown]


def _tally(claims: Mapping[str, pd.DataFrame]) -> list[list[str]]:
    counts = [table["verdict"].value_counts() for table in claims.values()]
    return [[verdict, *(str(one.get(verdict, 0)) for one in counts)] for verdict in VERDICTS]


def _characteristics(project: Path) -> list[list[str]]:
    """How often rules err on simulated data without any effect, as docs/verdict.md has it."""
    text = (project / "docs/verdict.md").read_text(encoding="utf-8")
    return rows_of_table(text.partition("Rules by themselves")[2].partition("\n## ")[0])


def _data(folder: Path) -> dict[str, str]:
    table = pd.read_csv(folder / "table3_datasets.csv")
    missing = table[table["status"] == "unavailable"]["dataset"]
    differing = table[table["status"] == "differs"]["dataset"]
    return {
        "verified": str(int((table["status"] == "verified").sum())),
        "differing": ", ".join(differing),
        "missing_count": str(len(missing)),
        "missing": ", ".join(missing),
    }


def _agreement(folder: Path) -> dict[str, dict[str, str]]:
    points = pd.read_csv(folder / "agreement.csv")
    return {
        str(method): {
            "inside": str(int(of_method["inside"].astype(bool).sum())),
            "tested": str(int(of_method["p_value"].notna().sum())),
            "same_sign": str(int(of_method["same_sign"].sum())),
        }
        for method, of_method in points.groupby("method", sort=False)
    }


def _accuracy(folder: Path) -> dict[str, dict[str, str]]:
    """On how many datasets QRTC has the lower NLL and the lower CRPS, by the kind of the targets."""
    lower = lower_scores(folder / "robustness.csv")
    return {
        str(targets): {
            "datasets": str(len(of_kind)),
            "nll": str(int(of_kind["NLL"].sum())),
            "crps": str(int(of_kind["CRPS"].sum())),
        }
        for targets, of_kind in lower.groupby("targets")
    }


def _distances(folder: Path) -> dict[str, dict[str, str]]:
    found = distances_to_published(pd.read_csv(folder / "disagreements_by_dataset.csv")).set_index("switch")
    counts = found[["values", "beyond_two_before", "beyond_two_after"]].astype(str)
    return {str(switch): row.to_dict() for switch, row in counts.iterrows()}


def _times(folder: Path) -> dict[str, str]:
    times = pd.read_csv(folder / "table2_times.csv")
    ratios = {way: time_ratios(times, way) for way in (OURS, RELEASED)}
    return {
        "ours": number(ratios[OURS]["ratio"].median()),
        "released": number(ratios[RELEASED]["ratio"].median()),
        "published": number(ratios[OURS]["published_ratio"].median()),
    }


def _seeds(folders: Folders) -> dict[str, str]:
    """The share of the random start in the variance of the difference of NLL between QRTC and BASE."""
    seeds = [pd.read_csv(folder / "seeds.csv") for folder in folders.values()]
    chosen = [one.query("metric == 'NLL' and method == 'QRTC' and baseline == 'BASE'") for one in seeds]
    return {
        "datasets": str(len(chosen[0])),
        "shares": _joined(percent(one["seed_share"].median()) for one in chosen),
        "same": str(int(sum(one["same_as_all"].sum() for one in chosen))),
        "tested": str(int(sum(one["tested_seeds"].sum() for one in chosen))),
        "opposite": str(int(sum(one["opposite"].sum() for one in chosen))),
    }


def _joined(words: Iterable[str]) -> str:
    return " and ".join(words)
