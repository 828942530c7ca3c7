"""What a switch changes over several seeds, against sums written out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from qrt_study.statistics.switch_seeds import COLUMNS, switch_differences

SPLITS, SEEDS = range(5), range(4)


def methods(shift: float, seeds: range, failed: tuple[int, int] | None = None) -> pd.DataFrame:
    """QRTC and BASE on two datasets, one of which has seed 0 alone; `failed` is the split and seed of a failed run."""

    def rows() -> Iterator[dict[str, object]]:
        rng = np.random.default_rng(int(100 * shift))
        for dataset, of_dataset in (("many", seeds), ("one", range(1))):
            for split in SPLITS:
                for seed in of_dataset:
                    for method in ("BASE", "QRTC"):
                        status = "diverged" if method == "QRTC" and (split, seed) == failed else "ok"
                        nll = rng.normal() + shift * (method == "QRTC")
                        place = {"dataset": dataset, "split": split, "seed": seed, "method": method}
                        yield place | {"status": status, "test_nll": nll}

    return pd.DataFrame(rows())


def differences(rows: pd.DataFrame) -> dict[tuple[int, int], float]:
    ok = rows[(rows["dataset"] == "many") & (rows["status"] == "ok")]
    values = {(row.method, row.split, row.seed): row.test_nll for row in ok.itertuples()}
    places = [(split, seed) for split in SPLITS for seed in SEEDS]
    return {
        place: values["QRTC", *place] - values["BASE", *place]
        for place in places
        if ("QRTC", *place) in values and ("BASE", *place) in values
    }


def test_means_are_over_the_runs_that_both_settings_have() -> None:
    study, changed = methods(0.1, SEEDS), methods(0.4, range(3), failed=(2, 1))
    (row,) = switch_differences({"study": study, "sd": changed}, "study", "nll").to_dict("records")
    assert (row["switch"], row["method"], row["dataset"], row["seeds"]) == ("sd", "QRTC", "many", 3)
    common = differences(study).keys() & differences(changed).keys()
    assert len(common) == 14
    for when, rows in (("before", study), ("after", changed)):
        found = differences(rows)
        by_split = [np.mean([found[place] for place in common if place[0] == split]) for split in SPLITS]
        assert row[when] == pytest.approx(np.mean(by_split))
        assert row[f"{when}_standard_error"] == pytest.approx(np.std(by_split, ddof=1) / np.sqrt(5))


def test_nothing_is_told_of_a_single_seed() -> None:
    found = switch_differences({"study": methods(0.1, SEEDS), "sd": methods(0.4, range(1))}, "study", "nll")
    assert found.empty
    assert tuple(found) == COLUMNS
    assert switch_differences({}, "study", "nll").empty
