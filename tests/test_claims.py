from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conftest import SHARED
from qrt import published
from qrt.claims.claim import Claim, paper_claims, parse_claims
from qrt.claims.evidence import PAPER_SETS, Evidence, Workings
from qrt.claims.judge import COLUMNS
from qrt.claims.judge import judge as judge_with
from qrt.claims.measures import MEASURES
from qrt.claims.rules import RULES, conditions
from qrt.data.sheet import paper_datasets
from qrt.errors import UserError
from qrt.statistics.figure_statistics import FigureStatistics
from qrt.study.protocol import PROTOCOLS, Protocol
from support.mock_results import mock_main_study, paper_names
from support.per_epoch_tables import PLAIN, TRAINED, curve_rows, method_row

PAPER, RELEASED = PROTOCOLS["paper"], PROTOCOLS["released"]


def dataset_table(names: Sequence[str]) -> pd.DataFrame:
    """Table 3 with the published values; datasets that are not the paper's are not discrete."""
    sheet = paper_datasets()
    rows = []
    for name in names:
        known = sheet.get(name)
        rows.append(
            {
                "dataset": name,
                "group": known.group if known else "own",
                "train_rows": known.published.train_rows if known else 100,
                "top10": known.published.top10 if known else 0.1,
                "published_top10": known.published.top10 if known else None,
                "duplicates": known.published.duplicates if known else 0.1,
                "status": "verified" if known else "not in the paper",
                "reason": "",
            }
        )
    columns = ["dataset", "group", "train_rows", "top10", "published_top10", "duplicates", "status", "reason"]
    return pd.DataFrame(rows, columns=columns)


def evidence(names: Sequence[str], effects: Any = None, **tables: Any) -> Evidence:
    methods = tables.pop("methods", None)
    if methods is None:
        methods = mock_main_study(names, effects)
    return Evidence(methods, PAPER, tuple(names), dataset_table(names), **tables)


def judge(some: Sequence[Claim], study: Evidence) -> pd.DataFrame:
    return judge_with(some, Workings(study))


def claims(*ids: str) -> list[Claim]:
    return [claim for claim in paper_claims() if claim.id in ids]


def verdicts(judged: pd.DataFrame) -> dict[str, str]:
    return dict(zip(judged["id"], judged["verdict"], strict=True))


@pytest.fixture(scope="module")
def whole_study() -> Evidence:
    return evidence(paper_names())


@pytest.fixture(scope="module")
def judged(whole_study: Evidence) -> pd.DataFrame:
    return judge(paper_claims(), whole_study)


def leaves(claim: Claim) -> list[dict[str, Any]]:
    """The single conditions of a claim, with their rules."""

    def below(settings: dict[str, Any]) -> list[dict[str, Any]]:
        if "conditions" not in settings:
            return [settings]
        return [leaf for condition in conditions(settings) for leaf in below(condition)]

    return below({"rule": claim.rule} | claim.settings)


def test_claims_are_those_of_the_shared_list() -> None:
    source = SHARED / "paper" / "claims.csv"
    if not source.is_file():
        pytest.skip("needs the shared list of claims in ../shared/paper, which is not beside this clone")
    with source.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    same = ("id", "section", "claim", "kind", "metric", "relation", "published_value")
    ours = [tuple(getattr(claim, name) for name in same) for claim in paper_claims()]
    assert ours == [tuple(row[name] for name in same) for row in rows]


def test_ids_are_unique_and_in_order() -> None:
    ids = [claim.id for claim in paper_claims()]
    assert ids == [f"C{number:02d}" for number in range(1, 232)]


def test_every_rule_and_measure_is_used_by_a_claim() -> None:
    used = [leaf for claim in paper_claims() for leaf in leaves(claim)]
    joining = {condition["rule"] for claim in paper_claims() for condition in claim.parameters.get("conditions", ())}
    assert {leaf["rule"] for leaf in used} | {claim.rule for claim in paper_claims()} | joining == set(RULES)
    assert {leaf.get("measure", "difference") for leaf in used} == set(MEASURES)


def test_datasets_of_claims_are_the_papers() -> None:
    named = [leaf["dataset"] for claim in paper_claims() for leaf in leaves(claim) if "dataset" in leaf]
    assert named
    assert set(named) <= set(paper_datasets())
    sizes = {name: len(names) for name, names in PAPER_SETS.items()}
    thirds = dict.fromkeys(("smallest_third", "middle_third", "largest_third"), 19)
    assert sizes == {"all": 57, "non_discrete": 44, "discrete": 13} | thirds


def test_every_method_of_a_claim_is_known_where_all_was_run(judged: pd.DataFrame) -> None:
    """What is not run here needs tables that are not given, or can never be decided."""
    missing = judged.loc[judged["verdict"] == "not run", "explanation"]
    assert missing.str.contains("this study has no|no result of this study can decide").all()


HEADER = ",".join(("id", "section", "figure", "claim", "kind", "metric", "left", "relation", "right", "base_model")) + (
    ",dataset_set,rule,parameters,published_value,undecidable_reason"
)


@pytest.mark.parametrize(
    ("figure", "rule", "parameters", "message"),
    [
        ("fig03_main", "eval", "{}", "unknown rule 'eval'"),
        ("fig99_none", "undecidable", "{}", "a reason belongs|unknown figure 'fig99_none'"),
        ("fig03_main", "significantly_better", '{"alpha": 1}', "does not know the parameter 'alpha'"),
        ("fig03_main", "median_effect", "{}", "needs the parameter 'median'"),
        ("fig03_main", "median_effect", '{"median": "negative"}', "range 'negative'"),
        ("fig03_main", "median_effect", '{"median": "[0, 1]", "measure": "mean"}', "unknown measure 'mean'"),
        ("table3_datasets", "significantly_better", "{}", "'table3_datasets' is not a comparison"),
        ("fig03_main", "all_of", '{"conditions": []}', "needs the parameter `conditions`"),
        ("fig03_main", "significantly_better", "{not json", "claim X1"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused_by_name(
    figure: str, rule: str, parameters: str, message: str
) -> None:
    quoted = parameters.replace('"', '""')
    line = f'X1,1,{figure},text,main,NLL,QRTC,better,BASE,MLP-3,non_discrete,{rule},"{quoted}",,'
    with pytest.raises(UserError, match=message) as error:
        parse_claims([HEADER, line])
    assert "claim X1" in str(error.value)


def test_the_scorecard_has_a_verdict_and_a_reason_for_every_claim(judged: pd.DataFrame) -> None:
    assert list(judged.columns) == list(COLUMNS)
    assert judged["id"].tolist() == [claim.id for claim in paper_claims()]
    assert set(judged["verdict"]) <= {"confirmed", "contradicted", "inconclusive", "not run"}
    assert (judged["explanation"].str.len() > 10).all()
    decided = judged[judged["verdict"].isin(["confirmed", "contradicted"])]
    assert decided["estimate"].notna().all()
    assert len(decided) > 150


def test_results_like_the_papers_confirm_what_the_paper_says(judged: pd.DataFrame) -> None:
    """The mock results have QRTC ahead of QRC, QREGC and BASE in all metrics by a known effect."""
    found = verdicts(judged)
    better = ("C01", "C03", "C07", "C08", "C10", "C51", "C52", "C53", "C54", "C55", "C65", "C147", "C188", "C206")
    assert {name: found[name] for name in better} == dict.fromkeys(better, "confirmed")
    level = ("C04", "C09", "C59", "C62", "C68", "C89", "C99", "C149", "C207")  # not level at all here
    assert {name: found[name] for name in level} == dict.fromkeys(level, "contradicted")


def test_methods_without_any_difference_are_level_and_nobody_is_ahead() -> None:
    names = paper_names()
    one = mock_main_study(names).query("experiment == 'main' and method == 'QRTC'")
    alike = [one.assign(method=name) for name in ("BASE", "QRC", "QRTC")]
    methods = pd.concat([*alike, one.assign(experiment="regularised", method="QREGC")], ignore_index=True)
    level, ahead = ("C04", "C09", "C59", "C62", "C68", "C191"), ("C01", "C07", "C10", "C51", "C65", "C147", "C188")
    found = verdicts(judge(claims(*level, *ahead), evidence(names, methods=methods)))
    assert found == dict.fromkeys(level, "confirmed") | dict.fromkeys(ahead, "contradicted")


def test_results_against_the_paper_contradict_it() -> None:
    names = paper_names()
    ids = ("C01", "C02", "C03", "C07", "C10", "C51", "C53", "C65", "C147", "C188")
    worse = {("main", "QRTC"): 3.0}
    found = verdicts(judge(claims(*ids), evidence(names, worse)))
    assert found == dict.fromkeys(ids, "contradicted")


@pytest.mark.parametrize("effect", [-5.0, 0.0, 5.0])
def test_six_datasets_decide_nothing_about_the_papers_44(effect: float) -> None:
    names = paper_names(7)  # Crime is discrete: six are not
    of_all = [claim for claim in paper_claims() if claim.dataset_set != "single"]
    offset = int(effect + 5)  # other claims for each effect
    found = judge(of_all[offset::6], evidence(names, {("main", "QRTC"): effect}))
    # One dataset is enough to say "on some", and for counts that are not about results.
    open_to_all = found[~found["id"].isin(["C203", "C204", "C43"])]
    assert set(open_to_all["verdict"]) == {"inconclusive", "not run"}
    assert (open_to_all["verdict"] == "inconclusive").sum() > 15


def test_verdicts_do_not_depend_on_the_order_of_rows_and_datasets(whole_study: Evidence, judged: pd.DataFrame) -> None:
    shuffled = replace(
        whole_study,
        methods=whole_study.methods.sample(frac=1, random_state=1),
        datasets=whole_study.datasets[::-1],
        dataset_table=whole_study.dataset_table.sample(frac=1, random_state=2),
    )
    some = claims("C01", "C03", "C33", "C35", "C41", "C47", "C49", "C51", "C74", "C125", "C135", "C182", "C203", "C226")
    expected = judged[judged["id"].isin([claim.id for claim in some])].reset_index(drop=True)
    pd.testing.assert_frame_equal(judge(some, shuffled), expected, check_exact=True)


def test_what_was_not_run_is_said() -> None:
    names = paper_names()
    methods = mock_main_study(names).query("experiment == 'main'")
    found = judge(
        claims("C53", "C55", "C211", "C35", "C16", "C36", "C137", "C230", "C13"), evidence(names, methods=methods)
    )
    reason = dict(zip(found["id"], found["explanation"], strict=True))
    assert verdicts(found) == {
        "C13": "not run",
        "C16": "not run",
        "C35": "not run",
        "C36": "not run",
        "C53": "confirmed",
        "C55": "not run",
        "C137": "not run",
        "C211": "not run",
        "C230": "not run",
    }
    assert "compared without QREGC, not run" in reason["C53"]
    assert reason["C55"] == "QREGC was not run"
    assert "alpha=1 was not run" in reason["C35"]
    assert "has no curves" in reason["C16"]
    assert "can decide it" in reason["C13"]


def test_a_dataset_that_is_not_there_was_not_run() -> None:
    few = evidence(["Yacht"])
    away = replace(
        evidence(["Yacht", "yprop_4_1"]),
        dataset_table=dataset_table(["Yacht", "yprop_4_1"]).assign(status="unavailable", reason="server gone"),
    )
    assert judge(claims("C226"), few)["explanation"].item() == "yprop_4_1 is not in this study"
    assert "server gone" in judge(claims("C226"), away)["explanation"].item()


def test_datasets_that_are_not_the_papers_are_pointed_out() -> None:
    found = judge(claims("C51"), evidence(["bimodal", "skewed"]))
    assert found["verdict"].item() == "inconclusive"
    assert "2 datasets of this study not in the paper" in found["explanation"].item()


@pytest.mark.parametrize(
    ("worse", "protocol", "expected"),
    [
        (("main", "BASE"), PAPER, "confirmed"),
        (("base_train", "BASE-TRAIN"), PAPER, "contradicted"),
        (("main", "BASE"), RELEASED, "contradicted"),
        (("base_train", "BASE-TRAIN"), RELEASED, "confirmed"),
    ],
)
def test_base_is_the_baseline_of_the_figure_under_the_protocol(
    worse: tuple[str, str], protocol: Protocol, expected: str
) -> None:
    """Ablated versions are sharper than BASE (C220): here they are so only against the worse of the two."""
    effects = {("main", "BASE"): -3.0, ("base_train", "BASE-TRAIN"): -3.0, worse: 3.0}
    study = replace(evidence(paper_names(), effects), protocol=protocol)
    assert verdicts(judge(claims("C220"), study)) == {"C220": expected}


# Measures from curves, times and densities


def with_curves(tables: dict[str, pd.DataFrame], names: Sequence[str]) -> Workings:
    """Workings whose per-epoch statistics are these."""
    workings = Workings(Evidence(pd.DataFrame(), PAPER, tuple(names), dataset_table(names)))
    vars(workings)["curves"] = FigureStatistics(tables)
    return workings


@pytest.fixture(scope="module")
def published_curves() -> Workings:
    """The published Figure 1 as statistics."""
    curves = published.figure1_curves().rename(columns={"value": "mean"})
    curves = curves.assign(part="validation", all_alive=curves["runs"] == "all", runs=5)
    marks = published.figure1_marks().assign(part="validation", runs=5, standard_error=math.nan)
    return with_curves({"curves": curves, "selected": marks}, ("Yacht", "nyc-taxi-green-dec-2016"))


def value_of(workings: Workings, measure: str, dataset: str, **settings: Any) -> float:
    found = MEASURES[measure](workings, **settings)
    return float(found.table.set_index("dataset")["value"][dataset])


@pytest.mark.parametrize(
    ("dataset", "share", "deviation", "differences"),
    [
        ("Yacht", 0.96, 0.0199 - 0.0086, (-2.528 + 1.795, -0.042 + 1.795, -2.873 + 2.025)),
        ("nyc-taxi-green-dec-2016", 0.92, 0.0041 - 0.0032, (-1.049 + 0.876, -0.168 + 0.877, -1.246 + 0.918)),
    ],
)
def test_measures_of_the_published_curves_are_the_published_numbers(
    published_curves: Workings, dataset: str, share: float, deviation: float, differences: tuple[float, ...]
) -> None:
    """`differences` of NLL: QRT to BASE, the same before the map, QRTC to QRC."""
    nll, before, stars = differences
    common: dict[str, Any] = {"datasets": "all", "part": "validation"}
    both = common | {"left": "QRT", "right": "BASE"}
    assert value_of(published_curves, "epoch_share", dataset, metric="PCE", **both) == pytest.approx(share, abs=0.005)
    turned = common | {"left": "BASE", "right": "QRT"}
    assert value_of(published_curves, "epoch_deviation", dataset, metric="PCE", **turned) == pytest.approx(
        deviation, abs=1e-4
    )
    selection = "difference_at_selection"
    assert value_of(published_curves, selection, dataset, metric="NLL", **both) == pytest.approx(nll, abs=2e-3)
    assert value_of(published_curves, selection, dataset, metric="NLL", curve="nll_base", **both) == pytest.approx(
        before, abs=2e-3
    )
    posthoc = common | {"left": "QRTC", "right": "QRC"}
    assert value_of(published_curves, selection, dataset, metric="NLL", **posthoc) == pytest.approx(stars, abs=2e-3)


def per_epoch_study(change: Callable[[str], Sequence[float]], names: Sequence[str], splits: int = 5) -> Evidence:
    """Curves of BASE and QRT, and rows of the methods; `change` gives the NLL of a method per validation."""
    curves, rows = [], []
    for name in names:
        for split in range(splits):
            for variant, width, methods in ((PLAIN, None, ("BASE-TRAIN", "QRC")), (TRAINED, "variance", ("QRTC",))):
                values = np.asarray(change("BASE" if variant == PLAIN else "QRT")) + 0.01 * split
                curves.append(curve_rows(name, split, variant, values, selected_epoch=4, kernel_width=width))
                scores = {
                    "val_nll": values[1] + 1,
                    "train_nll": values[1],
                    "val_pce_levels": 0.1,
                    "train_pce_levels": 0.1,
                }
                rows += [method_row(method, name, split, **scores) for method in methods]
    methods = pd.DataFrame(rows)
    return evidence(names, methods=methods, curves=pd.concat(curves, ignore_index=True))


PER_EPOCH = ("C16", "C18", "C20", "C21", "C166", "C168", "C173", "C179", "C180")


def test_per_epoch_claims_hold_where_qrt_is_lower() -> None:
    falling, rising = [1.0, 0.5, 0.6, 0.7], [2.0, 1.5, 1.6, 1.7]
    study = per_epoch_study(lambda method: falling if method == "QRT" else rising, paper_names())
    found = verdicts(judge(claims(*PER_EPOCH), study))
    assert found == dict.fromkeys(PER_EPOCH, "confirmed") | {"C180": "contradicted"}


def test_per_epoch_claims_are_not_run_where_qrt_was_not() -> None:
    study = per_epoch_study(lambda method: [1.0, 0.5, 0.6, 0.7], paper_names(6))
    without = replace(study, methods=study.methods[study.methods["method"] != "QRTC"])
    assert set(verdicts(judge(claims(*PER_EPOCH), without)).values()) == {"not run"}


def test_per_epoch_claims_fail_where_qrt_is_higher() -> None:
    high, low = [2.0, 1.5, 1.4, 1.3], [1.0, 0.5, 0.4, 0.3]
    study = per_epoch_study(lambda method: high if method == "QRT" else low, paper_names())
    found = verdicts(judge(claims(*PER_EPOCH), study))
    assert found == dict.fromkeys(PER_EPOCH, "contradicted") | {"C18": "confirmed", "C180": "confirmed"}


def test_slope_and_change_after_selection_are_those_by_hand() -> None:
    study = per_epoch_study(lambda method: [9.0, 1.0, 1.5, 3.0], ["Yacht"])
    workings = Workings(study)
    settings: dict[str, Any] = {"metric": "NLL", "left": "QRT", "datasets": "all", "part": "validation"}
    assert value_of(workings, "change_after_selection", "Yacht", **settings) == pytest.approx(2.0)
    assert value_of(workings, "slope_after_selection", "Yacht", **settings) == pytest.approx(0.5)  # epochs 4, 6, 8


def published_times() -> pd.DataFrame:
    """The published times and selected epochs as five runs."""
    table = published.table2()
    parts = [
        pd.DataFrame(
            {
                "dataset": table["dataset"],
                "method": method,
                "split": split,
                "status": "ok",
                "train_seconds": table[f"training_time_{method}"],
                "epochs": table[f"epochs_{method}"] + 30,
                "selected_epoch": table[f"epochs_{method}"],
            }
        )
        for method in ("BASE", "QREGC", "QRTC")
        for split in range(5)
    ]
    return pd.concat(parts, ignore_index=True)


def test_published_times_give_the_published_ratios() -> None:
    names = paper_names()
    study = Evidence(mock_main_study(names[:1]), RELEASED, names, dataset_table(names), times=published_times())
    (found,) = judge(claims("C38"), study).to_dict("records")
    assert (found["datasets_for"], found["datasets"], found["verdict"]) == (7, 57, "confirmed")
    ratios = MEASURES["time_ratio"](Workings(study), datasets="all").table["value"]
    assert [ratios.median(), ratios.min(), ratios.max()] == pytest.approx([1.33, 0.63, 2.84], abs=0.005)


def test_time_per_minibatch_counts_the_minibatches_of_an_epoch() -> None:
    names = ["CPU", "Airfoil"]  # 135 + 31 rows are one minibatch; 976 rows are one, 976 + 225 are two
    times = published_times().assign(train_seconds=1.0, epochs=1)
    study = Evidence(mock_main_study(names[:1]), PAPER, names, dataset_table(names), times=times)
    ratios = MEASURES["minibatch_time_ratio"](Workings(study), datasets="all").table.set_index("dataset")["value"]
    assert ratios.to_dict() == {"CPU": 1.0, "Airfoil": 2.0}


def test_density_claims_see_peaks_at_integers() -> None:
    names = ["abalone"]
    methods = mock_main_study(names).query("experiment == 'main'")
    grid = np.linspace(0, 12, 241)
    smooth = np.exp(-((grid - 6.3) ** 2) / 8)
    spiky = smooth * (1 + 5 * np.exp(-(((grid - np.round(grid)) / 0.1) ** 2)))
    densities = {"BASE": smooth, "QRC": smooth, "QRTC": spiky}
    reading = ["variant", "kernel_width", "posthoc_map", "posthoc_on", "posthoc_bandwidth"]
    tuned = methods[methods["split"] == 0].set_index("method")
    predictions = pd.concat(
        [
            pd.DataFrame({"y": grid, "density": density}).assign(
                dataset="abalone", split=0, row=row, target=6.0, nll=1.0, **tuned.loc[method, reading].to_dict()
            )
            for method, density in densities.items()
            for row in range(5)
        ],
        ignore_index=True,
    )
    workings = Workings(evidence(names, methods=methods, predictions=predictions))
    settings = {"left": "QRTC", "right": "QRC", "dataset": "abalone"}
    peaks, height = (
        MEASURES[name](workings, **settings).table["value"].item() for name in ("integer_peaks", "peak_density")
    )
    assert peaks > 5
    assert height == pytest.approx(spiky.max() - smooth.max())
    assert judge(claims("C230"), workings.evidence)["verdict"].item() != "not run"
