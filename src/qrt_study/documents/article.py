"""The numbers of the article (article/article.typ), all from the results of both protocols: none is typed there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

import qrt
from qrt.atomic import whole_file
from qrt.text.words import listed, number, p_value, percent
from qrt_study.data.sheet import paper_datasets
from qrt_study.documents import article_tables
from qrt_study.documents.article_tables import Tables
from qrt_study.documents.findings import findings_blocks
from qrt_study.documents.front_page import (
    AGAINST,
    FOR,
    PUBLISHED_CPU_HOURS,
    claims_that_can_fail,
    in_abstract,
    lower_scores,
    verdict_counts,
)
from qrt_study.documents.written_block import rows_of_table
from qrt_study.pages.changed_differences import distances_to_published
from qrt_study.pages.value_table import with_noise
from qrt_study.plan.switches import SWITCHES
from qrt_study.results.archive import CPU_HOURS
from qrt_study.statistics.times import OURS, RELEASED, time_ratios
from qrt_study.verdicts.verdict import NOT_RUN

Folders = Mapping[str, Path]  # of the figures, tables and pages of each protocol
FINDINGS = ("agreement", "switches", "sd", "coverage")  # tables of docs/findings.md
MORE_ROWS = 15 / 65  # calibration rows for each training row (docs/protocol.md, section 1)
SEEDS_STEP, STOPPING_STEP = "6", "14"  # of replication/steps.yaml


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
    steps = yaml.safe_load((project / "replication/steps.yaml").read_text(encoding="utf-8"))
    rules = (project / "docs/verdict.md").read_text(encoding="utf-8")
    engine = (project / "docs/engine.md").read_text(encoding="utf-8")
    claims = {name: claims_that_can_fail(folder / "scorecard.csv") for name, folder in folders.items()}
    all_claims = pd.read_csv(folders["paper"] / "scorecard.csv", keep_default_na=False)
    gains, conditional, stopping = (
        {name: pd.read_csv(folder / f"{table}_summary.csv") for name, folder in folders.items()}
        for table in ("gains", "coverage", "stopping")
    )
    intervals = {name: pd.read_csv(folder / "coverage_intervals.csv") for name, folder in folders.items()}
    by_dataset = pd.read_csv(folders["released"] / "disagreements_by_dataset.csv")
    distances = distances_to_published(by_dataset)
    switches = pd.read_csv(folders["paper"] / "disagreements.csv")
    blocks = findings_blocks(project, folders, FINDINGS)
    return {
        "version": qrt.__version__,
        "more_rows": percent(MORE_ROWS),
        "networks": f"{manifest['networks']:,}",
        "datasets": str(len(manifest["datasets"])),
        "datasets_of_the_paper": str(len(paper_datasets())),
        "cpu_hours": number(sum(manifest[name] for name in CPU_HOURS)),
        "cpu_hours_of_the_authors": f"{PUBLISHED_CPU_HOURS:,}",
        "processors": listed(sorted(_plain(name) for name in manifest["processors"])),
        "switches": str(len(SWITCHES)),
        "claims": {
            "all": str(len(all_claims)),
            "can_fail": str(len(claims["paper"])),
            "checksum": all_claims["claims_checksum"].iloc[0],
        },
        "data": _data(folders["paper"], manifest["datasets"], steps["not_at_hand"]),
        "verdicts": {name: _verdicts(table) for name, table in claims.items()},
        "sides": _sides(claims),
        "agreement": _agreement(folders["released"]),
        "accuracy": {name: _accuracy(folder) for name, folder in folders.items()},
        "distances": _distances(distances),
        "calibrated": _calibrated(switches),
        "constant": _constant(by_dataset),
        "most_changing": " and ".join(row[1] for row in rows_of_table(blocks["switches"])[1:3]),
        "sd": _sharper(switches),
        "times": _times(folders["paper"]),
        "seeds": _seeds(folders, _most_rows(steps, SEEDS_STEP)),
        "simulated": _simulated(rules),
        "engine_error": _engine_error(engine),
        "covered": _covered(rows_of_table(blocks["coverage"])),
        "gains": {name: gain_words(table) for name, table in gains.items()},
        "conditional": {
            name: _conditional(intervals[name]) | {"differ": significant_words(table, CONDITIONAL)}
            for name, table in conditional.items()
        },
        "stopping": {
            "rows": f"{_most_rows(steps, STOPPING_STEP):,}",
            **{name: stopping_words(table) for name, table in stopping.items()},
        },
        "tables": {
            "abstract": article_tables.abstract(claims),
            "tally": article_tables.tally(claims),
            "missing": article_tables.missing(claims),
            "switches_defined": article_tables.switches_defined(),
            "characteristics": article_tables.characteristics(rules),
            "power": article_tables.power(rules),
            "distances": article_tables.distances(distances),
            "accuracy": article_tables.accuracy(folders),
            "gains": article_tables.pairs(gains, GAIN_SCORES, GAIN_METHODS),
            "conditional": article_tables.pairs(conditional, CONDITIONAL, GAIN_METHODS),
            "stopping": article_tables.stopping(stopping),
            **{name: rows_of_table(blocks[name]) for name in FINDINGS},
        },
    }


GAIN_METHODS = ("QRC", "QRTC")
GAIN_SCORES = ("NLL", "refined NLL", "NLL to calibrate", "CRPS", "refined CRPS")
CONDITIONAL = ("error by spread", "worst slab", "excess risk")


def share_words(part: float, whole: float) -> str:
    """How much of a gain a part of it is: both are differences, below zero where there is a gain."""
    if not whole < 0:
        return "nothing, since there is no gain,"
    share = part / whole
    if share >= 1:
        return "all"
    return "nearly all" if share >= 0.9 else "most" if share >= 0.5 else "a part" if share >= 0.1 else "hardly any"


def gain_words(summary: pd.DataFrame) -> dict[str, str]:
    """What becomes of QRTC's difference to BASE in NLL under the best map, and of its CRPS; empty without results."""
    of_qrtc = summary[(summary["left"] == "QRTC") & (summary["right"] == "BASE")].set_index("metric")
    if of_qrtc.empty:
        return {}
    of_qrc = summary[(summary["left"] == "QRC") & (summary["right"] == "BASE")].set_index("metric")
    median, crps = of_qrtc["median_difference"], of_qrtc.loc["refined CRPS"]
    return {
        "datasets": str(int(of_qrtc.loc["NLL", "datasets"])),
        "left": share_words(median["refined NLL"], median["NLL"]),
        "nll": number(median["NLL"], 2),
        "p": p_value(of_qrtc.loc["NLL", "p_holm"]),
        "refined": number(median["refined NLL"], 2),
        "crps": _lower(crps),
        "source": _source(median["refined NLL"], median["NLL"], crps),
        "qrc_to_calibrate": _lower(of_qrc.loc["NLL to calibrate"]),
        "qrc_refined": _lower(of_qrc.loc["refined NLL"]),
    }


def _lower(row: pd.Series) -> str:
    return f"{int(row['left_lower'])} of {int(row['datasets'])}"


def _source(refined: float, whole: float, crps: pd.Series) -> str:
    """Where a gain in NLL comes from, by the part that is left under the best map and by the refined CRPS."""
    if not whole < 0:
        return "no source, since there is no gain,"
    if refined / whole < 0.5:
        return "marginal calibration"
    return "a better network" if 2 * crps["left_lower"] > crps["datasets"] else "the shape of the density"


def stopping_words(summary: pd.DataFrame) -> dict[str, Any]:
    """How much of QRTC's lead over QRC in NLL is left over QRC-STOP; empty without results."""
    of_nll = summary[summary["metric"] == "NLL"].set_index(["left", "right"])
    pairs = {"lead": ("QRTC", "QRC"), "stopped": ("QRC-STOP", "QRC"), "left": ("QRTC", "QRC-STOP")}
    if not set(pairs.values()) <= set(of_nll.index):
        return {}
    rows = {name: of_nll.loc[pair] for name, pair in pairs.items()}
    return {
        "share": share_words(rows["left"]["median_difference"], rows["lead"]["median_difference"]),
        "significant": "significant" if rows["left"]["significant"] else "not significant",
        **{name: _pair(row) for name, row in rows.items()},
    }


def _pair(row: pd.Series) -> dict[str, str]:
    return {
        "lower": str(int(row["left_lower"])),
        "datasets": str(int(row["datasets"])),
        "median": number(row["median_difference"], 2),
        "p": p_value(row["p_holm"]),
    }


def significant_words(summary: pd.DataFrame, scores: Sequence[str]) -> str:
    """The significant differences to BASE in these scores, in words; empty if there is none."""
    chosen = summary[summary["metric"].isin(scores) & (summary["right"] == "BASE")]
    told = chosen[chosen["significant"].astype(bool)].to_dict("records")
    return listed(
        [
            f"the {'lower' if row['left_lower'] > row['right_lower'] else 'higher'} {_MEASURES[row['metric']]} of "
            f"{row['left']} "
            f"({p_value(row['p_holm'])})"
            for row in told
        ]
    )


_MEASURES = {one: one for one in CONDITIONAL} | {"worst slab": "shortfall in the worst slab"}


def _conditional(intervals: pd.DataFrame) -> dict[str, Any]:
    """Means over all datasets by method, and what a calibrated model shows there."""
    found = intervals[intervals["size"] == "all"].set_index("method")
    return {
        "datasets": str(int(found["datasets"].max())),
        "calibrated": {
            "spread": percent(found.loc["BASE", "coverage_gap_calibrated"]),
            "slab": percent(found.loc["BASE", "worst_slab_calibrated"], 3),
        },
        **{
            method: {"spread": percent(row["coverage_gap"]), "slab": percent(row["worst_slab"], 3)}
            for method, row in found.loc[["BASE", *GAIN_METHODS]].iterrows()
        },
    }


def _plain(processor: str) -> str:
    return " ".join(processor.replace("(R)", "").removesuffix("Processor").split())


def _verdicts(claims: pd.DataFrame) -> dict[str, str]:
    told = in_abstract(claims)
    held, judged = verdict_counts(told)
    confirmed, leaning = (int((told["verdict"] == word).sum()) for word in FOR)
    assert held == confirmed + leaning
    return {
        "confirmed": str(confirmed),
        "leaning": str(leaning),
        "judged": str(judged),
        "not_run": str(int((claims["verdict"] == NOT_RUN).sum())),
        "changed_after_run": str(int((claims["changed_after_run"].astype(str) == "True").sum())),
    }


def _sides(claims: Tables) -> dict[str, Any]:
    """The sentences of abstract and conclusion that are confirmed under both protocols, and those that divide them."""
    paper, released = (in_abstract(table).set_index("id") for table in claims.values())
    both = paper.join(released["verdict"].rename("other"), how="inner")
    part = (both["verdict"].isin(FOR) & both["other"].isin(AGAINST)) | (
        both["verdict"].isin(AGAINST) & both["other"].isin(FOR)
    )
    return {
        "confirmed": str(int(((both["verdict"] == "confirmed") & (both["other"] == "confirmed")).sum())),
        "opposed": both.loc[part, "sentence"].tolist(),
    }


def _data(folder: Path, trained: Sequence[str], not_at_hand: Sequence[str]) -> dict[str, str]:
    """The datasets of the article, those without a copy, and those that have one and are not trained yet."""
    table = pd.read_csv(folder / "table3_datasets.csv").set_index("dataset")
    status = table.loc[list(trained), "status"]
    waiting = [name for name in paper_datasets() if name not in trained and name not in not_at_hand]
    groups = (table["group"] == "uci").value_counts()
    return {
        "uci": str(groups[True]),
        "openml": str(groups[False]),
        "verified": str(int((status == "verified").sum())),
        "differing": listed(list(status.index[status == "differs"])),
        "not_at_hand_count": str(len(not_at_hand)),
        "not_at_hand": listed(list(not_at_hand)),
        "waiting_count": str(len(waiting)),
        "waiting": listed(waiting),
    }


def _most_rows(steps: Mapping[str, Any], step: str) -> int:
    """The most training rows of a dataset for which a step of the replication is planned."""
    return max(int(line["up_to"]) for line in steps["order"] if step in map(str, line["steps"]))


def _simulated(rules: str) -> dict[str, str]:
    """How much the operating characteristics of docs/verdict.md are from, and the claim that is hardest to confirm."""
    text = " ".join(rules.split())
    found = re.search(r"Rules by themselves on (\d+) datasets without any effect, (\d+) draws each", text)
    studies = re.search(r"(\d+) simulated studies each", text)
    assert found is not None, "docs/verdict.md says how many datasets and draws were simulated"
    assert studies is not None, "docs/verdict.md says how many studies were simulated"
    claim, share, *_ = min(article_tables.power(rules)[1:], key=lambda row: float(row[1].removesuffix(" %")))
    return {
        "datasets": found[1],
        "draws": found[2],
        "studies": studies[1],
        "hardest": claim,
        "least": share,
    }


def _engine_error(engine: str) -> str:
    """The largest error against reference values of the released code, from docs/engine.md."""
    section = engine.partition("## Correctness")[2].partition("\n## ")[0]
    errors = [float(one) for one in re.findall(r"\d[\d.]*e-\d+", section)]
    mantissa, exponent = f"{max(errors):.1e}".split("e")
    return f"{mantissa}\u00a0·\u00a010{str(int(exponent)).translate(_RAISED)}"


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _covered(table: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Coverage on the smallest datasets by protocol and method, and how QRTC's compares with QRC's."""
    head, *body = table
    found: dict[str, Any] = {"size": head[2].partition(" (")[0]}
    for protocol, method, smallest, *_ in body:
        found.setdefault(protocol, {})[method] = smallest
    for protocol in {row[0] for row in body}:
        ours, other = (float(found[protocol][name].removesuffix(" %")) for name in ("QRTC", "QRC"))
        found[protocol]["word"] = "more than" if ours > other else "less than" if ours < other else "as much as"
    return found


def _agreement(folder: Path) -> dict[str, dict[str, str]]:
    points = pd.read_csv(folder / "agreement.csv")
    return {
        str(method): {
            "inside": str(int(of_method["inside"].astype(bool).sum())),
            "tested": str(int(of_method["p_value"].notna().sum())),
            "same_sign": str(int(of_method["same_sign"].sum())),
            "below_half": percent((of_method["p_value"].dropna() < 0.5).mean()),
        }
        for method, of_method in points.groupby("method", sort=False)
    }


def _accuracy(folder: Path) -> dict[str, dict[str, Any]]:
    """On how many datasets a method has the lower NLL and CRPS than another, by the kind of the targets."""
    found: dict[str, dict[str, Any]] = {}
    for name, (method, baseline) in article_tables.COMPARED.items():
        lower = lower_scores(folder / "robustness.csv", method, baseline)
        for targets, of_kind in lower.groupby("targets"):
            counts = {score.lower(): str(int(of_kind[score].sum())) for score in ("NLL", "CRPS")}
            found.setdefault(str(targets), {})[name] = {"datasets": str(len(of_kind))} | counts
    return found


def _distances(found: pd.DataFrame) -> dict[str, dict[str, str]]:
    shown = found.set_index("switch")
    counts = shown[["values", "beyond_two_before", "beyond_two_after"]].astype(str)
    medians = shown[["median_before", "median_after"]].map(lambda value: number(value, 2))
    return {str(switch): row.to_dict() for switch, row in counts.join(medians).iterrows()}


def _sharper(switches: pd.DataFrame) -> dict[str, str]:
    """On how many datasets methods are sharper than BASE under the paper's protocol: one estimator of SD for all."""
    counts = switches.query("switch == 'sd' and metric == 'SD'").set_index("method")
    return {name: _on(counts.loc[name], "before") for name in ("QRC", "QREGC", "QRTC") if name in counts.index}


def _calibrated(switches: pd.DataFrame) -> dict[str, dict[str, str]]:
    """On how many datasets QRTC has a lower PCE than BASE under the paper's protocol and with one switch changed."""
    counts = switches.query("metric == 'PCE' and method == 'QRTC'").set_index("switch")
    return {
        name: {when: _on(counts.loc[name], when) for when in ("before", "after")}
        for name in ("posthoc_on", "posthoc_bandwidth")
    }


def _on(row: pd.Series, when: str) -> str:
    return f"{int(row[f'lower_on_{when}'])} of {int(row[f'datasets_{when}'])}"


def _constant(by_dataset: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Differences to BASE where a column is constant in training, under the code's protocol and with scale 1."""
    found = by_dataset[by_dataset["switch"] == "x_scale"].set_index(["dataset", "method"])
    places = {"house": ("house_prices_nominal", "QRTC"), "mercedes": ("Mercedes_Benz_Greener_Manufacturing", "QRC")}
    return {
        name: {
            when: with_noise(found.loc[place, when], found.loc[place, f"{when}_standard_error"])
            for when in ("before", "after", "published")
        }
        for name, place in places.items()
    }


def _times(folder: Path) -> dict[str, str]:
    times = pd.read_csv(folder / "table2_times.csv")
    ratios = {way: time_ratios(times, way) for way in (OURS, RELEASED)}
    return {
        "ours": number(ratios[OURS]["ratio"].median()),
        "released": number(ratios[RELEASED]["ratio"].median()),
        "published": number(ratios[OURS]["published_ratio"].median()),
        "datasets": str(int(ratios[OURS]["ratio"].notna().sum())),
    }


def _seeds(folders: Folders, most_rows: int) -> dict[str, str]:
    """The share of the random start in the variance of the difference of NLL between QRTC and BASE."""
    seeds = [pd.read_csv(folder / "seeds.csv") for folder in folders.values()]
    chosen = [one.query("metric == 'NLL' and method == 'QRTC' and baseline == 'BASE'") for one in seeds]
    rows = pd.read_csv(folders["paper"] / "table3_datasets.csv").set_index("dataset")["train_rows"]
    names = dict.fromkeys(name for one in chosen for name in one["dataset"])
    larger = [name for name in names if rows[name] > most_rows]
    return {
        "rows": f"{most_rows:,}",
        "datasets": str(len(names) - len(larger)),
        "larger": listed(larger),
        "shares": _joined(percent(one["seed_share"].median()) for one in chosen),
        "same": str(int(sum(one["same_as_all"].sum() for one in chosen))),
        "tested": str(int(sum(one["tested_seeds"].sum() for one in chosen))),
        "opposite": str(int(sum(one["opposite"].sum() for one in chosen))),
    }


def _joined(words: Iterable[str]) -> str:
    return " and ".join(words)
