"""Tuning on hand-made tables (docs/protocol.md, section 5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qrt.engine.variant import Variant
from qrt.methods import Method
from qrt_study.plan.experiments import Experiment
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.results.tables import METHODS, RUNS, write_rows
from qrt_study.results.tuning import left_out, tuned_methods

PLAIN = Variant()


def with_map(bandwidth: float, alpha: float = 1.0) -> Variant:
    return Variant(alpha=alpha, bandwidth=bandwidth)


def run(network: Variant, split: int = 0, **changes: Any) -> dict[str, Any]:
    """A row of `runs`: REFL on the base model with the network's own bandwidth, unless told otherwise."""
    row = dict.fromkeys(RUNS) | {
        "dataset": "d",
        "split": split,
        "seed": 0,
        "variant": network.id,
        "alpha": network.alpha,
        "bandwidth": network.bandwidth,
        "kernel_width": "variance",
        "posthoc_map": "REFL",
        "posthoc_on": "base",
        "posthoc_bandwidth": network.bandwidth or 0.1,
        "status": "ok",
        "reason": "",
        "val_nll": 1.0,
        "val_pce_levels": 0.1,
        "val_pce_sorted": 0.1,
        "val_crps_wis": 1.0,
        "val_nll_batched": 1.0,
        "val_pce_levels_batched": 0.1,
        "val_pce_sorted_batched": 0.1,
        "val_crps_wis_batched": 1.0,
        "test_nll": 1.0,
    }
    return row | changes


def tune(rows: list[dict[str, Any]], *networks: Variant, **switches: Any) -> pd.DataFrame:
    frame = pd.DataFrame(rows).astype({"alpha": float, "bandwidth": float, "posthoc_bandwidth": float})
    experiment = Experiment("main", "", (Method("QRTC", networks, "REFL", "QRTC"),))
    return tuned_methods(frame, experiment, replace(PROTOCOLS["paper"], **switches))


def test_bandwidth_has_the_lowest_mean_validation_nll_over_splits() -> None:
    small, large = with_map(0.05), with_map(0.2)
    # The small one wins a split, the large one the mean.
    nll = {(small, 0): 0.0, (small, 1): 2.0, (large, 0): 0.9, (large, 1): 0.9}
    rows = [run(network, split, val_nll=value, test_nll=value) for (network, split), value in nll.items()]
    tuned = tune(rows, small, large)
    assert tuned["split"].tolist() == [0, 1]
    assert tuned["chosen_bandwidth"].tolist() == [0.2, 0.2]
    assert tuned["test_nll"].tolist() == [0.9, 0.9]
    assert tuned["chosen_lambda"].isna().all()


def test_bandwidth_is_chosen_for_each_dataset() -> None:
    small, large = with_map(0.05), with_map(0.2)
    rows = [
        run(small, dataset="one", val_nll=1.0),
        run(large, dataset="one", val_nll=2.0),
        run(small, dataset="two", val_nll=2.0),
        run(large, dataset="two", val_nll=1.0),
    ]
    tuned = tune(rows, small, large).set_index("dataset")
    assert tuned["chosen_bandwidth"].to_dict() == {"one": 0.05, "two": 0.2}


def test_tie_goes_to_the_smaller_bandwidth() -> None:
    small, large = with_map(0.05), with_map(0.2)
    assert tune([run(large), run(small)], large, small)["chosen_bandwidth"].tolist() == [0.05]


def test_candidate_with_a_diverged_run_is_not_chosen_while_there_is_another() -> None:
    good, lost = with_map(0.05), with_map(0.2)
    rows = [
        run(good, 0, val_nll=5.0),
        run(good, 1, val_nll=5.0),
        run(lost, 0, val_nll=0.0),
        run(lost, 1, val_nll=None, test_nll=None, status="diverged", posthoc_map="none", reason="epoch 3"),
    ]
    assert tune(rows, good, lost)["chosen_bandwidth"].tolist() == [0.05, 0.05]
    only = tune(rows[2:], lost)
    assert only["status"].tolist() == ["ok", "diverged"]
    assert left_out(only) == ["main QRTC on d: diverged in 1 split(s): epoch 3"]


def lambda_rows(pce: dict[float, float], crps: dict[float, float]) -> tuple[list[dict[str, Any]], list[Variant]]:
    networks = {strength: with_map(0.1, -strength) if strength else PLAIN for strength in pce}
    rows = [
        run(network, val_pce_levels=pce[strength], val_crps_wis=crps[strength])
        for strength, network in networks.items()
    ]
    return rows, list(networks.values())


def test_lambda_has_the_lowest_pce_within_the_crps_limit() -> None:
    rows, networks = lambda_rows({0: 0.3, 1: 0.2, 5: 0.1}, {0: 1.0, 1: 1.1, 5: 1.1001})
    tuned = tune(rows, *networks)
    assert tuned["chosen_lambda"].tolist() == [1.0]
    assert tuned["variant"].tolist() == [networks[1].id]


def test_tie_goes_to_the_smaller_lambda() -> None:
    rows, networks = lambda_rows({5: 0.2, 0: 0.2, 1: 0.2}, {5: 1.0, 0: 1.0, 1: 1.0})
    assert tune(rows, *networks)["chosen_lambda"].tolist() == [0.0]


def test_lambda_is_tuned_with_the_bandwidth_already_chosen() -> None:
    best, worse = with_map(0.1, -1), with_map(0.2, -1)
    rows = [
        run(PLAIN, val_pce_levels=0.3),
        run(best, val_nll=1.0, val_pce_levels=0.2),
        run(worse, val_nll=2.0, val_pce_levels=0.0),
    ]
    tuned = tune(rows, PLAIN, best, worse)
    assert (tuned["chosen_lambda"][0], tuned["chosen_bandwidth"][0]) == (1.0, 0.1)


def test_pce_of_the_protocol_decides() -> None:
    rows, networks = lambda_rows({0: 0.1, 1: 0.2}, {0: 1.0, 1: 1.0})
    rows[0]["val_pce_sorted"], rows[1]["val_pce_sorted"] = 0.2, 0.1
    assert tune(rows, *networks)["chosen_lambda"].tolist() == [0.0]
    assert tune(rows, *networks, pce="sorted")["chosen_lambda"].tolist() == [1.0]


def test_metrics_over_batches_decide_where_the_protocol_has_them() -> None:
    rows, networks = lambda_rows({0: 0.1, 1: 0.2}, {0: 1.0, 1: 1.0})
    rows[0]["val_pce_levels_batched"], rows[1]["val_pce_levels_batched"] = 0.2, 0.1
    assert tune(rows, *networks)["chosen_lambda"].tolist() == [0.0]
    assert tune(rows, *networks, metric_rows="batches")["chosen_lambda"].tolist() == [1.0]
    rows[1]["val_crps_wis_batched"] = 1.2
    assert tune(rows, *networks, metric_rows="batches")["chosen_lambda"].tolist() == [0.0], "beyond the limit"


def test_lambda_is_chosen_over_all_pairs_where_the_protocol_has_it_so() -> None:
    # The best b of lambda = 1 has the worse PCE; over all pairs its other b wins.
    best, other = with_map(0.1, -1), with_map(0.2, -1)
    rows = [
        run(PLAIN, val_pce_levels=0.2),
        run(best, val_nll=1.0, val_pce_levels=0.3),
        run(other, val_nll=2.0, val_pce_levels=0.1),
    ]
    assert tune(rows, PLAIN, best, other)["chosen_lambda"].tolist() == [0.0]
    pairs = tune(rows, PLAIN, best, other, regularisation_choice="pairs")
    assert (pairs["chosen_lambda"][0], pairs["chosen_bandwidth"][0]) == (1.0, 0.1), "then the best b of that lambda"


def test_each_seed_is_tuned_as_a_study_of_its_own() -> None:
    small, large = with_map(0.05), with_map(0.2)
    rows = [
        run(network, seed=seed, val_nll=1.0 + (network == (large, small)[seed]))
        for seed in (0, 1)
        for network in (small, large)
    ]
    tuned = tune(rows, small, large).set_index("seed")
    assert tuned["chosen_bandwidth"].to_dict() == {0: 0.05, 1: 0.2}


@pytest.mark.parametrize("switch", ["map_centres", "early_stopping", "x_scale"])
def test_networks_trained_under_other_conditions_are_not_taken(switch: str) -> None:
    network = with_map(0.2, -1)
    values = {name: getattr(PROTOCOLS[name], switch) for name in ("paper", "released")}
    rows = [
        run(network, test_nll=nll, **{switch: value}) for nll, value in zip((1.0, 2.0), values.values(), strict=True)
    ]
    assert tune(rows, network)["test_nll"].tolist() == [1.0]
    assert tune(rows, network, **{switch: values["released"]})["test_nll"].tolist() == [2.0]


@pytest.mark.parametrize(
    ("switches", "test_nll"),
    [
        ({}, 1.0),
        ({"posthoc_bandwidth": "fixed"}, 2.0),
        ({"posthoc_on": "training_map"}, 3.0),
        ({"posthoc_on": "training_map", "posthoc_bandwidth": "fixed"}, 4.0),
    ],
)
def test_reading_of_the_protocol_is_taken(switches: dict[str, str], test_nll: float) -> None:
    network = with_map(0.2)
    rows = [
        run(network, test_nll=1.0),
        run(network, test_nll=2.0, posthoc_bandwidth=0.1),
        run(network, test_nll=3.0, posthoc_on="training_map"),
        run(network, test_nll=4.0, posthoc_on="training_map", posthoc_bandwidth=0.1),
        run(network, test_nll=5.0, posthoc_map="none"),
        run(network, test_nll=6.0, kernel_width="scale"),
    ]
    assert tune(rows, network, **switches)["test_nll"].tolist() == [test_nll]


def test_network_without_a_map_is_read_on_the_base_model_under_every_protocol() -> None:
    rows = [run(PLAIN, test_nll=1.0), run(PLAIN, test_nll=2.0, kernel_width="scale")]
    assert tune(rows, PLAIN)["test_nll"].tolist() == [1.0]
    assert tune(rows, PLAIN, **vars(PROTOCOLS["released"]))["test_nll"].tolist() == [2.0]


def test_unavailable_dataset_is_a_row_with_its_reason() -> None:
    missing = dict.fromkeys(name for name in RUNS if name.startswith(("val_", "test_")))
    gone = {"status": "unavailable", "reason": "404", "posthoc_map": "none", "posthoc_on": None} | missing
    tuned = tune(
        [run(with_map(b), split, **gone) for b in (0.1, 0.2) for split in (0, 1)], with_map(0.1), with_map(0.2)
    )
    assert tuned["status"].tolist() == ["unavailable", "unavailable"]
    assert tuned["reason"].tolist() == ["404", "404"]


def test_tuned_table_has_the_documented_columns(tmp_path: Any) -> None:
    tuned = tune([run(with_map(0.1))], with_map(0.1))
    assert list(tuned.columns) == list(METHODS)
    write_rows(tmp_path / "methods.parquet", tuned.replace({np.nan: None}).to_dict("records"), METHODS)
