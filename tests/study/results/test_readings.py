"""The same networks read under the other protocol and with one switch changed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qrt.engine.registry import METRICS
from qrt.methods import FIXED_BANDWIDTH
from qrt_study.plan.config import StudyConfig
from qrt_study.plan.experiments import plan_study
from qrt_study.plan.family import Family, network_columns
from qrt_study.plan.protocol import PROTOCOLS, switched
from qrt_study.plan.switches import SWITCHES
from qrt_study.results.readings import (
    OTHER,
    STUDY,
    NetworkRecords,
    on_datasets_of,
    read_methods,
    readings,
    readings_of,
    study_on_datasets_of,
)
from qrt_study.results.tables import METHODS, RUNS, TABLES, as_table
from qrt_study.results.tuning import tuned_methods
from qrt_study.verdicts import verdict_job
from qrt_study.verdicts.claim import paper_claims
from qrt_study.verdicts.evidence import Evidence, StudyStatistics
from qrt_study.verdicts.verdict import VERDICTS
from qrt_study.verdicts.verdict_job import (
    DIFFERENCES,
    KEY_NUMBERS,
    judge_readings,
    read_verdicts,
)
from support.configured import study_with

DATASETS = ("linear", "skewed", "bimodal")


def study_of(**config: Any) -> StudyConfig:
    base: dict[str, Any] = {
        "datasets": list(DATASETS),
        "base_models": ["MLP-3"],
        "methods": ["BASE", "QRC", "QRT", "QRTC"],
        "splits": [0, 1],
        "grids": {"alpha_study": [0, 1]},
    }
    return study_with(**base | config)


def rows_of(family: Family, dataset: str, split: int, generator: np.random.Generator) -> list[dict[str, Any]]:
    """What the training job of a family leaves: a row for each network and reading, with random metrics."""
    rows = []
    for network, maps in zip(family.networks, family.posthoc, strict=True):
        place: dict[str, Any] = {"dataset": dataset, "split": split, "seed": 0, "status": "ok", "reason": ""}
        place |= network_columns(family, network)
        widths = [family.conditions["kernel_width"]] if network.alpha else ["variance", "scale"]
        for on in ("base", "training_map") if network.alpha else ("base",):
            chosen: list[dict[str, Any]] = [{"posthoc_map": "none"}]
            for name, b, width in product(maps, {FIXED_BANDWIDTH, network.bandwidth or FIXED_BANDWIDTH}, widths):
                if name != "none" and network.trained_on == "train":
                    chosen.append({"posthoc_map": name, "posthoc_bandwidth": b, "kernel_width": width})
            for reading in chosen:
                values = {f"{part}_{name}": generator.uniform(0.1, 1) for part in ("val", "test") for name in METRICS}
                rows.append(place | reading | {"posthoc_on": on} | values)
    return rows


@cache
def runs_of(protocol: str = "paper") -> pd.DataFrame:
    study, generator = study_of(protocols=[protocol]), np.random.default_rng(0)
    families = plan_study(study).families.values()
    rows = [
        row
        for family, dataset, split in product(families, study.datasets, study.splits)
        for row in rows_of(family, dataset, split, generator)
    ]
    return as_table(rows, RUNS).to_pandas()


def methods_of(study: StudyConfig, runs: pd.DataFrame) -> pd.DataFrame:
    experiments = plan_study(study).experiments.values()
    return pd.concat([tuned_methods(runs, one, study.protocol) for one in experiments], ignore_index=True)


@cache
def read_of_the_study() -> dict[str, pd.DataFrame]:
    """The methods of every reading of the networks that the study has trained; not to be changed."""
    return read_methods(runs_of(), study_of(), methods_of(study_of(), runs_of()))


def names(methods: pd.DataFrame) -> set[str]:
    return set(methods.loc[methods["experiment"] == "main", "method"])


def test_readings_are_the_study_the_other_protocol_and_each_switch_changed() -> None:
    """Which switch a scenario changes to what: test_config.py."""
    study = study_of(protocols=["released"], grids={"alpha_study": [0, 1], "bandwidth_grid": [0.3]})
    found = readings(study)
    assert list(found) == [STUDY, OTHER, *SWITCHES]
    assert found[STUDY] == study.protocol
    assert found[OTHER] == replace(PROTOCOLS["paper"], bandwidth_grid=(0.3,)), "grids are those of every reading"
    assert found["sd"] == replace(study.protocol, sd=PROTOCOLS["paper"].sd)
    assert readings_of("released") == [STUDY, OTHER, study_on_datasets_of(OTHER)]
    assert readings_of("released.sd") == ["sd", study_on_datasets_of("sd")]


def test_switch_after_training_is_read_from_the_same_networks() -> None:
    study, runs, read = study_of(), runs_of(), read_of_the_study()
    for switch in ("posthoc_on", "posthoc_bandwidth", "pce"):
        expected = methods_of(replace(study, protocol=readings(study)[switch]), runs)
        pd.testing.assert_frame_equal(read[switch], expected)
    qrtc = read["posthoc_on"].query("method == 'QRTC'")
    assert set(qrtc["posthoc_on"]) == {"training_map"}
    for switch in ("sd", "cohens_d", "ablation_baseline", "time_per_epoch"):
        pd.testing.assert_frame_equal(read[switch], read[STUDY])


def test_rows_that_a_switch_leaves_as_they_are_have_the_same_fingerprint() -> None:
    """Also beside experiments without rows, such as ablations here, which have no types."""
    study, runs = study_of(methods=["BASE", "QRC", "QRT", "QRTC", "QRIC"]), runs_of()
    tuned = methods_of(study, runs)
    assert set(tuned["experiment"]) < {one.name for one in plan_study(study).experiments.values()}
    methods = as_table(tuned.astype(object).where(tuned.notna(), None).to_dict("records"), METHODS).to_pandas()
    assert pd.api.types.is_float_dtype(methods["test_nll"])
    read = read_methods(runs, study, methods)
    before, after = (
        StudyStatistics(Evidence(one, study.protocol, study.datasets, pd.DataFrame()))
        for one in (methods, read["posthoc_on"])
    )
    plain, qrtc = ("main", "QRC"), ("main", "QRTC")
    assert before.content(plain) == after.content(plain)
    assert before.content(qrtc) != after.content(qrtc)


def test_method_is_read_only_if_all_its_networks_were_trained() -> None:
    study, runs, read = study_of(), runs_of(), read_of_the_study()
    assert names(read["kernel_width"]) == {"BASE", "QRC"}
    assert set(read["kernel_width"].query("method == 'QRC'")["kernel_width"]) == {"scale"}
    # Without the study of bandwidths 0.02, 0.5 and 1 are missing from the released grid.
    only_main = runs[runs["family"].isin(["mlp-3.plain", "mlp-3.qrt.variance.same_pass"])]
    assert names(read_methods(only_main, study, methods_of(study, runs))["bandwidth_grid"]) == {"BASE", "QRC"}
    assert "QRTC" in names(read["bandwidth_grid"]), "the study of bandwidths has trained them"


def test_reading_of_some_datasets_is_compared_with_the_study_on_the_same() -> None:
    study, runs = study_of(), runs_of()
    methods = methods_of(study, runs)
    assert on_datasets_of(methods, methods) is None
    missing = (methods["method"] == "QRTC") & (methods["dataset"] == DATASETS[0])
    fewer = on_datasets_of(methods[~missing], methods)
    assert fewer is not None
    pd.testing.assert_frame_equal(fewer, methods[~missing].reset_index(drop=True))


def test_networks_of_a_study_under_the_other_protocol_are_used() -> None:
    paper, released = study_of(), study_of(protocols=["released"])
    runs = pd.concat([runs_of(), runs_of("released")], ignore_index=True).drop_duplicates(
        ["dataset", "split", "variant", "kernel_width", "posthoc_map", "posthoc_on", "posthoc_bandwidth"]
    )
    read = read_methods(runs, paper, methods_of(paper, runs))
    pd.testing.assert_frame_equal(read[OTHER], methods_of(released, runs))


@pytest.mark.parametrize("other", ["paper", "released"])
def test_records_are_those_of_the_networks_of_a_reading_alone(other: str) -> None:
    """Networks with centres from another pass, or another kernel, have the same variant: their epochs must not mix."""
    networks = pd.concat([runs_of(), runs_of("released")], ignore_index=True).drop_duplicates(
        ["dataset", "split", "variant", "kernel_width", "map_centres"]
    )
    epochs = networks["map_centres"].map({"same_pass": 3, "second_pass": 5}).fillna(2).astype(int)
    curves = networks.loc[networks.index.repeat(epochs)].assign(epoch=np.concatenate([range(n) for n in epochs]))
    methods = methods_of(study_of(protocols=[other]), runs_of(other))
    found = NetworkRecords(curves, list(curves)).of(methods)
    trained = found[found["alpha"] != 0]
    assert len(trained)
    assert set(trained["map_centres"]) == {PROTOCOLS[other].map_centres}
    assert set(trained["kernel_width"]) == {PROTOCOLS[other].kernel_width}
    assert (trained.groupby(["dataset", "split", "variant"]).size() == {"paper": 3, "released": 5}[other]).all()
    plain = found[found["alpha"] == 0]
    assert set(plain["variant"]) == {"mlp3_train_alpha0", "mlp3_train+calibration_alpha0"}
    assert (plain.groupby(["dataset", "split", "variant"]).size() == 2).all()


def test_claims_are_judged_under_every_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = paper_claims()[:20]
    monkeypatch.setattr(verdict_job, "paper_claims", lambda: claims)
    study = study_of()
    runs = runs_of()
    table = pd.DataFrame(
        {"dataset": DATASETS, "abbreviation": "", "group": "embedded", "top10": 0.1, "published_top10": np.nan}
    ).assign(duplicates=0.0, train_rows=100, features=4, status="not in the paper", published_duplicates=np.nan)
    empty = {kind: pd.DataFrame(columns=list(TABLES[kind][1])) for kind in ("curves", "predictions", "times", "maps")}
    evidence = Evidence(methods_of(study, runs), study.protocol, study.datasets, table, **empty)
    in_part = [OTHER, "kernel_width", "map_centres"]  # these ask for other networks on every dataset
    judged = judge_readings(study, runs, evidence, log=lambda line: None)
    verdicts, numbers = judged.verdicts, judged.numbers
    assert verdicts.groupby("reading").size().to_dict() == dict.fromkeys(
        [*readings(study), *map(study_on_datasets_of, in_part)], len(claims)
    )
    # Networks for another kernel width were not trained, so that it is read without QRTC, and the study beside it too.
    same_methods = [
        set(numbers[numbers["reading"] == reading]["method"])
        for reading in ("kernel_width", study_on_datasets_of("kernel_width"))
    ]
    assert same_methods[0] == same_methods[1]
    assert "QRTC" in set(numbers[numbers["reading"] == STUDY]["method"])
    assert set(verdicts["verdict"]) <= set(VERDICTS)
    assert list(numbers.columns) == list(KEY_NUMBERS)
    assert list(judged.differences.columns) == list(DIFFERENCES)
    medians = judged.differences.groupby(["reading", "method"])["difference"].median()
    of_nll = numbers[numbers["metric"] == "NLL"].set_index(["reading", "method"])["median_difference"]
    pd.testing.assert_series_equal(medians.sort_index(), of_nll.sort_index(), check_names=False)
    # Three datasets cannot show what 44 would have to show.
    significance = verdicts[(verdicts["rule"] == "significantly_better") & (verdicts["reading"] == STUDY)]
    assert set(significance["verdict"]) <= {"inconclusive", "not run"}
    paths = []
    for scenario in ("paper", *switched("paper")):  # as `judge` writes them
        paths.append(str(tmp_path / f"{scenario}.csv"))
        verdicts[verdicts["reading"].isin(readings_of(scenario))].to_csv(paths[-1], index=False)
    again, given = (table.sort_values(["reading", "id"]) for table in (read_verdicts(paths), verdicts))
    assert again["verdict"].tolist() == given["verdict"].tolist()
    np.testing.assert_allclose(again["estimate"].astype(float), given["estimate"].astype(float))
